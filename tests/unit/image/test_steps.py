"""Steps of the components run by bash against stubs of the package managers."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

import ultracluster.plan
from support.machine import Machine


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path / "node")


def library(machine, text):
    """A line after the helpers of the steps."""
    for tool in ("sha256sum", "sort", "mktemp", "tr", "uname"):
        machine.command(tool, f'exec /usr/bin/{tool} "$@"')
    source = Path(ultracluster.plan.__file__).with_name("image_steps") / "lib.sh"
    return subprocess.run(
        ["/bin/bash", "-s"],
        input=source.read_text() + text,
        env=machine.node().environ,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_a_checksum_that_differs_ends_the_step(machine, tmp_path):
    file = tmp_path / "archive.tar.gz"
    file.write_text("content")
    good = hashlib.sha256(b"content").hexdigest()
    assert library(machine, f"checked {file} {good}\n").returncode == 0
    bad = library(machine, f"checked {file} {'0' * 64}\necho went on\n")
    assert bad.returncode == 1
    assert "archive.tar.gz does not have the checksum" in bad.stderr
    assert "went on" not in bad.stdout


def test_a_key_with_another_fingerprint_ends_the_step(machine, tmp_path):
    machine.command("gpg", 'echo "fpr:::::::::AAAA:"')
    assert library(machine, f"trusted {tmp_path}/some.key AAAA\n").returncode == 0
    bad = library(machine, f"trusted {tmp_path}/some.key BBBB\n")
    assert bad.returncode == 1
    assert "some.key is not the key BBBB" in bad.stderr


@pytest.mark.parametrize(
    ("verdict", "good"),
    [
        ("[GNUPG:] VALIDSIG AAAA 2026-01-01", True),
        ("[GNUPG:] VALIDSIG CCCC 2026-01-01", False),
        ("[GNUPG:] BADSIG", False),
    ],
)
def test_a_signature_counts_with_its_key_alone(machine, tmp_path, verdict, good):
    machine.command(
        "gpg",
        f'case "$*" in *--show-keys*) echo "fpr:::::::::AAAA:" ;; *--verify*) echo "{verdict}" ;; esac',
    )
    done = library(machine, f"signed {tmp_path}/a.sig {tmp_path}/a {tmp_path}/some.key AAAA\n")
    assert (done.returncode == 0) is good
    assert good or "a is not signed by AAAA" in done.stderr


def test_installed_packages_are_held_by_their_names(machine):
    machine.command("apt-mark")
    machine.command("dpkg-query", 'printf "ii linux-image-6.8\\nrc linux-image-5.15\\nhi linux-aws\\n"')
    done = library(machine, "hold 'linux-*'\n")
    assert done.returncode == 0, done.stderr
    assert machine.called("apt-mark") == ["apt-mark hold linux-image-6.8 linux-aws"]


def test_nothing_is_held_where_nothing_is_installed(machine):
    machine.command("apt-mark")
    machine.command("dpkg-query", "exit 1")
    assert library(machine, "hold 'nvidia-*'\n").returncode == 0
    assert not machine.called("apt-mark")


def test_dnf_locks_versions(machine):
    machine.command("rpm", "echo kernel; echo kernel; echo kernel-devel")
    machine.command("dnf")
    assert library(machine, "hold 'kernel*'\n").returncode == 0
    assert machine.called("dnf -q -y versionlock") == ["dnf -q -y versionlock add kernel kernel-devel"]


def test_a_module_for_another_kernel_is_none(machine):
    machine.command("modinfo", 'case "$*" in *" efa") exit 0 ;; *) exit 1 ;; esac')
    assert library(machine, "module efa\n").returncode == 0
    bad = library(machine, "module lustre\n")
    assert bad.returncode == 1
    assert "has no module lustre" in bad.stderr
