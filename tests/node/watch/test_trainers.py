"""The folder in which everybody may register: nothing in it is believed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ultracluster.node import NodeError
from ultracluster.node.watch import trainers

from .conftest import SPOT, eventually


@pytest.fixture
def node(machine):
    made = machine.node()
    trainers.prepare(made)
    return made


@pytest.fixture
def process() -> Iterator[subprocess.Popen]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "train.py"]) as running:
        yield running
        running.kill()


def files(machine) -> list[str]:
    return sorted(file.name for file in (machine.root / "run/ultracluster/trainers").iterdir())


def test_registered_listed_and_gone_again(machine, node, process):
    one = trainers.register(node, process.pid, "usr1")
    assert (one.pid, one.signal) == (process.pid, "USR1")
    assert one.name.endswith("train.py")
    assert [each.key for each in trainers.registered(node)] == [one.key]
    again = trainers.register(node, process.pid)
    assert [each.signal for each in trainers.registered(node)] == [again.signal], "once, with what was said last"
    trainers.unregister(node, process.pid)
    assert trainers.registered(node) == []
    assert files(machine) == []


def test_the_folder_is_open_to_all_and_keeps_each_file_to_its_owner(machine, node):
    assert (machine.root / "run/ultracluster/trainers").stat().st_mode & 0o7777 == 0o1777


@pytest.mark.parametrize("name", ["KILL", "STOP", "SIGKILL", "NOTHING", "", "9"])
def test_a_signal_that_saves_nothing_is_refused(node, process, name):
    with pytest.raises(NodeError, match="is no signal that a process can handle; use TERM, USR1 or USR2"):
        trainers.register(node, process.pid, name)


def test_a_process_that_does_not_run(node, process):
    process.kill()
    process.wait()
    with pytest.raises(NodeError, match=r"no process .* runs here; give its id on the host"):
        trainers.register(node, process.pid)


def test_the_process_of_another_is_refused_at_once(node, process, monkeypatch):
    monkeypatch.setattr(trainers.os, "geteuid", lambda: STRANGER)
    with pytest.raises(NodeError, match="belongs to somebody else; register your own, or as root"):
        trainers.register(node, process.pid)


def test_without_a_watcher(machine, process):
    with pytest.raises(NodeError, match=r"cannot be written \(No such file.*\); start ultracluster-watch\.service"):
        trainers.register(machine.node(), process.pid)


def test_a_process_that_took_the_id_of_another_is_never_signalled(machine, node, process):
    one = trainers.register(node, process.pid)
    document = json.loads(one.file.read_text())
    one.file.write_text(json.dumps({**document, "start": document["start"] - 1}))
    assert not trainers.send(trainers.Trainer(one.pid, one.start - 1, "TERM", "", one.file))
    assert trainers.registered(node) == []
    assert files(machine) == [], "and its registration is removed"
    assert process.poll() is None


def test_what_is_gone_is_removed(machine, node, process):
    one = trainers.register(node, process.pid)
    process.kill()
    process.wait()
    assert not trainers.send(one)
    assert trainers.registered(node) == []
    assert files(machine) == []


STRANGER = 65534


def test_nobody_has_the_process_of_another_signalled(machine, node, process):
    if os.geteuid():  # only root can write a file that is somebody else's; CI runs as a user
        return
    one = trainers.register(node, process.pid)
    os.chown(one.file, STRANGER, STRANGER)
    assert not trainers.send(one)
    assert trainers.registered(node) == []


def test_root_may_register_the_process_of_any_user(node):
    if os.geteuid():
        return
    code = "import os, time; os.setuid(65534); print('ready', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert trainers.send(trainers.register(node, process.pid))
        assert process.wait(5) == -signal.SIGTERM


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"pid": "x", "start": 1, "signal": "TERM", "name": ""}',
        '{"pid": 1, "start": null, "signal": "TERM", "name": ""}',
        '{"pid": 1, "start": 1, "signal": "KILL", "name": ""}',
        '{"pid": 1, "start": 1, "signal": ["TERM"], "name": ""}',
        "x" * 5000,
    ],
)
def test_files_that_are_no_registration(machine, node, content):
    machine.write("/run/ultracluster/trainers/1.abc", content)
    assert trainers.registered(node) == []


def test_links_and_pipes_are_not_followed(machine, node, process):
    one = trainers.register(node, process.pid)
    kept = machine.write("/root/secret", one.file.read_text())
    one.file.unlink()
    folder = machine.root / "run/ultracluster/trainers"
    (folder / f"{process.pid}.link").symlink_to(kept)
    os.mkfifo(folder / f"{process.pid}.pipe")
    assert trainers.registered(node) == []
    assert kept.exists()


def test_the_command(station):
    station.watch()
    trainer, _ = station.trainer(register="USR2")
    listed = station.run("--list")
    assert listed.stdout.split("\t")[:2] == [str(trainer.pid), "USR2"]
    assert station.run("--unregister", str(trainer.pid)).returncode == 0
    assert station.run("--list").stdout == ""
    bad = station.run("--register", str(trainer.pid), "--signal", "KILL")
    assert (bad.returncode, bad.stderr.count("\n")) == (1, 1)
    station.service.set(SPOT, "{}")
    eventually(lambda: station.events("lifecycle"))
    assert trainer.poll() is None
