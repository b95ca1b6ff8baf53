"""A Lustre client in a folder that looks like a node."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from support.machine import Machine

SOURCE = "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com@tcp:/abcdefgh"
LUSTRE = {"kind": "lustre", "path": "/fsx", "source": SOURCE, "options": "noatime,flock,_netdev", "efa": False}
LUSTRE_EFA = LUSTRE | {"efa": True}
HOME = {
    "kind": "efs",
    "path": "/home/shared",
    "source": "fs-0123456789abcdef1:/",
    "options": "_netdev,noresvport,tls,iam,accesspoint=fsap-0123456789abcdef0",
}
MOUNTINFO = "/proc/self/mountinfo"
_MOUNT = f"""
path=${{1#$ROOT}}
line=$(grep " $path " "$ROOT/etc/fstab") || exit 32
read -r source _ kind _ <<<"$line"
echo "1 2 0:3 / $path rw,noatime - $kind $source rw" >>"$ROOT{MOUNTINFO}"
"""
_GET = """
[[ $1 == get_param ]] || exit 0
for ((i = 0; i < $(cat "$STATE/targets"); i++)); do
  printf 'osc.abcdefgh-OST%04x-osc-ffff8881.max_rpcs_in_flight=8\\n' "$i"
done
"""


class LustreHost:
    """The client of a machine.

    Args:
        machine: the machine.
        mounts: what its settings mount.
        targets: object storage targets of the file system.
    """

    def __init__(self, machine: Machine, *mounts: dict[str, Any], targets: int = 8) -> None:
        self.machine = machine
        machine.settings["mounts"] = list(mounts)
        machine.write("/etc/fstab", "UUID=1234 / xfs defaults 0 1\n")
        machine.write("/etc/os-release", 'ID=ubuntu\nVERSION_CODENAME="noble"\n')
        machine.write(MOUNTINFO, "1 0 259:1 / / rw - xfs /dev/root rw\n")
        machine.write("/sbin/mount.efs", "#!/bin/sh\n", mode=0o755)
        (machine.state / "targets").write_text(str(targets))
        for name, body in {"mount": _MOUNT, "lctl": _GET, "modinfo": "", "modprobe": "", "systemctl": ""}.items():
            machine.command(name, body)
        machine.command("ip", "echo '169.254.169.254 via 10.0.0.1 dev ens32 src 10.0.0.9 uid 0'")
        self.tools("lfs", "lnetctl")
        self.lnet({"efa": [20, 20], "tcp": [1, 1]})

    def tools(self, *names: str) -> None:
        """Put the tools with a memory on the PATH."""
        body = Path(__file__).with_name("fake_lustre_tools.py")
        for name in names:
            script = self.machine.root / "stubs" / name
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{body}" {name} "$@"\n')
            script.chmod(0o755)

    def lnet(self, growth: dict[str, list[int]], *nets: dict[str, Any]) -> None:
        """The networks, and how many messages each interface gets between two looks."""
        (self.machine.state / "lnet.json").write_text(json.dumps({"nets": nets, "growth": growth}))

    def efa(self, *names: str, driver: str = "efa") -> None:
        """RDMA devices."""
        for name in names:
            device = self.machine.root / "sys/class/infiniband" / name / "device"
            device.mkdir(parents=True)
            (device / "driver").symlink_to(f"../../../../bus/pci/drivers/{driver}")

    def files(self, records: dict[str, dict[str, Any]]) -> None:
        """Files below /fsx with their HSM records."""
        self.machine.write(MOUNTINFO, f"1 2 0:3 / /fsx rw - lustre {SOURCE} rw\n")
        known = {}
        for path, record in records.items():
            file = self.machine.root / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(bytes(record.pop("size", 10)))
            known[str(file)] = record
        (self.machine.state / "hsm.json").write_text(json.dumps(known))

    def hsm(self, path: str) -> dict[str, Any]:
        """The record of one file."""
        found: dict[str, Any] = json.loads((self.machine.state / "hsm.json").read_text())
        return found[str(self.machine.root / path.lstrip("/"))]
