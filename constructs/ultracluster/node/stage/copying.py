"""One copy of a data set: plan, room, transfer, check, and every file at its place only when it is whole."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ..host import Node, NodeError
from . import checksum
from .shelf import Entry, Journal, Slot
from .sources import Source
from .units import shown

RESERVE = 0.05  # of the file system: XFS slows down and splits files when it is nearly full
_BLOCK = 4096
_CHECKS = 8
_ROUNDS = 3
_TELL_S, _WRITE_EVERY = 10.0, 500


@dataclass
class Outcome:
    """What came of it.

    Attributes:
        files: of the data set.
        size_bytes: of the data set.
        stood: files that were at their place already.
        copied: files that came now.
        copied_bytes: their size.
        checked: number of the files that came, by how they were checked.
        failed: reason by file that did not come.
    """

    files: int = 0
    size_bytes: int = 0
    stood: int = 0
    copied: int = 0
    copied_bytes: int = 0
    checked: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


class Copy:
    """One run.

    Args:
        node: the node.
        slot: where the data set goes.
        source: where it comes from.
        journal: what is whole already.
        sums: SHA-256 by path, of a list that the user has.
    """

    def __init__(
        self, node: Node, slot: Slot, source: Source, journal: Journal, *, sums: Mapping[str, str] | None = None
    ) -> None:
        self._node, self._slot, self._source, self._journal = node, slot, source, journal
        self._sums = sums or {}
        self.outcome = Outcome()

    def run(self, *, max_size: int | None = None, reserve: int | None = None) -> Outcome:
        """Copy what is missing.

        Args:
            max_size: refuse a larger data set, in bytes.
            reserve: bytes of the file system that stay free; 5 % of it by default.

        Raises:
            NodeError: it does not fit, or a job uses the data set that would be changed.
        """
        entries = self._source.entries()
        done = self.outcome
        done.files, done.size_bytes = len(entries), sum(entry.size for entry in entries)
        if max_size is not None and done.size_bytes > max_size:
            raise NodeError(f"the data set has {shown(done.size_bytes)}, more than --max-size {shown(max_size)}")
        missing = self._missing(entries)
        done.stood = len(entries) - len(missing)
        if missing:
            with self._slot.leased(alone=True) as lease:
                if lease is None:
                    raise NodeError(
                        f"{self._slot.target} is in use and would be changed; wait for the job that reads it"
                    )
                missing = self._resumed(missing)
                self._room(missing, reserve)
                self._bring(missing, lease)
        self._slot.touch()
        return done

    def _missing(self, entries: Sequence[Entry]) -> list[Entry]:
        """Files that have to come. One that is there without a line in the journal stays when its checksum agrees."""
        unknown = [entry for entry in entries if not self._journal.stands(entry)]
        with ThreadPoolExecutor(_CHECKS) as pool:
            adopted = list(pool.map(lambda entry: self._adopted(entry, self._slot.target), unknown))
        for entry, how in zip(unknown, adopted):
            if how:
                self._journal.add(entry, how)
        self._journal.write()
        return [entry for entry, how in zip(unknown, adopted) if not how]

    def _resumed(self, missing: Sequence[Entry]) -> list[Entry]:
        """Files that still have to come, after those that a killed run had brought but not yet put in their places."""
        if not self._slot.partial.exists():
            return list(missing)
        with ThreadPoolExecutor(_CHECKS) as pool:
            whole = list(pool.map(lambda entry: self._adopted(entry, self._slot.partial), missing))
        for entry, how in zip(missing, whole):
            if how:
                self._put(entry)
                self._journal.add(entry, how)
                self.outcome.stood += 1
        self._journal.write()
        shutil.rmtree(self._slot.partial, ignore_errors=True)
        return [entry for entry, how in zip(missing, whole) if not how]

    def _adopted(self, entry: Entry, folder: Path) -> str:
        path = folder / entry.path
        if not path.is_file() or path.is_symlink() or path.stat().st_size != entry.size:
            return ""
        how = self._checked(entry, path)
        return how if how != checksum.SIZE else ""

    def _room(self, missing: Sequence[Entry], reserve: int | None) -> None:
        above = next(folder for folder in (self._slot.target, *self._slot.target.parents) if folder.exists())
        usage = os.statvfs(above)
        free = usage.f_bavail * usage.f_frsize
        kept = int(usage.f_blocks * usage.f_frsize * RESERVE) if reserve is None else reserve
        need = sum(-(-entry.size // _BLOCK) * _BLOCK for entry in missing)
        if need > free - kept:
            raise NodeError(
                f"{shown(need)} do not fit: {shown(free)} are free on {above} and {shown(kept)} of them stay so; "
                "make room with `stage evict`"
            )

    def _bring(self, missing: list[Entry], lease: IO[str]) -> None:
        for _ in range(_ROUNDS):
            failed = self._round(missing, lease)
            missing = [entry for entry in missing if entry.path in failed]
            self.outcome.failed = failed
            if not missing:
                break
        shutil.rmtree(self._slot.partial, ignore_errors=True)

    def _round(self, missing: Sequence[Entry], lease: IO[str]) -> dict[str, str]:
        shutil.rmtree(self._slot.partial, ignore_errors=True)  # what an earlier round left half done
        self._slot.partial.mkdir(parents=True, exist_ok=True)
        failed: dict[str, str] = {}
        checks: list[tuple[Entry, Future[str]]] = []
        with ThreadPoolExecutor(_CHECKS) as pool, self._progress():
            try:
                for entry, why in self._source.fetch(missing, self._slot.partial, lease):
                    if why:
                        failed[entry.path] = why
                    else:
                        checks.append((entry, pool.submit(self._placed, entry)))
                    if len(checks) >= _WRITE_EVERY:
                        self._settle(checks, failed)
            finally:
                self._settle(checks, failed)
        return failed

    def _settle(self, checks: list[tuple[Entry, Future[str]]], failed: dict[str, str]) -> None:
        """Take in the results of checks, and put them into the journal."""
        counted = Counter(self.outcome.checked)
        for entry, check in checks:
            how = check.result()
            if not how:
                failed[entry.path] = "the copy differs from the source"
                continue
            self._journal.add(entry, how)
            counted[how] += 1
            self.outcome.copied += 1
            self.outcome.copied_bytes += entry.size
        self.outcome.checked = dict(counted)
        checks.clear()
        self._journal.write()

    def _placed(self, entry: Entry) -> str:
        """Move a file to its place once it is whole; empty when it is not."""
        how = self._checked(entry, self._slot.partial / entry.path)
        if how:
            self._put(entry)
        return how

    def _put(self, entry: Entry) -> None:
        place = self._slot.target / entry.path
        place.parent.mkdir(parents=True, exist_ok=True)
        (self._slot.partial / entry.path).replace(place)

    def _checked(self, entry: Entry, path: Path) -> str:
        if not path.is_file() or path.stat().st_size != entry.size:
            return ""
        wanted = self._sums.get(entry.path)
        if wanted is not None:
            return checksum.SHA256 if checksum.sha256(path) == wanted else ""
        return self._source.check(entry, path)

    @contextlib.contextmanager
    def _progress(self) -> Iterator[None]:
        """Tell every few seconds how far the copy is, also while one large file is on its way."""
        ended = threading.Event()
        began = self._node.clock()

        def tell() -> None:
            while not ended.wait(_TELL_S):
                came = self.outcome.copied_bytes + _allocated(self._slot.partial)
                rate = came / max(self._node.clock() - began, 1)
                self._node.say(
                    f"{shown(came)} of {shown(self.outcome.size_bytes)}, {self.outcome.copied + self.outcome.stood} of "
                    f"{self.outcome.files} files, {shown(rate)}/s"
                )

        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        try:
            yield
        finally:
            ended.set()
            teller.join()


def _allocated(folder: Path) -> int:
    """Bytes that are on disk below a folder; files that are being written have holes."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(parent, name).stat().st_blocks * 512
    return total
