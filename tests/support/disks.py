"""NVMe disks of a folder that looks like a node, with tools that read and write them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from support.machine import Machine

STORE = "Amazon EC2 NVMe Instance Storage"
VOLUME = "Amazon Elastic Block Store"
TOOLS = ("lsblk", "blkid", "mdadm", "mkfs.xfs", "xfs_info", "mount")
SIZE = 65536

_BOOT = """
import dataclasses, json, sys
from pathlib import Path
from support.machine import Machine
from ultracluster.node import scratch

machine = Machine(Path(sys.argv[1]), settings=json.loads(sys.argv[2]))
print(json.dumps(dataclasses.asdict(scratch.ensure(machine.node()))))
"""


class Disks:
    """The disks of a machine.

    Args:
        machine: the machine.
        count: number of instance store disks, beside volumes that are NVMe devices too; the fleet expects as many.
    """

    def __init__(self, machine: Machine, count: int) -> None:
        self.machine = machine
        machine.settings["types"] = {machine.metadata["instance-type"]: {"scratch_disks": count}}
        for tool in TOOLS:
            script = machine.root / "stubs" / tool
            body = Path(__file__).with_name("fake_disk_tools.py")
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{body}" {tool} "$@"\n')
            script.chmod(0o755)
        # A volume in the middle as well: the order of the names says nothing.
        self.add("nvme0n1", VOLUME)
        self.add("nvme3n1", VOLUME)
        self.names = [f"nvme{number}n1" for number in range(1, count + 3) if number != 3][:count]
        for name in self.names:
            self.add(name, STORE)

    def add(self, name: str, model: str = STORE) -> None:
        """An empty disk."""
        self.machine.write(f"/sys/block/{name}/device/model", f"{model:<40}\n")
        self.file(name).parent.mkdir(exist_ok=True)
        self.file(name).write_bytes(bytes(SIZE))

    def remove(self, name: str) -> None:
        """A disk that the instance does not show."""
        self.file(name).unlink()
        (self.machine.root / f"sys/block/{name}/device/model").unlink()

    def file(self, name: str) -> Path:
        """Its device file."""
        return self.machine.root / "dev" / name

    def sign(self, name: str, offset: int, data: bytes) -> None:
        """Put a signature on a disk."""
        with self.file(name).open("r+b") as file:
            file.seek(offset)
            file.write(data)

    def children(self, name: str, *entries: dict[str, object]) -> None:
        """What lsblk shows as built on a disk."""
        (self.machine.state / "children.json").write_text(json.dumps({name: entries}))

    def reboot(self, *, udev: bool = True) -> None:
        """Nothing is mounted any more; udev has assembled a complete array under another name, or did not."""
        (self.machine.root / "proc/self/mountinfo").unlink(missing_ok=True)
        state = self.machine.state / "arrays.json"
        running = json.loads(state.read_text()) if state.exists() else {}
        standing = {}
        for device, digits in running.items():
            renamed = self.machine.root / "dev/md/md127"
            data = Path(device).read_bytes()
            Path(device).unlink()
            if udev:
                renamed.write_bytes(data)
                standing[str(renamed)] = digits
        state.write_text(json.dumps(standing))

    def stop_and_start(self) -> None:
        """All instance store disks come back empty."""
        self.reboot(udev=False)
        for name in self.names:
            self.file(name).write_bytes(bytes(SIZE))

    def kill_at(self, tool: str, moment: str) -> None:
        """Kill the program once, `before`, in the `middle` of or `after` a tool."""
        (self.machine.state / "kill").write_text(f"{tool} {moment}")

    def bad(self, name: str) -> None:
        """A disk that fails every write."""
        (self.machine.state / "bad").write_text(name)

    def boot(self) -> subprocess.CompletedProcess[str]:
        """Run the program in a process of its own, which may be killed."""
        return subprocess.run(
            [sys.executable, "-c", _BOOT, str(self.machine.root), json.dumps(self.machine.settings)],
            cwd=Path(__file__).parents[1],
            env={"PYTHONPATH": ":".join(["..", ".", "../constructs"]), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def superblock(self) -> bytes:
        """The first bytes of what is mounted at /scratch."""
        line = (self.machine.root / "proc/self/mountinfo").read_text().splitlines()[-1]
        return Path(line.split(" - ")[1].split(" ")[1]).read_bytes()[:512]
