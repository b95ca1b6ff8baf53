"""Neuron devices of a pretended Trn2."""

from __future__ import annotations

import pytest

from support import gpus
from support.outputs import neuron_ls
from ultracluster.node.health.neuron import Devices, parse_devices

COUNTERS = "/sys/devices/virtual/neuron_device"


@pytest.fixture
def trn2(p5):
    p5.metadata["instance-type"] = "trn2.48xlarge"
    p5.settings["types"] = {"trn2.48xlarge": {"efa": 16}}
    p5.command("neuron-ls", gpus.shell(neuron_ls(16)))
    for device in range(16):
        for name in ("mem_ecc_uncorrected", "sram_ecc_uncorrected"):
            p5.write(f"{COUNTERS}/neuron{device}/stats/hardware/{name}/total", "0\n")
    return p5


def test_a_healthy_node(trn2, found):
    results = found()
    assert results["accelerators"].message == "16 of 16 Neuron devices"
    assert results["neuron_counters"].status == "pass"
    assert trn2.called("nvidia-smi") == []


def test_a_device_fewer(trn2, found):
    trn2.command("neuron-ls", gpus.shell(neuron_ls(15)))
    result = found()["accelerators"]
    assert (result.action, result.message) == ("reboot", "trn2.48xlarge shows 15 of 16 Neuron devices")


def test_memory_errors_are_told_by_device(trn2, found):
    trn2.write(f"{COUNTERS}/neuron7/stats/hardware/sram_ecc_uncorrected/total", "2\n")
    result = found()["neuron_counters"]
    assert (result.action, result.message) == ("reboot", "neuron7: sram_ecc_uncorrected is 2")


def test_counters_that_are_plain_files(trn2, found):
    folder = trn2.root / COUNTERS.lstrip("/") / "neuron0/stats/hardware/mem_ecc_uncorrected"
    (folder / "total").unlink()
    folder.rmdir()
    folder.write_text("5\n")
    assert found()["neuron_counters"].value == 5


def test_no_driver(trn2, found):
    trn2.command("neuron-ls", "echo 'level=fatal msg=\"Failed to load MLA system information\"' >&2; exit 1")
    assert (found()["driver"].status, found()["driver"].action) == ("fail", "reboot")
    (trn2.root / "stubs/neuron-ls").unlink()
    assert (found()["driver"].status, found()["driver"].action) == ("fail", "isolate")


def test_no_sysfs_is_unknown(trn2, found):
    (trn2.root / COUNTERS.lstrip("/")).rename(trn2.root / "elsewhere")
    assert found()["neuron_counters"].status == "unknown"


def test_cut_off_is_unknown(trn2, found):
    trn2.command("neuron-ls", gpus.shell(neuron_ls(16)[:500]))
    assert found()["driver"].status == "unknown"


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        (neuron_ls(16), Devices(16, 64)),
        (neuron_ls(16, wrapped=True), Devices(16, 64)),
        (neuron_ls(16, cores=2, together=None), Devices(16, 32)),
        ("[]", Devices(0, 0)),
    ],
)
def test_logical_cores(text, devices):
    assert parse_devices(text) == devices
