"""Scratch through the life of an instance: first boot, reboot, stop and start."""

from __future__ import annotations

import re

import pytest

from support.boot.emulator import ROOT_MODEL, SCRATCH_MODEL
from support.boot.machine import SCRATCH_BYTES, SCRATCH_DISKS


@pytest.fixture(params=["fit", "rebooted", "moved"])
def stage(request):
    """The node at each point at which scratch has to stand."""
    return request.getfixturevalue(request.param)


def test_drives_are_those_of_an_instance(fit):
    models = [line.strip() for line in fit.looks["models"].splitlines()]
    assert sorted(models) == [SCRATCH_MODEL] * SCRATCH_DISKS + [ROOT_MODEL]


def test_raid_0_over_all_drives(stage):
    detail = stage.looks["array"]
    assert re.search(r"Raid Level : raid0", detail)
    assert re.search(rf"Raid Devices : {SCRATCH_DISKS}\b", detail)
    assert re.search(r"Chunk Size : 256K", detail)
    assert re.search(r"State : (clean|active)", detail)
    kib = int(re.search(r"Array Size : (\d+)", detail)[1])
    assert kib * 1024 > 0.999 * SCRATCH_DISKS * SCRATCH_BYTES


def test_xfs_knows_the_stripes(stage):
    assert re.search(r"bsize=4096 .*sunit=64\s+swidth=512 blks", stage.looks["xfs"].replace("\n", " "))


def test_mounted_for_everybody(stage):
    (line,) = [line.split() for line in stage.looks["mounts"].splitlines() if line.split()[1] == "/scratch"]
    assert line[0].startswith("/dev/md")
    assert line[2] == "xfs"
    assert "noatime" in line[3].split(",")
    assert stage.looks["mode"] == "1777"


def test_root_volume_is_no_part_of_it(stage):
    root = stage.looks["root"]
    assert re.fullmatch(r"/dev/nvme\d+n1p1", root)
    assert root.removesuffix("p1") not in stage.looks["array"]


def test_reboot_keeps_file_system_and_data(fit, rebooted):
    assert rebooted.looks["uuid"] == fit.looks["uuid"]
    assert "/scratch/data: OK" in rebooted.looks["scratch"]


def test_stop_and_start_makes_it_anew(rebooted, moved):
    assert moved.looks["uuid"] != rebooted.looks["uuid"]
    assert "/scratch/data: OK" not in moved.looks["scratch"]
    assert "data" not in moved.looks["scratch"].splitlines()


def test_units_are_healthy(stage):
    assert stage.looks["failed"] == ""
    assert stage.looks["state"] == "running"


def test_later_boots_tell_the_group_nothing(fit, moved):
    assert moved.hooks == fit.hooks


def test_kernel_arguments_are_in_force(fit, rebooted, moved):
    for stage in (rebooted, moved):
        assert "processor.max_cstate=1" in stage.looks["command-line"].split()
    assert "processor.max_cstate=1" not in fit.looks["command-line"].split()


def test_tuning_is_still_in_force(stage):
    assert stage.looks["tune"] == "status 0"
    assert "DefaultLimitMEMLOCK=infinity" in stage.looks["limits"]
