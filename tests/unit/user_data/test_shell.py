"""The shell programs read as text: linted whole and in pieces, and free of what the target systems do not have."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import ultracluster.plan
from support.bootstrap import HOME, LUSTRE, LUSTRE_EFA, files_of
from ultracluster.facts.node_environment import environment_rows, forbidden_variables

BOOT = Path(ultracluster.plan.__file__).with_name("boot")
KINDS = [
    ("p5.48xlarge", ()),
    ("p5.48xlarge", (LUSTRE_EFA, HOME)),
    ("p4d.24xlarge", (LUSTRE,)),
    ("trn1.32xlarge", (HOME,)),
]


def shellcheck(*arguments, text=None):
    return subprocess.run(
        ["shellcheck", *arguments], input=text, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("file", sorted(BOOT.glob("*.sh")), ids=lambda file: file.name)
def test_each_piece_is_clean(file):
    done = shellcheck(str(file))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("name", "mounts"), KINDS)
def test_the_program_of_a_node_is_clean_and_strict(name, mounts):
    text = files_of(name, mounts=mounts)["/opt/ultracluster/node.sh"]
    lines = text.splitlines()
    assert lines[0] == "#!/bin/bash"
    assert "set -euo pipefail" in lines
    # Comments are stripped for size, and with them the directives that the pieces are checked with.
    done = shellcheck("--exclude=SC1091,SC2034,SC2086", "--shell=bash", "-", text=text)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("name", "mounts"), KINDS)
def test_nodes_carry_no_functions_that_they_cannot_use(name, mounts):
    text = files_of(name, mounts=mounts)["/opt/ultracluster/node.sh"]
    kinds = {mount.kind for mount in mounts}
    assert ("lustre_client()" in text) == ("lustre" in kinds)
    assert ("efs_client()" in text) == ("efs" in kinds)
    assert ("lnet_over_efa()" in text) == any(mount.efa for mount in mounts)


def test_neuron_nodes_run_no_nvidia_code_and_the_other_way_round():
    assert "/opt/ultracluster/metrics/nvidia.py" not in files_of("trn1.32xlarge")
    assert "/opt/ultracluster/metrics/neuron.py" not in files_of("p5.48xlarge")
    assert "/opt/ultracluster/metrics/spot.py" not in files_of("p5.48xlarge")
    assert "/opt/ultracluster/metrics/spot.py" in files_of("p5.48xlarge", spot=True)


def test_the_environment_is_the_table_and_nothing_else():
    rows = {row.name: row for row in environment_rows() if row.kind == "variable"}
    for name in ("p5.48xlarge", "trn1.32xlarge"):
        lines = dict(line.split("=", 1) for line in files_of(name)["/etc/ultracluster/environment"].splitlines())
        assert lines
        assert all(rows[key].value == value and rows[key].reason for key, value in lines.items())
        assert not {row.name for row in forbidden_variables()} & lines.keys()
    assert "/etc/ultracluster/environment" not in files_of("inf2.xlarge"), "no EFA, no fabric variables"


def test_locked_memory_is_unlimited_for_logins_and_services():
    files = files_of()
    assert "* - memlock unlimited" in files["/etc/security/limits.d/ultracluster.conf"].splitlines()
    assert "root - memlock unlimited" in files["/etc/security/limits.d/ultracluster.conf"].splitlines()
    services = files["/etc/systemd/system.conf.d/ultracluster.conf"].splitlines()
    assert services[0] == "[Manager]"
    assert "DefaultLimitMEMLOCK=infinity" in services


def test_units_are_ordered_before_what_uses_scratch():
    unit = files_of()["/etc/systemd/system/ultracluster-node.service"]
    before = next(line for line in unit.splitlines() if line.startswith("Before=")).split("=")[1].split()
    after = next(line for line in unit.splitlines() if line.startswith("After=")).split("=")[1].split()
    assert {"docker.service", "containerd.service", "slurmd.service", "remote-fs-pre.target"} <= set(before)
    assert "dlami-nvme.service" in after
