"""The units are what systemd takes, call the installed program, and stand in the right order at boot."""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ultracluster.node import __main__ as program
from ultracluster.plan.node_program import INSTALLED_AT

UNITS = sorted((Path(program.__file__).parent / "units").iterdir())
SERVICES = [unit for unit in UNITS if unit.suffix == ".service"]
# A mount namespace of its own follows from each of these.
NAMESPACE = {"PrivateTmp", "ProtectHome", "ProtectKernelModules", "ProtectSystem", "ReadWritePaths", "PrivateDevices"}


def read(unit: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=True, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(unit)
    return parser


def test_all_units_are_there():
    assert [unit.name for unit in UNITS] == [
        "ultracluster-health.service",
        "ultracluster-health.timer",
        "ultracluster-metrics.service",
        "ultracluster-node.service",
        "ultracluster-watch.service",
    ]


@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: unit.stem)
def test_a_service_calls_a_program_of_ours(unit):
    command, name, *_ = read(unit)["Service"]["ExecStart"].split()
    assert command == INSTALLED_AT
    assert name in program.PROGRAMS


def test_disks_and_mounts_come_before_what_uses_them():
    unit = read(next(unit for unit in UNITS if unit.name == "ultracluster-node.service"))
    before, after = unit["Unit"]["Before"].split(), unit["Unit"]["After"].split()
    users = {"docker.service", "containerd.service", "kubelet.service", "slurmd.service", "remote-fs-pre.target"}
    assert users <= set(before)
    assert {"network-online.target", "dlami-nvme.service"} <= set(after)
    assert unit["Unit"]["Wants"] == "network-online.target"
    assert not NAMESPACE & set(unit["Service"]), "mounts would stay inside the service"


def test_the_services_that_run_on_come_back_after_a_fault():
    for name in ("watch", "metrics"):
        unit = read(next(unit for unit in UNITS if unit.name == f"ultracluster-{name}.service"))
        assert unit["Service"]["Restart"] == "always"
        assert unit["Service"]["LockPersonality"] == "yes"


def test_systemd_takes_them(tmp_path):
    """Where systemd is at hand; the other tests hold everywhere."""
    verify = shutil.which("systemd-analyze")
    if verify is None:
        return
    installed = tmp_path / "ultracluster-node"
    installed.write_text("#!/bin/sh\n")
    installed.chmod(0o755)
    copies = []
    for unit in UNITS:
        copy = tmp_path / unit.name
        copy.write_text(unit.read_text().replace(INSTALLED_AT, str(installed)))
        copies.append(copy)
    done = subprocess.run(
        [verify, "verify", "--man=no", *map(str, copies)],
        env={"PATH": os.defpath, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
        capture_output=True,
        text=True,
        check=False,
    )
    own = [line for line in done.stderr.splitlines() if "ultracluster" in line]
    assert own == []
    assert done.returncode == 0, done.stderr
