"""What is kept of staged data sets, beside them in `.ultracluster-stage`: journals, leases, unfinished files.

A journal has a line for every file that is whole at its place, so a copy that was stopped goes on where it was. A lease
is a lock that jobs share while they read a data set, and whose age is that of its last use: these file systems keep no
access times.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ..files import read_text
from ..host import NodeError

FOLDER = ".ultracluster-stage"
_JOURNAL, _LEASE, _PARTIAL, _TRASH = ".journal", ".lease", ".partial", "trash-"


@dataclass(frozen=True)
class Entry:
    """A file of a data set.

    Attributes:
        path: below the data set.
        size: in bytes.
        version: what changes when its content does: ETag of an object, time of a file.
        source: where it comes from.
    """

    path: str
    size: int
    version: str
    source: str


class Slot:
    """The place of one data set.

    Args:
        target: the data set's folder.
    """

    def __init__(self, target: Path) -> None:
        if not target.name or target.name.startswith("."):
            raise NodeError(f"{target} is no place for a data set; give a folder like /scratch/data/NAME")
        self.target = target
        self.shelf = target.parent / FOLDER
        self.partial = self.shelf / f"{target.name}{_PARTIAL}"
        self.lease = self.shelf / f"{target.name}{_LEASE}"
        self.journal = self.shelf / f"{target.name}{_JOURNAL}"

    def touch(self) -> None:
        """The data set is used now."""
        with _shared(self.lease):
            os.utime(self.lease)

    def last_used(self) -> float:
        """Time of the last use, in seconds since 1970; of the copy when nobody used it."""
        for file in (self.lease, self.journal):
            with contextlib.suppress(FileNotFoundError):
                return file.stat().st_mtime
        return 0.0

    @contextlib.contextmanager
    def leased(self, *, alone: bool) -> Iterator[IO[str] | None]:
        """The lease, shared or alone; None when somebody has it in a way that rules this out."""
        with _shared(self.lease) as file:
            try:
                fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except OSError:
                yield None
            else:
                yield file

    def in_use(self) -> bool:
        """Whether a job or a copy has the lease."""
        with self.leased(alone=True) as lease:
            return lease is None


class Journal:
    """Files of a data set that are whole, by path.

    Args:
        slot: the data set.
        source: where it comes from.

    Raises:
        NodeError: the data set comes from elsewhere.
    """

    def __init__(self, slot: Slot, source: str) -> None:
        self._slot = slot
        header, self._known = read(slot.journal)
        if header and header["source"] != source:
            raise NodeError(f"{slot.target} holds {header['source']}; evict it first, or give another folder")
        self._fresh: list[Any] = [] if header else [{"schema": 1, "source": source}]

    def stands(self, entry: Entry) -> bool:
        """Whether the file is at its place as it was copied, and the source has not changed since."""
        known = self._known.get(entry.path)
        if known is None or known[:2] != [entry.size, entry.version]:
            return False
        return bool(known[2] == _stamp(self._slot.target / entry.path))

    def add(self, entry: Entry, how: str) -> None:
        """Note a file that is whole at its place; `how` that was found out."""
        stamp = _stamp(self._slot.target / entry.path)
        self._known[entry.path] = [entry.size, entry.version, stamp, how]
        self._fresh.append([entry.path, entry.size, entry.version, stamp, how])

    def write(self) -> None:
        """Put new lines on disk, after the files they speak of."""
        if all(isinstance(line, dict) for line in self._fresh):
            return  # a data set that was refused leaves nothing
        if self._slot.target.exists():
            _sync(self._slot.target)
        lines = [json.dumps(line) for line in self._fresh]
        with self._slot.journal.open("a", encoding="utf-8") as file:
            # A line that a kill cut off ends here; it is left out when the journal is read.
            file.write("\n" + "\n".join(lines) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._fresh.clear()


def read(file: Path) -> tuple[dict[str, Any] | None, dict[str, list[Any]]]:
    """Header of a journal, and what it knows by path; lines that were cut off are left out."""
    header, known = None, {}
    for line in read_text(file, "").splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            header = header or found
        elif isinstance(found, list) and found:
            known[found[0]] = found[1:]
    return header, known


def _shared(path: Path) -> IO[str]:
    """A file for locks that every user of the node may take, in a folder to which every user may add."""
    if not path.parent.exists():
        path.parent.mkdir(parents=True)
        path.parent.chmod(0o1777)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    if os.fstat(handle).st_uid == os.geteuid():
        os.fchmod(handle, 0o666)
    return os.fdopen(handle, "a")


def _stamp(path: Path) -> int:
    try:
        found = path.lstat()
    except OSError:
        return 0
    return found.st_mtime_ns


def _sync(folder: Path) -> None:
    """Put the data of one file system on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        ctypes.CDLL(None).syncfs(handle)
    finally:
        os.close(handle)


def slots(folder: Path) -> list[Slot]:
    """The data sets that were staged directly below a folder."""
    shelf = folder / FOLDER
    names = [file.name[: -len(_JOURNAL)] for file in shelf.glob(f"*{_JOURNAL}")] if shelf.is_dir() else []
    return [Slot(folder / name) for name in sorted(names)]


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[bool]:
    """One copy or eviction at a time below a folder: two could each find room for themselves, and not for both.

    Yields:
        Whether another one was waited for.
    """
    shelf = folder / FOLDER
    with _shared(shelf / "lock") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            waited = False
        except OSError:
            fcntl.flock(file, fcntl.LOCK_EX)
            waited = True
        for trash in shelf.glob(f"{_TRASH}*"):
            shutil.rmtree(trash, ignore_errors=True)
        yield waited


def discard(slot: Slot) -> None:
    """Take a data set away: in one step out of its place, so that a kill leaves it whole or gone."""
    trash = slot.shelf / f"{_TRASH}{slot.target.name}-{time.time_ns()}"
    with contextlib.suppress(FileNotFoundError):
        slot.target.rename(trash)
    slot.journal.unlink(missing_ok=True)
    shutil.rmtree(slot.partial, ignore_errors=True)
    shutil.rmtree(trash, ignore_errors=True)
