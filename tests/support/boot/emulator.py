"""qemu-system under software emulation, with the disks and the identity that EC2 gives an instance."""

from __future__ import annotations

import errno
import json
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from support.boot.network import MAC, Network
from support.boot.qmp import GuestAgent, Monitor

ROOT_MODEL, SCRATCH_MODEL = "Amazon Elastic Block Store", "Amazon EC2 NVMe Instance Storage"
_MODEL_OF_QEMU, _MODEL_BYTES, _SERIAL_BYTES = b"QEMU NVMe Ctrl", 40, 20
# Identity in the firmware tables, by which cloud-init knows that it may ask the metadata service.
_UUID = "ec2e1916-9099-7caf-fd21-012345abcdef"
# Paused at first; a reset ends the run, so that the next one can be given other disks and arguments.
_MACHINE = (
    *("qemu-system-x86_64", "-accel", "tcg,thread=multi", "-M", "q35", "-smp", "2", "-m", "1536"),
    *("-nodefaults", "-display", "none", "-no-reboot", "-S"),
)


@dataclass(frozen=True, kw_only=True)
class Disk:
    """A drive behind a controller of its own.

    Attributes:
        image: the file with its bytes.
        model: what the controller calls itself.
        serial: its number.
        broken: whether every write to it fails.
    """

    image: Path
    model: str
    serial: str
    broken: bool = False

    def block(self, index: int) -> dict[str, Any]:
        """The file as the emulator takes it."""
        file: dict[str, Any] = {"driver": "file", "filename": str(self.image), "discard": "unmap"}
        if self.broken:
            faults = [{"event": event, "errno": errno.EIO} for event in ("write_aio", "pwritev", "pwritev_zero")]
            file = {"driver": "blkdebug", "image": file, "inject-error": faults}
        return {"driver": "raw", "node-name": f"block{index}", "discard": "unmap", "file": file}

    def device(self, index: int) -> dict[str, str]:
        """The controller; it sits behind a port of its own, so that it can be pulled."""
        place = {"driver": "nvme", "id": f"disk{index}", "bus": f"port{index}"}
        return {**place, "drive": f"block{index}", "serial": self.serial}

    def arguments(self, index: int) -> list[str]:
        """How the emulator is told of it at the start."""
        port = {"driver": "pcie-root-port", "id": f"port{index}", "chassis": index + 1, "slot": index + 1}
        devices = (word for part in (port, self.device(index)) for word in ("-device", json.dumps(part)))
        return ["-blockdev", json.dumps(self.block(index)), *devices]


class Emulator:
    """One run of the emulator, from power on to power off.

    Args:
        folder: where its sockets and its console log lie.
        network: where it is plugged in.
        kernel: the kernel, which is loaded without a boot loader.
        command_line: its arguments.
        disks: the root disk first.
        instance_type: what the firmware says the product is.
    """

    def __init__(
        self,
        folder: Path,
        network: Network,
        *,
        kernel: Path,
        command_line: str,
        disks: list[Disk],
        instance_type: str,
    ) -> None:
        self.console = folder / "console.log"
        self._control, self._agent = folder / "control", folder / "agent"
        for left in (self._control, self._agent):
            left.unlink(missing_ok=True)
        self._log = folder / "emulator.log"
        self._channels: list[Monitor | GuestAgent] = []
        loaded = ["-kernel", str(kernel), "-append", command_line, *_identity(instance_type)]
        command = [*network.enter, *_MACHINE, *loaded, *self._plugged(disks)]
        with self._log.open("a") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            self._wait_for(self._control)
            self.monitor, self.agent = Monitor(self._control), GuestAgent(self._agent)
            self._channels += [self.monitor, self.agent]
            self.name_controllers(disks)
            self.monitor.command("cont")
        except BaseException:
            self.kill()
            raise

    def _plugged(self, disks: list[Disk]) -> list[str]:
        return [
            *(word for index, disk in enumerate(disks) for word in disk.arguments(index)),
            *("-netdev", "tap,id=net,ifname=tap0,script=no,downscript=no"),
            *("-device", f"virtio-net-pci,netdev=net,mac={MAC},romfile="),
            *("-device", "virtio-serial-pci", "-device", "virtio-rng-pci"),
            *("-chardev", f"socket,path={self._agent},server=on,wait=off,id=agent"),
            *("-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0"),
            *("-chardev", f"file,id=console,path={self.console},append=on", "-serial", "chardev:console"),
            *("-qmp", f"unix:{self._control},server=on,wait=off"),
        ]

    @property
    def running(self) -> bool:
        """Whether the power is on."""
        return self._process.poll() is None

    def wait_until_off(self, timeout_s: float) -> None:
        """Wait for the guest to switch itself off or to reset, which ends this run.

        Raises:
            TimeoutError: it did neither.
        """
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"the guest is still on after {timeout_s:g} s") from None
        self.kill()

    def kill(self) -> None:
        """Pull the plug."""
        self._process.kill()
        self._process.wait()
        for channel in self._channels:
            channel.close()

    def name_controllers(self, disks: list[Disk]) -> None:
        """Give the NVMe controllers the models of EC2.

        The emulator has one fixed model and no option for another. While it is paused, the field of each controller's
        identify data (40 characters after the 20 of the serial number, NVM Express base specification, identify
        controller) is overwritten in its memory; the guest reads it over the bus like from any controller.
        """
        wanted = {disk.serial.encode().ljust(_SERIAL_BYTES): disk.model.encode() for disk in disks}
        with Path(f"/proc/{self._process.pid}/mem").open("r+b", buffering=0) as memory:
            for place in _find(memory, self._process.pid, _MODEL_OF_QEMU.ljust(_MODEL_BYTES)):
                memory.seek(place - _SERIAL_BYTES)
                model = wanted.pop(memory.read(_SERIAL_BYTES), None)
                if model is not None:
                    memory.write(model.ljust(_MODEL_BYTES))
        if wanted:
            raise RuntimeError(f"not found among the emulator's controllers: {sorted(wanted)}")

    def pull(self, index: int) -> None:
        """Take a drive out while the guest runs.

        Raises:
            TimeoutError: the guest does not let go of it.
        """
        self.monitor.command("device_del", id=f"disk{index}")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            time.sleep(0.2)
            try:
                self.monitor.command("blockdev-del", **{"node-name": f"block{index}"})
            except RuntimeError:
                continue  # the guest still has it
            return
        raise TimeoutError(f"the guest does not let go of drive {index}")

    def plug(self, index: int, disk: Disk) -> None:
        """Put a drive in while the guest runs."""
        self.monitor.command("stop")
        self.monitor.command("blockdev-add", **disk.block(index))
        self.monitor.command("device_add", **disk.device(index))
        self.name_controllers([disk])
        self.monitor.command("cont")

    def _wait_for(self, path: Path) -> None:
        deadline = time.monotonic() + 30
        while not path.exists() or not self._agent.exists():
            if not self.running or time.monotonic() > deadline:
                raise RuntimeError(f"the emulator did not start: {self._log.read_text()[-2000:]}")
            time.sleep(0.02)


def _identity(instance_type: str) -> list[str]:
    return [
        *("-uuid", _UUID, "-smbios"),
        f"type=1,manufacturer=Amazon EC2,product={instance_type},serial={_UUID},uuid={_UUID}",
    ]


def _find(memory: BinaryIO, pid: int, wanted: bytes) -> list[int]:
    """Where some bytes stand in what a process has allocated; memory of the guest is far larger than anything else."""
    found = []
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if "rw-p" not in line or end - start > 256 * 1024**2 or re.search(r"\.so|\[v", line):
            continue
        memory.seek(start)
        try:
            data = memory.read(end - start)
        except OSError:
            continue
        found += [start + match.start() for match in re.finditer(re.escape(wanted), data)]
    return found
