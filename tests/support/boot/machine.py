"""An instance: disks that outlive a reboot, power, and commands in the guest."""

from __future__ import annotations

import time
from pathlib import Path

from support.boot.emulator import ROOT_MODEL, SCRATCH_MODEL, Disk, Emulator
from support.boot.network import Network
from support.boot.qmp import Ran
from support.boot.root import DISK_ID, disk_image

SCRATCH_DISKS, _SCRATCH_BYTES = 8, 2 * 1024**3
# Software emulation on two busy cores: the guest needs half a minute to its agent, a busy machine several times that.
BOOT_S = 240
COMMAND_LINE = f"root=PARTUUID={DISK_ID:08x}-01 ro console=ttyS0 random.trust_cpu=on"


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
        (self._kernel,) = (root / "root" / "boot").glob("vmlinuz-*")
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
        return (self._folder / "console.log").read_text(errors="replace")

    def start(self) -> None:
        """Switch the power on and wait until the agent in the guest answers."""
        deadline = time.monotonic() + BOOT_S
        self._emulator = Emulator(
            self._folder,
            self._network,
            kernel=self._kernel,
            command_line=self.command_line,
            disks=[self._root, *self.scratch],
            instance_type=self._type,
        )
        self._emulator.agent.wait(deadline)

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

    def replace_host(self) -> None:
        """What stop and start do: the instance storage of the new host is empty."""
        for disk in self.scratch:
            disk.image.unlink(missing_ok=True)
            with disk.image.open("wb") as image:
                image.truncate(_SCRATCH_BYTES)

    def close(self) -> None:
        """Pull the plug if it is still in."""
        if self._emulator is not None:
            self._emulator.kill()
            self._emulator = None
