"""Nodes with the tools that `tune` calls; each tool keeps its state as the real one does."""

from __future__ import annotations

import pytest

AL2023 = 'NAME="Amazon Linux"\nID="amzn"\nVERSION_ID="2023"\n'
UBUNTU = 'NAME="Ubuntu"\nVERSION_ID="22.04"\nID=ubuntu\n'
_ENABLED = """
case $1 in
  is-enabled) [[ -e $STATE/enabled-$2 ]] && echo enabled || { echo disabled; exit 1; } ;;
  enable) touch "$STATE/enabled-${@: -1}" ;;
esac
"""


@pytest.fixture
def amazon(machine):
    """Amazon Linux 2023 with dnf, grubby, chrony and the driver's units."""
    machine.write("/etc/os-release", AL2023)
    machine.write("/etc/chrony.conf", "pool 2.amazon.pool.ntp.org iburst\n")
    machine.write("/usr/lib/systemd/system/nvidia-persistenced.service")
    machine.write("/usr/lib/systemd/system/nvidia-fabricmanager.service")
    machine.command("systemctl", _ENABLED)
    machine.command("rpm", "echo kernel; echo kernel-modules-extra; echo bash")
    machine.command(
        "dnf",
        'case "$*" in *"versionlock list"*) cat "$STATE/locks" 2>/dev/null ;;'
        ' *"versionlock add"*) for name in "${@:5}"; do echo "$name-0:6.1.0-1.*" >>"$STATE/locks"; done ;; esac; true',
    )
    machine.command("dracut")
    machine.command(
        "grubby",
        'case "$1" in --info=*) echo "index=0"; echo "args=\\"ro quiet $(cat "$STATE/args" 2>/dev/null)\\"" ;;'
        ' *) echo "${2#--args=}" >"$STATE/args" ;; esac',
    )
    machine.command(
        "nvidia-smi",
        'if [[ $1 == -ac ]]; then echo "${2/,/, }" >"$STATE/clocks"; '
        'else cat "$STATE/clocks" 2>/dev/null || echo "1000, 1200"; fi',
    )
    return machine


@pytest.fixture
def ubuntu(machine):
    """Ubuntu 22.04 with apt, GRUB and docker."""
    machine.write("/etc/os-release", UBUNTU)
    machine.write("/etc/chrony/chrony.conf", "pool ntp.ubuntu.com iburst maxsources 4")
    machine.command("systemctl", _ENABLED)
    machine.command("dpkg-query", 'echo "ii  linux-image-6.8.0-1029-aws"; echo "rc  linux-image-old"; echo "ii  bash"')
    machine.command(
        "apt-mark",
        'case $1 in showhold) cat "$STATE/holds" 2>/dev/null ;; '
        'hold) shift; printf "%s\\n" "$@" >>"$STATE/holds" ;; esac; true',
    )
    machine.command("update-initramfs")
    machine.command("update-grub")
    machine.command("dockerd")
    return machine


@pytest.fixture
def running(machine):
    """systemd runs, and the kernel has the keys of the table."""
    (machine.root / "run/systemd/system").mkdir(parents=True)
    for row in machine.node().facts["tuning"]:
        if row["kind"] == "sysctl":
            machine.write("/proc/sys/" + row["name"].replace(".", "/"), "1\n")
    return machine
