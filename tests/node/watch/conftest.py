from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.aws_endpoint import AwsEndpoint
from support.imds_server import ImdsServer
from ultracluster.plan.node_program import node_program

SPOT = "spot/instance-action"


def system_python() -> str:
    """The Python that a unit would start, where it is new enough; its size is that of a node's."""
    found = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if found:
        asked = subprocess.run(
            [found, "-c", "import sys; print(sys.version_info >= (3, 9))"], capture_output=True, text=True, check=False
        )
        if asked.stdout.strip() == "True":
            return found
    return sys.executable


def eventually(condition: Callable[[], object], seconds: float = 20) -> None:
    """Wait until something holds."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it never came to hold"
        time.sleep(0.01)


class Station:
    """A folder that looks like a node, and the packed program running on it as the unit starts it."""

    def __init__(self, root: Path, service: ImdsServer, cloud: AwsEndpoint) -> None:
        self.root, self.service, self.cloud = root, service, cloud
        self.program = root / "opt/ultracluster/ultracluster-node"
        self.program.parent.mkdir(parents=True)
        self.program.write_bytes(node_program().data)
        self.settings = {
            "fleet": "train",
            "group": "demo-train",
            "terminate_hook": "ultracluster-terminate",
            "spot": True,
        }
        self.hooks = root / "etc/ultracluster/hooks.d"
        self.hooks.mkdir(parents=True)
        self.log = root / "journal"
        self.processes: list[subprocess.Popen] = []

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.defpath,
            "ULTRACLUSTER_ROOT": str(self.root),
            "ULTRACLUSTER_IMDS": self.service.url,
            "AWS_ENDPOINT_URL": self.cloud.url,
        }

    def hook(self, name: str, body: str) -> None:
        file = self.hooks / name
        file.write_text(f'#!/bin/bash\ncd "{self.root}"\n{body}\n')
        file.chmod(0o755)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One command of the program."""
        return subprocess.run(
            [system_python(), str(self.program), "watch", *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def watch(self) -> subprocess.Popen:
        """Start the watcher and wait until it looks."""
        (self.root / "etc/ultracluster/node.json").write_text(json.dumps(self.settings))
        before = len(self.events("watching"))
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [system_python(), str(self.program), "watch"], env=self.environment, stdout=log, stderr=log
            )
        self.processes.append(process)
        eventually(lambda: len(self.events("watching")) > before)
        return process

    def events(self, name: str = "") -> list[dict]:
        """Lines of JSON that the program wrote."""
        if not self.log.exists():
            return []
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if not name or line["event"] == name]

    def trainer(self, body: str = "sys.exit(0)", *, register: str | None = "TERM") -> tuple[subprocess.Popen, Path]:
        """A training process that notes when it is signalled, in a file; registered unless told otherwise."""
        signals = self.root / f"signals-{len(self.processes)}"
        code = (
            "import signal, sys, time\n"
            f"def handler(number, _):\n with open({str(signals)!r}, 'a') as file: file.write(f'{{time.time()}}\\n')\n"
            f" {body}\n"
            "for one in (signal.SIGTERM, signal.SIGUSR1): signal.signal(one, handler)\n"
            "print('ready', flush=True)\n"
            "while True: time.sleep(60)\n"
        )
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        if register:
            done = self.run("--register", str(process.pid), "--signal", register)
            assert done.returncode == 0, done.stderr
        return process, signals

    def stop(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
            if process.stdout:
                process.stdout.close()


@pytest.fixture
def stations(tmp_path: Path) -> Iterator[Callable[[], Station]]:
    """Makes nodes, each with services of its own."""
    with contextlib.ExitStack() as stack:
        made: list[Station] = []

        def make() -> Station:
            service, cloud = stack.enter_context(ImdsServer()), stack.enter_context(AwsEndpoint())
            station = Station(tmp_path / f"node{len(made) or ''}", service, cloud)
            (station.root / "run/ultracluster/trainers").mkdir(parents=True)
            made.append(station)
            stack.callback(station.stop)
            return station

        yield make
    assert [station.cloud.refused for station in made if station.cloud.refused] == []


@pytest.fixture
def station(stations: Callable[[], Station]) -> Station:
    """One node."""
    return stations()
