"""The examples of the guide, run on a node that gets a notice."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from support.doc_blocks import blocks
from support.sources import ROOT
from ultracluster.facts.node_watch import watch_facts
from ultracluster.plan.node_program import INSTALLED_AT

from .conftest import SPOT, eventually, system_python

GUIDE = ROOT / "docs/guides/interruptions.md"


def example(language: str) -> str:
    return next(block.text for block in blocks(GUIDE) if block.language == language and "elsewhere" in block.words)


def test_the_training_script_saves_its_work_and_goes_on_from_there(station, monkeypatch):
    script = station.root / "train.py"
    command = f'"{system_python()}", "{station.program}"'
    script.write_text(example("python").replace(f'"{INSTALLED_AT}"', command))
    station.watch()

    def train() -> subprocess.Popen:
        process = subprocess.Popen([sys.executable, str(script)], cwd=station.root, env=station.environment)
        station.processes.append(process)
        eventually(lambda: str(process.pid) in station.run("--list").stdout)
        return process

    first = train()
    station.service.set(SPOT, '{"action": "terminate"}')
    assert first.wait(10) == 0
    saved = json.loads((station.root / "checkpoint.json").read_text())["step"]
    assert saved >= 1
    station.service.set(SPOT, None)
    eventually(lambda: station.events("withdrawn"))
    second = train()
    station.service.set(SPOT, '{"action": "terminate"}')
    assert second.wait(10) == 0
    assert json.loads((station.root / "checkpoint.json").read_text())["step"] > saved


def test_the_hook_drains_the_node(station):
    stub = station.root / "bin/scontrol"
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/sh\necho "$*" >>"{station.root}/drained"\n')
    stub.chmod(0o755)
    body = example("bash").replace("scontrol", str(stub)).replace("hostname -s", "echo node-1")
    station.hook("50-drain", body)
    station.watch()
    station.service.set("events/recommendations/rebalance", '{"noticeTime": "2026-11-05T08:22:00Z"}')
    eventually(lambda: station.events("hook"))
    assert not (station.root / "drained").exists()
    station.service.set(SPOT, '{"action": "terminate"}')
    eventually(lambda: len(station.events("hook")) == 2)
    assert re.fullmatch(
        r"update nodename=node-1 state=drain reason=spot-interruption, 11\d s left\n",
        (station.root / "drained").read_text(),
    )


def test_the_table_of_the_guide_is_that_of_the_facts():
    text = GUIDE.read_text(encoding="utf-8")
    periods = re.findall(r"^\|[^|]+\| ([\d.]+) s \| (yes|no)", text, re.MULTILINE)
    rows = {(str(row["poll_s"]), "yes" if row["leaving"] else "no") for row in watch_facts()["notices"]}
    assert set(periods) == rows
    assert len(periods) == len(watch_facts()["notices"])


def test_the_guide_names_every_line_of_the_journal():
    text = GUIDE.read_text(encoding="utf-8")
    source = "".join(file.read_text() for file in (ROOT / "constructs/ultracluster/node/watch").glob("*.py"))
    logged = set(re.findall(r'log\(\s*"([a-z-]+)"', source)) | {"signalled"}
    assert {name for name in logged if f"`{name}`" not in text} == {"watching", "busy", "stopped"}
