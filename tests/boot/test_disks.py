"""Drives that are missing, broken or somebody else's, on a running node: `scratch` says so and harms nothing."""

from __future__ import annotations

import json
import re
import time

import pytest

from support.boot.machine import SCRATCH_DISKS
from support.boot.stages import PROGRAM

SCRATCH = f"{PROGRAM} scratch"
SEVENTH = 6


@pytest.fixture
def bare(node):
    """The node with scratch taken down and empty drives, and scratch again afterwards."""
    _take_down(node)
    yield node
    _take_down(node)
    node.output(SCRATCH, timeout_s=120)
    assert node.output("findmnt -n -o FSTYPE /scratch") == "xfs"


@pytest.fixture
def seventh(bare):
    """Device of the drive that the tests exchange."""
    return _device(bare, SEVENTH)


def test_missing_drive_makes_no_smaller_array(bare):
    bare.pull(SEVENTH)
    ran = bare.run(SCRATCH, timeout_s=120)
    bare.plug(SEVENTH, empty=True)
    assert ran.status == 1
    _settled(bare)
    assert f"{SCRATCH_DISKS - 1} of {SCRATCH_DISKS} instance store disks" in _one_line(ran)
    assert _nothing_on(bare, range(SCRATCH_DISKS))


def test_broken_drive_is_named_and_nothing_is_mounted(bare):
    bare.pull(SEVENTH)
    bare.plug(SEVENTH, empty=True, broken=True)
    device = _settled(bare)
    ran = bare.run(SCRATCH, timeout_s=120)
    mounted = bare.run("findmnt /scratch").stdout
    _take_down(bare)
    bare.pull(SEVENTH)
    bare.plug(SEVENTH, empty=True)
    _settled(bare)
    assert ran.status == 1
    assert mounted == ""
    assert f"{device} failed" in _one_line(ran)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        ("mkfs.ext4 -q -F {device} 1G", "ext4"),
        ("echo ',1G' | sfdisk -q {device}", "partition|gpt|dos|nvme"),
    ],
    ids=["file system", "partition"],
)
def test_somebody_elses_drive_is_left_alone(bare, seventh, make, what):
    bare.output(make.format(device=seventh))
    before = bare.output(f"head -c 4M {seventh} | sha256sum")
    ran = bare.run(SCRATCH, timeout_s=120)
    assert ran.status == 1
    assert re.search(what, _one_line(ran))
    assert seventh.removeprefix("/dev/") in _one_line(ran)
    assert bare.output(f"head -c 4M {seventh} | sha256sum") == before
    assert _nothing_on(bare, set(range(SCRATCH_DISKS)) - {SEVENTH})


def test_array_that_lost_a_drive_is_made_anew(node):
    node.output("echo kept >/scratch/kept; umount /scratch; mdadm --stop --scan")
    node.pull(SEVENTH)
    node.plug(SEVENTH, empty=True)
    _settled(node)
    ran = node.run(SCRATCH, timeout_s=120)
    assert ran.status == 0, ran.stderr
    assert "its data is lost" in ran.stderr
    found = json.loads(ran.stdout)
    assert (found["source"], len(found["disks"])) == ("raid0", SCRATCH_DISKS)
    assert node.run("test -e /scratch/kept").status == 1


def test_second_run_changes_nothing(node):
    uuid = node.output("findmnt -n -o UUID /scratch")
    found = json.loads(node.output(SCRATCH, timeout_s=120))
    assert (found["source"], len(found["disks"]), found["chunk_kib"]) == ("raid0", SCRATCH_DISKS, 256)
    assert node.output("findmnt -n -o UUID /scratch") == uuid


def test_stopped_array_is_assembled_with_its_data(node):
    node.output("echo kept >/scratch/kept; umount /scratch; mdadm --stop --scan")
    node.output(SCRATCH, timeout_s=120)
    assert node.output("cat /scratch/kept; rm /scratch/kept") == "kept"


@pytest.mark.parametrize("tool", ["mdadm", "mkfs.xfs", "mount"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_at_any_step_ends_mounted(bare, tool, moment):
    work = f'"$(PATH=${{PATH#*:}} type -P {tool})" "$@"'
    body = f"kill -KILL $PPID\n{work}" if moment == "before" else f"{work}\nkill -KILL $PPID"
    guard = f'if [[ "{tool}" == mdadm && "$1" != --create ]]; then exec {work}; fi'
    wrapper = f"#!/bin/bash\n{guard}\n{body}\n"
    bare.output_of(
        ["bash", "-c", f"mkdir -p /root/kill && cat >/root/kill/{tool} && chmod 755 /root/kill/{tool}"],
        wrapper.encode(),
    )
    killed = bare.run(f"PATH=/root/kill:$PATH {SCRATCH}", timeout_s=120)
    bare.output("rm -r /root/kill; sleep 1; umount /scratch 2>/dev/null || true")
    assert killed.status in (-9, 9, 137)
    found = json.loads(bare.output(SCRATCH, timeout_s=120))
    assert (found["source"], len(found["disks"])) == ("raid0", SCRATCH_DISKS)
    assert re.search(r"sunit=64\s+swidth=512 blks", bare.output("xfs_info /scratch"))


def _device(node, number):
    serial = node.scratch[number].serial
    return node.output(f"lsblk -d -n -o PATH,SERIAL | awk '$2 == \"{serial}\" {{print $1}}'")


def _settled(node):
    """Device of a drive that was plugged in, once the guest has it."""
    deadline = time.monotonic() + 60
    while not (device := _device(node, SEVENTH)):
        assert time.monotonic() < deadline, "the guest does not see the drive"
        time.sleep(0.5)
    node.output("udevadm settle")
    return device


def _take_down(node):
    node.output("umount /scratch 2>/dev/null; mdadm --stop --scan 2>/dev/null; udevadm settle")
    devices = " ".join(_device(node, number) for number in range(SCRATCH_DISKS))
    node.output(f"wipefs -q -a -f {devices} && udevadm settle")


def _nothing_on(node, numbers):
    devices = [_device(node, number) for number in numbers]
    return all(node.run(f"blkid -p {device}").status == 2 for device in devices)


def _one_line(ran):
    (line,) = [line for line in ran.stderr.splitlines() if line.startswith("ultracluster scratch:")]
    return line
