"""An instance: disks that outlive a reboot, power, and commands in the guest."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from support.boot.emulator import ROOT_MODEL, SCRATCH_MODEL, Disk, Emulator
from support.boot.network import Network
from support.boot.qmp import Ran
from support.boot.root import DISK_ID, disk_image

# As large as the real ones (p5.48xlarge: 8 x 3.8 TB), in files with holes.
SCRATCH_DISKS, SCRATCH_BYTES = 8, 3_800_000_000_000
# Software emulation on two busy cores: the guest needs a minute to its agent, a busy machine several times that.
BOOT_S = 600
ROOT = f"root=PARTUUID={DISK_ID:08x}-01"
# The last three make a boot twice as fast. An emulated processor has nothing to leak, its counter is the host's, and
# code that lies at the same address in every process is translated once.
COMMAND_LINE = f"{ROOT} ro console=ttyS0 mitigations=off tsc=reliable norandmaps"


class Instance:
    """A virtual machine with one root volume and eight drives of instance storage.

    Args:
        folder: where its disks lie.
        root: what `root_folder` gave.
        network: where it is plugged in.
        instance_type: what it says it is.
    """

    def __init__(self, folder: Path, root: Path, network: Network, *, instance_type: str = "p5.48xlarge") -> None:
        self._folder, self._network, self._type = folder, network, instance_type
        (kernel,) = (root / "root" / "boot").glob("vmlinuz-*")
        self._kernel = Path(shutil.copy(kernel, folder / "vmlinuz"))
        self._root = Disk(image=folder / "root.img", model=ROOT_MODEL, serial="vol0a1b2c3d4e5f60718")
        disk_image(root, self._root.image)
        self.scratch = [
            Disk(image=folder / f"scratch{number}.img", model=SCRATCH_MODEL, serial=f"AWS000000000000000{number:02}")
            for number in range(SCRATCH_DISKS)
        ]
        self.command_line = COMMAND_LINE
        self.replace_host()
        self._emulator: Emulator | None = None

    @property
    def console(self) -> str:
        """What the guest wrote to its serial console since the first boot."""
        log = self._folder / "console.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def start(self) -> None:
        """Switch the power on and wait until the agent in the guest answers."""
        deadline = time.monotonic() + BOOT_S
        self._console_from = len(self.console)
        self._emulator = Emulator(
            self._folder,
            self._network,
            kernel=self._kernel,
            command_line=self.command_line,
            disks=[self._root, *self.scratch],
            instance_type=self._type,
        )
        self._emulator.agent.wait(deadline)

    def wait_until_through(self) -> None:
        """Wait until cloud-init has come to its end and systemd has nothing left to do.

        The first is read off the console: cloud-init's own command would keep the guest busy for half a minute.

        Raises:
            TimeoutError: it did not come to its end in time.
        """
        deadline = time.monotonic() + BOOT_S
        while not re.search(r"Cloud-init v\..* finished at", self.console[self._console_from :]):
            if time.monotonic() > deadline:
                raise TimeoutError(f"cloud-init does not come to its end:\n{self.console[-3000:]}")
            time.sleep(0.5)
        self.run("systemctl is-system-running --wait", timeout_s=BOOT_S)

    @property
    def arguments_of_grub(self) -> str:
        """What the boot loader would give the kernel at the next boot, as the guest has configured it.

        But for the root: the boot loader names it after the drive, whose name can change from boot to boot.
        """
        line = self.output(r"grep -m1 -E '^\s*linux\s' /boot/grub/grub.cfg")
        return re.sub(r"\broot=\S+", ROOT, line.split(maxsplit=2)[2])

    def run(self, command: str, *, timeout_s: float = 60) -> Ran:
        """Run a line of shell as root in the guest."""
        return self.emulator.agent.run(command, timeout_s=timeout_s)

    def output(self, command: str, *, timeout_s: float = 60) -> str:
        """What a command prints; one that fails is an error.

        Raises:
            AssertionError: the command failed.
        """
        ran = self.run(command, timeout_s=timeout_s)
        assert ran.status == 0, f"{command}: status {ran.status}: {ran.stderr or ran.stdout}"
        return ran.stdout.strip()

    def look(self, commands: Mapping[str, str], *, timeout_s: float = 400) -> dict[str, str]:
        """What some commands print, whatever their status, by name; all in one go."""
        told = json.dumps(dict(commands)).encode()
        return dict(json.loads(self.output_of(["python3", "-c", _LOOK], told, timeout_s=timeout_s)))

    def output_of(self, words: list[str], data: bytes, *, timeout_s: float = 60) -> str:
        """What a command prints that reads some data; one that fails is an error."""
        ran = self.emulator.agent.run(shlex.join(words), data=data, timeout_s=timeout_s)
        assert ran.status == 0, f"{words[0]}: status {ran.status}: {ran.stderr or ran.stdout}"
        return ran.stdout

    @property
    def emulator(self) -> Emulator:
        """The running emulator."""
        assert self._emulator is not None, "the instance is off"
        return self._emulator

    def shut_down(self, *, how: str = "poweroff") -> None:
        """Let the guest end its services and switch itself off."""
        self.run(f"systemctl --no-block {how}")
        self.emulator.wait_until_off(120)
        self._emulator = None

    def reboot(self) -> None:
        """Restart the guest on the same host: every disk keeps its bytes."""
        self.shut_down(how="reboot")
        self.start()

    def pull(self, number: int) -> None:
        """Take a drive of the instance storage out while the guest runs."""
        self.emulator.pull(number + 1)

    def plug(self, number: int, *, empty: bool = False, broken: bool = False) -> None:
        """Put it back: as it was, empty, or broken."""
        if empty:
            self._empty(self.scratch[number])
        self.emulator.plug(number + 1, replace(self.scratch[number], broken=broken))

    def _empty(self, disk: Disk) -> None:
        disk.image.unlink(missing_ok=True)
        with disk.image.open("wb") as image:
            image.truncate(SCRATCH_BYTES)

    def replace_host(self) -> None:
        """What stop and start do: the instance storage of the new host is empty."""
        for disk in self.scratch:
            self._empty(disk)

    def close(self) -> None:
        """Pull the plug if it is still in."""
        if self._emulator is not None:
            self._emulator.kill()
            self._emulator = None


_LOOK = """
import json, subprocess, sys

def said(command):
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, errors="replace")
    return (done.stdout + done.stderr).strip()

print(json.dumps({name: said(command) for name, command in json.load(sys.stdin).items()}))
"""
