"""Scratch on one disk, on a loop device of this machine: real blkid, mkfs.xfs and mount. Arrays need the guest."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.machine import Machine
from ultracluster.node import scratch
from ultracluster.node.host import NodeError

SIZE = 2 << 30
IN_PROGRESS = 126  # offset in the superblock


def output(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def disk(tmp_path):
    """Device file of an empty disk."""
    image = tmp_path / "disk"
    with image.open("wb") as file:
        file.truncate(SIZE)
    device = output("losetup", "--find", "--show", image)
    yield device
    output("losetup", "--detach", device)


@pytest.fixture
def node(disk, tmp_path, monkeypatch):
    """This machine, as far as its one disk and its place for scratch go."""
    monkeypatch.setattr(scratch, "PATH", str(tmp_path / "scratch"))
    monkeypatch.setattr(scratch, "instance_store", lambda node: [disk])
    monkeypatch.setattr(scratch, "_LOCK", str(tmp_path / "lock"))
    monkeypatch.setattr(scratch.runtimes, "hand_over", lambda node, path: {})
    machine = Machine(tmp_path / "node", metadata={"instance-type": "p5.4xlarge"})
    yield machine.node(root="/", environ={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    subprocess.run(["umount", tmp_path / "scratch"], capture_output=True, check=False)


def reboot(tmp_path):
    output("umount", tmp_path / "scratch")


def test_one_disk_through_reboots_and_a_killed_mkfs(node, disk, tmp_path):
    made = scratch.ensure(node)
    assert (made.source, made.device) == ("disk", disk)
    assert output("stat", "-c", "%a", tmp_path / "scratch") == "1777"
    assert "noatime" in output("findmnt", "-n", "-o", "OPTIONS", tmp_path / "scratch")
    uuid = output("findmnt", "-n", "-o", "UUID", tmp_path / "scratch")
    (tmp_path / "scratch/kept").write_text("kept")
    assert scratch.ensure(node).source == "disk"

    reboot(tmp_path)
    scratch.ensure(node)
    assert (tmp_path / "scratch/kept").read_text() == "kept"
    assert output("findmnt", "-n", "-o", "UUID", tmp_path / "scratch") == uuid

    reboot(tmp_path)
    with Path(disk).open("r+b") as device:
        device.seek(IN_PROGRESS)
        device.write(b"\x01")
    scratch.ensure(node)
    assert not (tmp_path / "scratch/kept").exists()


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (["mkfs.ext4", "-q", "-F"], "carries ext4"),
        (["mkfs.xfs", "-q", "-L", "mine"], "carries xfs mine"),
        (["mkswap", "-q"], "carries swap"),
    ],
    ids=["ext4", "xfs", "swap"],
)
def test_what_is_not_ours_is_left_alone(node, disk, tmp_path, command, what):
    output(*command, disk)
    before = output("sh", "-c", f"head -c 4M {disk} | sha256sum")
    with pytest.raises(NodeError, match=what):
        scratch.ensure(node)
    assert output("sh", "-c", f"head -c 4M {disk} | sha256sum") == before
    assert subprocess.run(["mountpoint", "-q", tmp_path / "scratch"], check=False).returncode
