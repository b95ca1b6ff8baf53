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


@pytest.fixture(scope="module")
def handed_back(instance, moved):
    """The node with scratch as it should be, when all tests of this file are through."""
    yield instance
    _take_down(instance)
    instance.output(SCRATCH, timeout_s=120)
    assert instance.output("findmnt -n -o FSTYPE /scratch") == "xfs"


@pytest.fixture
def bare(handed_back):
    """The node with scratch taken down and empty drives."""
    _take_down(handed_back)
    return handed_back


@pytest.fixture
def standing(handed_back):
    """The node with scratch mounted."""
    if handed_back.run("findmnt /scratch").status:
        _take_down(handed_back)
    handed_back.output(SCRATCH, timeout_s=120)
    return handed_back


@pytest.fixture
def seventh(bare):
    """Device of the drive that the tests exchange."""
    return _devices(bare)[SEVENTH]


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


def test_array_that_lost_a_drive_is_made_anew(standing):
    standing.output("echo kept >/scratch/kept; umount /scratch; mdadm --stop --scan")
    standing.pull(SEVENTH)
    standing.plug(SEVENTH, empty=True)
    _settled(standing)
    ran = standing.run(SCRATCH, timeout_s=120)
    assert ran.status == 0, ran.stderr
    assert "its data is lost" in ran.stderr
    found = json.loads(ran.stdout)
    assert (found["source"], len(found["disks"])) == ("raid0", SCRATCH_DISKS)
    assert standing.run("test -e /scratch/kept").status == 1


def test_second_run_changes_nothing(standing):
    uuid = standing.output("findmnt -n -o UUID /scratch")
    found = json.loads(standing.output(SCRATCH, timeout_s=120))
    assert (found["source"], len(found["disks"]), found["chunk_kib"]) == ("raid0", SCRATCH_DISKS, 256)
    assert standing.output("findmnt -n -o UUID /scratch") == uuid


def test_stopped_array_is_assembled_with_its_data(standing):
    standing.output("echo kept >/scratch/kept; umount /scratch; mdadm --stop --scan")
    standing.output(SCRATCH, timeout_s=120)
    assert standing.output("cat /scratch/kept; rm /scratch/kept") == "kept"


@pytest.mark.parametrize("tool", ["mdadm", "mkfs.xfs", "mount"])
def test_killed_after_any_step_ends_mounted(bare, tool):
    work = f'"$(PATH=${{PATH#*:}} type -P {tool})" "$@"'
    guard = f'if [[ "{tool}" == mdadm && "$1" != --create ]]; then exec {work}; fi'
    wrapper = f"#!/bin/bash\n{guard}\n{work}\nkill -KILL $PPID\n"
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


def _devices(node):
    """Devices of the drives that are plugged in, by number."""
    numbers = {disk.serial: number for number, disk in enumerate(node.scratch)}
    lines = [line.split() for line in node.output("lsblk -d -n -o PATH,SERIAL").splitlines()]
    return {numbers[line[1]]: line[0] for line in lines if line[-1] in numbers}


def _settled(node):
    """Device of a drive that was plugged in, once the guest has it."""
    deadline = time.monotonic() + 60
    while not (device := _devices(node).get(SEVENTH)):
        assert time.monotonic() < deadline, "the guest does not see the drive"
        time.sleep(0.5)
    node.output("udevadm settle")
    return device


def _take_down(node):
    node.output("umount /scratch 2>/dev/null; mdadm --stop --scan 2>/dev/null; udevadm settle")
    node.output(f"wipefs -q -a -f {' '.join(_devices(node).values())} && udevadm settle")


def _nothing_on(node, numbers):
    devices = _devices(node)
    found = node.output("; ".join(f"blkid -p {devices[number]}; echo $?" for number in numbers))
    return set(found.split()) == {"2"}  # what blkid says where it finds nothing


def _one_line(ran):
    (line,) = [line for line in ran.stderr.splitlines() if line.startswith("ultracluster scratch:")]
    return line
