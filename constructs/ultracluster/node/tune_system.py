"""Steps that are more than a file: units, kernel arguments, what the kernel runs with, held packages, clocks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from . import NodeError
from .files import read_text, write_atomically
from .host import Node, ToolMissing
from .tune_files import FileStep, is_running

__all__ = [
    "ClocksStep",
    "CommandLineStep",
    "HoldStep",
    "KernelArgumentsStep",
    "MaskStep",
    "ServiceStep",
    "SysctlStep",
    "units_steps",
]

_UNITS = "/etc/systemd/system"
_UNIT_FOLDERS = (_UNITS, "/usr/lib/systemd/system", "/lib/systemd/system", "/run/systemd/system")
_LOOSE = ("", "disabled")
"""States of a unit that nobody has decided on; one that is masked was masked by somebody."""
_GRUB = "/etc/default/grub.d/99-ultracluster.cfg"


def _exists(node: Node, unit: str) -> bool:
    return any(node.path(f"{folder}/{unit}").exists() for folder in _UNIT_FOLDERS)


@dataclass
class _Step:
    """What all of them have.

    Attributes:
        node: the node.
        rows: ids of the rows.
    """

    node: Node
    rows: tuple[str, ...]
    after = ()


@dataclass
class MaskStep(_Step):
    """A unit that never starts: a link to nothing, which also holds for units that come with a later package."""

    unit: str

    @property
    def title(self) -> str:
        """What the step is called."""
        return self.unit

    def drift(self) -> str | None:
        """Whether the link is missing."""
        link = self.node.path(f"{_UNITS}/{self.unit}")
        if link.is_symlink() and str(link.readlink()) == os.devnull:
            return None
        return "is not masked"

    def apply(self) -> None:
        """Make the link and stop what runs."""
        link = self.node.path(f"{_UNITS}/{self.unit}")
        if link.exists() and not link.is_symlink():
            raise NodeError(f"{link} is a file of somebody; remove it to mask the unit")
        installed = _exists(self.node, self.unit)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(os.devnull)
        if installed and is_running(self.node):
            # Not waited for: the service of unattended upgrades ends when its upgrade does, which takes its time.
            self.node.run("systemctl", "stop", "--no-block", self.unit, check=False)


@dataclass
class ServiceStep(_Step):
    """A service that runs wherever it is installed."""

    unit: str

    @property
    def title(self) -> str:
        """What the step is called."""
        return self.unit

    def drift(self) -> str | None:
        """Whether it is installed and not enabled."""
        if not _exists(self.node, self.unit):
            return None
        state = self.node.run("systemctl", "is-enabled", self.unit, check=False).stdout.strip()
        return f"is {state or 'not enabled'}" if state in _LOOSE else None

    def apply(self) -> None:
        """Enable it, and start it where systemd runs; whether it does its work, the health checks tell."""
        self.node.run("systemctl", "enable", self.unit)
        if is_running(self.node):
            self.node.run("systemctl", "start", self.unit, check=False, timeout=180)


@dataclass
class SysctlStep(_Step):
    """A value that the running kernel has; where the kernel lacks the key, nothing is in force and nothing is wrong."""

    name: str
    value: str

    @property
    def title(self) -> str:
        """What the step is called."""
        return self.name

    def drift(self) -> str | None:
        """The value that it has instead."""
        if not is_running(self.node):
            return None
        found = " ".join(read_text(self._file(), self.value).split())
        return None if found == self.value else f"is {found}, not {self.value}"

    def apply(self) -> None:
        """Set it."""
        try:
            self._file().write_text(self.value, encoding="ascii")
        except OSError as error:
            raise NodeError(f"the kernel takes no {self.value} for {self.name} ({error}); apply it at boot") from error

    def _file(self) -> Path:
        return self.node.path("/proc/sys/" + self.name.replace(".", "/"))


@dataclass
class _KernelStep(_Step):
    """Arguments of the kernel.

    Attributes:
        arguments: `NAME=value`.
    """

    arguments: tuple[str, ...]


class KernelArgumentsStep(_KernelStep):
    """Arguments of the kernel: by grubby where it is (Amazon Linux), else by a drop-in of GRUB."""

    title = "kernel arguments"

    def drift(self) -> str | None:
        """The first argument that the next boot lacks."""
        missing = [argument for argument in self.arguments if argument not in self._next_boot()]
        return f"lack {missing[0]}" if missing else None

    def apply(self) -> None:
        """Write them for every kernel; they count from the next boot on."""
        if self.node.has("grubby"):
            self.node.run("grubby", "--update-kernel=ALL", f"--args={' '.join(self.arguments)}", timeout=120)
            return
        text = f"# ultracluster tune: {' '.join(self.rows)}\n"
        text += f'GRUB_CMDLINE_LINUX="${{GRUB_CMDLINE_LINUX:-}} {" ".join(self.arguments)}"\n'
        write_atomically(self.node.path(_GRUB), text)
        try:
            self.node.run("update-grub", timeout=120)
        except NodeError:
            self.node.path(_GRUB).unlink(missing_ok=True)  # the next run tries anew
            raise

    def _next_boot(self) -> set[str]:
        if self.node.has("grubby"):
            lines = self.node.run("grubby", "--info=DEFAULT").stdout.splitlines()
            found = next((line.partition("=")[2] for line in lines if line.startswith("args=")), "")
            return set(found.strip('"').split())
        return set(read_text(self.node.path(_GRUB), "").replace('"', " ").split())


class CommandLineStep(_KernelStep):
    """What the kernel that runs was booted with; only a reboot changes it, and that is not ours to do."""

    title = "running kernel"

    def drift(self) -> str | None:
        """The first argument that it was booted without."""
        booted = read_text(self.node.path("/proc/cmdline"), "").split()
        if not booted or not is_running(self.node):
            return None
        missing = [argument for argument in self.arguments if argument not in booted]
        return f"was booted without {missing[0]}; reboot" if missing else None

    def apply(self) -> None:
        """Nothing: the next boot has them."""


@dataclass
class HoldStep(_Step):
    """Packages whose version stays; every installed one that a pattern names."""

    patterns: tuple[str, ...]
    packages: str

    @property
    def title(self) -> str:
        """What the step is called."""
        return "held packages"

    def drift(self) -> str | None:
        """The installed ones that are not held."""
        loose = self._loose()
        return f"{', '.join(loose)} can be updated" if loose else None

    def apply(self) -> None:
        """Hold them."""
        if self.packages == "apt":
            self.node.run("apt-mark", "hold", *self._loose())
        else:
            self.node.run("dnf", "-q", "-y", "versionlock", "add", *self._loose(), timeout=300)

    def _loose(self) -> list[str]:
        held = self._held()
        found = [name for name in self._installed() if any(fnmatch(name, pattern) for pattern in self.patterns)]
        return [name for name in found if name not in held]

    def _installed(self) -> list[str]:
        if self.packages == "apt":
            lines = self.node.run("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\n").stdout.splitlines()
            return [line.split()[-1] for line in lines if line[1:2] == "i"]
        return sorted(set(self.node.run("rpm", "-qa", "--qf", "%{NAME}\n").stdout.split()))

    def _held(self) -> set[str]:
        if self.packages == "apt":
            return set(self.node.run("apt-mark", "showhold").stdout.split())
        lines = self.node.run("dnf", "-q", "versionlock", "list", timeout=300).stdout.split()
        # As `kernel-0:6.1.0-1.*`, newer releases as `Package name: kernel`.
        return {line.rsplit("-", 2)[0] if ":" in line else line for line in lines}


@dataclass
class ClocksStep(_Step):
    """The documented maximum clocks of the type; drivers that do not let them be set keep their own."""

    clocks: tuple[int, int]
    title = "GPU clocks"

    def drift(self) -> str | None:
        """The clocks that are set instead; None where the driver does not tell."""
        query = ("--query-gpu=clocks.applications.memory,clocks.applications.graphics", "--format=csv,noheader,nounits")
        try:
            lines = self.node.run("nvidia-smi", *query, check=False).stdout.splitlines()
        except ToolMissing:
            return None
        wanted = ", ".join(map(str, self.clocks))
        wrong = [line.strip() for line in lines if line.replace(",", "").replace(" ", "").isdigit()]
        other = [line for line in wrong if line != wanted]
        return f"are {other[0]}, not {wanted}" if other else None

    def apply(self) -> None:
        """Set them."""
        memory, graphics = self.clocks
        self.node.run("nvidia-smi", "-ac", f"{memory},{graphics}", check=False)


def units_steps(node: Node) -> list[FileStep]:
    """Our own units, as they are packed with the program."""
    from importlib.resources import files

    folder = files(__package__).joinpath("units")
    found = sorted(folder.iterdir(), key=lambda each: each.name) if folder.is_dir() else []
    return [
        FileStep(
            node, f"{_UNITS}/{each.name}", ("units",), each.read_text(encoding="utf-8"), ("systemctl", "daemon-reload")
        )
        for each in found
        if each.name.endswith((".service", ".timer"))
    ]
