"""Training processes that want a signal when the node goes away: any user registers its own, a file for each.

The folder is open to everybody, so nothing in it is believed: a process is signalled only when it still is the one that
was registered, by its start time, and when it belongs to who registered it (root may register any).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

from ..host import Node, NodeError

TYPE_CHECKING = False  # that of `typing` would load it, half a megabyte for the program that watches
if TYPE_CHECKING:
    import argparse

FOLDER = "/run/ultracluster/trainers"
_LARGEST = 4096
_START_TIME, _STATE = 19, 0  # fields of /proc/PID/stat, counted from the one after the name
_FORBIDDEN = {"KILL", "STOP"}  # a process that cannot handle it cannot save anything


class Trainer:
    """A registered process.

    Args:
        pid: its id.
        start: its start time in clock ticks since the boot.
        signal: name without `SIG`.
        name: what it runs.
        file: its registration.
    """

    def __init__(self, pid: int, start: int, signal: str, name: str, file: Path) -> None:
        self.pid, self.start, self.signal, self.name, self.file = pid, start, signal, name, file

    @property
    def key(self) -> str:
        """What it is known by: an id alone is used again by the kernel."""
        return f"{self.pid}:{self.start}"


def command(args: argparse.Namespace, node: Node) -> int:
    """`--register`, `--unregister` or `--list`."""
    if args.register is not None:
        register(node, args.register, args.signal)
    elif args.unregister is not None:
        unregister(node, args.unregister)
    else:
        for each in registered(node):
            print(f"{each.pid}\t{each.signal}\t{each.name}")
    return 0


def prepare(node: Node) -> None:
    """Make the folder, in which everybody may register and nobody may remove what is another's."""
    folder = node.path(FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o1777)


def register(node: Node, pid: int, name: str = "TERM") -> Trainer:
    """Register a running process.

    Args:
        node: the node.
        pid: of a process of the caller.
        name: signal to send, with or without `SIG`.

    Raises:
        NodeError: no such process or signal, a process of another user, or the watcher does not run.
    """
    name = name.upper()
    name = name[3:] if name.startswith("SIG") else name
    if name in _FORBIDDEN or f"SIG{name}" not in signal.Signals.__members__:
        raise NodeError(f"{name} is no signal that a process can handle; use TERM, USR1 or USR2")
    start = start_time(pid)
    if start is None:
        raise NodeError(f"no process {pid} runs here; give its id on the host, not in a container")
    if os.geteuid() not in (0, _owner(pid)):
        raise NodeError(f"process {pid} belongs to somebody else; register your own, or as root")
    folder = node.path(FOLDER)
    content = json.dumps({"pid": pid, "start": start, "signal": name, "name": _command_line(pid)})
    unregister(node, pid)
    # A name that nobody can guess: another user could otherwise take it first.
    part = folder / f".{pid}.{os.urandom(8).hex()}"
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except OSError as error:
        raise NodeError(f"{folder} cannot be written ({error.strerror}); start ultracluster-watch.service") from error
    with os.fdopen(handle, "w") as file:
        os.fchmod(handle, 0o644)
        file.write(content)
    path = part.rename(part.with_name(part.name[1:]))
    return Trainer(pid, start, name, _command_line(pid), path)


def unregister(node: Node, pid: int) -> None:
    """Remove what this user registered under a process id."""
    for file in node.path(FOLDER).glob(f"{pid}.*"):
        with contextlib.suppress(OSError):  # another user's
            file.unlink()


def registered(node: Node) -> list[Trainer]:
    """The registered processes that still run, each once; registrations of others are removed where that is allowed."""
    found: dict[str, Trainer] = {}
    for file in sorted(node.path(FOLDER).glob("[0-9]*")):
        trainer = _read(file)
        if trainer is not None and start_time(trainer.pid) == trainer.start and _may(trainer):
            found[trainer.key] = trainer
        else:
            with contextlib.suppress(OSError):
                file.unlink()
    return list(found.values())


def send(trainer: Trainer) -> bool:
    """Send its signal to a process; whether it still was the registered one.

    A descriptor of the process is taken first, so that no other can be hit that gets the same id meanwhile.
    """
    try:
        handle = os.pidfd_open(trainer.pid)
    except OSError:
        return False
    try:
        if start_time(trainer.pid) != trainer.start or not _may(trainer):
            return False
        signal.pidfd_send_signal(handle, signal.Signals[f"SIG{trainer.signal}"])
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def start_time(pid: int) -> int | None:
    """When a process started; None when it does not run any more."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[_STATE] in "ZX" else int(fields[_START_TIME])


def _may(trainer: Trainer) -> bool:
    try:
        return trainer.file.lstat().st_uid in (0, _owner(trainer.pid))
    except OSError:
        return False


def _owner(pid: int) -> int | None:
    """User of a process: not that of its folder in `/proc`, which is root's for a process that may not be traced."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(status.partition("\nUid:")[2].split()[0])


def _command_line(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return b" ".join(words).decode(errors="replace").strip()[:200]


def _read(file: Path) -> Trainer | None:
    """A registration; None for what is none: the folder is open, so no link, no pipe and no large file is read."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as stream:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST:
            return None
        try:
            found = json.loads(stream.read(_LARGEST))
            trainer = Trainer(int(found["pid"]), int(found["start"]), str(found["signal"]), str(found["name"]), file)
        except (ValueError, KeyError, TypeError):
            return None
    known = f"SIG{trainer.signal}" in signal.Signals.__members__
    return trainer if known and trainer.signal not in _FORBIDDEN else None


def running(keys: Iterator[str]) -> list[str]:
    """Those of some processes, by their keys, that still run."""
    return [key for key in keys if start_time(int(key.partition(":")[0])) == int(key.partition(":")[2])]
