"""Bring files of an S3-linked Lustre file system in before a job reads them: `lfs hsm_restore` over all released files.

The file system itself remembers what is in: a run that was stopped, or is run twice, asks only for what is missing.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from ..host import Node, NodeError

_BATCH = 64  # paths of one lfs call
_CALLS = 8  # lfs calls at a time
_POLL_S, _TELL_S = 2.0, 10.0
_ATTEMPTS, _PAUSE_S = 3, 10.0  # a request that has just been made may not be shown yet
_CALL_S = 300


@dataclass
class Summary:
    """What came of it.

    Attributes:
        files: regular files that were looked at.
        resident: of these, files whose data was in the file system already.
        restored: files that came in now.
        restored_bytes: their size.
        failed: reason by file that did not come in.
    """

    files: int = 0
    resident: int = 0
    restored: int = 0
    restored_bytes: int = 0
    failed: dict[str, str] = field(default_factory=dict)


@dataclass
class _Flight:
    """A file that was asked for."""

    size: int
    attempts: int = 1
    again_at: float = 0.0
    why: str = "still released"


def states(text: str) -> dict[str, frozenset[str]]:
    """Flags by path in `lfs hsm_state` output: `/a: (0x0000000d) released exists archived, archive_id:1`."""
    found = {}
    for line in text.splitlines():
        path, separator, rest = line.rpartition(": (0x")
        if separator:
            found[path] = frozenset(rest.partition(")")[2].partition(",")[0].split())
    return found


def actions(text: str) -> dict[str, str]:
    """What is under way by path in `lfs hsm_action` output; `/a: RESTORE running (...)`, or NOOP."""
    found = {}
    for line in text.splitlines():
        path, separator, rest = line.rpartition(": ")
        if separator and rest.strip():
            found[path] = rest.split()[0]
    return found


class Hydration:
    """One run over a folder.

    Args:
        node: the node.
        in_flight: files that are asked for at a time.
        stall_s: give up when no file came in for so long.
    """

    def __init__(self, node: Node, *, in_flight: int = 256, stall_s: float = 1800) -> None:
        self._node, self._in_flight, self._stall_s = node, in_flight, stall_s
        self._flying: dict[str, _Flight] = {}
        self.summary = Summary()

    def run(self, path: str) -> Summary:
        """Bring in everything below a path, or one file.

        Raises:
            NodeError: `lfs` is missing or the path is.
        """
        root = self._node.path(path)
        if not root.exists():
            raise NodeError(f"{path} does not exist; give a file or folder on Lustre")
        with ThreadPoolExecutor(_CALLS) as pool:
            missing = self._missing(pool, _files(str(root)))
            moved = told = self._node.clock()
            while True:
                self._ask(pool, list(itertools.islice(missing, self._in_flight - len(self._flying))))
                if not self._flying:
                    break
                self._node.sleep(_POLL_S)
                now = self._node.clock()
                if self._collect(pool):
                    moved = now
                if now - moved > self._stall_s:
                    self._give_up(f"nothing came in for {self._stall_s:g} s")
                if now - told >= _TELL_S:
                    self._tell()
                    told = now
        self._tell()
        return self.summary

    def _missing(self, pool: ThreadPoolExecutor, paths: Iterable[str]) -> Iterator[tuple[str, int]]:
        """Released files, looked up some calls ahead of their use."""
        for window in _batches(paths, _BATCH * _CALLS):
            known = self._states(pool, window)
            for path in window:
                self.summary.files += 1
                flags = known.get(path)
                if flags is None:
                    self.summary.failed[path] = "lfs hsm_state says nothing of it"
                elif "released" not in flags:
                    self.summary.resident += 1
                elif "lost_from_hsm" in flags:
                    self.summary.failed[path] = "its object is no longer in S3"
                else:
                    found = _status(path)
                    yield path, found.st_size if found else 0

    def _ask(self, pool: ThreadPoolExecutor, wanted: list[tuple[str, int]]) -> None:
        self._flying.update({path: _Flight(size) for path, size in wanted})
        self._restore(pool, [path for path, _ in wanted])

    def _restore(self, pool: ThreadPoolExecutor, paths: list[str]) -> None:
        batches = list(_batches(paths, _BATCH))
        for batch, complaint in zip(batches, pool.map(self._restore_batch, batches)):
            for path in batch:
                self._flying[path].why = complaint or "still released"
                self._flying[path].again_at = self._node.clock() + _PAUSE_S * self._flying[path].attempts

    def _restore_batch(self, batch: list[str]) -> str:
        try:
            done = self._node.run("lfs", "hsm_restore", *batch, timeout=_CALL_S, check=False)
        except NodeError as error:
            return str(error)
        return (done.stderr.strip().splitlines() or ["lfs hsm_restore failed"])[-1] if done.status else ""

    def _collect(self, pool: ThreadPoolExecutor) -> int:
        """Files that are no longer under way: in, asked for again, or given up. Their number that came in."""
        busy = {path for path, action in self._actions(pool).items() if action == "RESTORE"}
        idle = [path for path in self._flying if path not in busy]
        known = self._states(pool, idle)
        again, came = [], 0
        for path in idle:
            flight = self._flying[path]
            if path in known and "released" not in known[path]:
                self.summary.restored += 1
                self.summary.restored_bytes += flight.size
                came += 1
                del self._flying[path]
            elif self._node.clock() < flight.again_at:
                continue
            elif flight.attempts >= _ATTEMPTS:
                self.summary.failed[path] = f"{flight.why} after {_ATTEMPTS} attempts"
                del self._flying[path]
            else:
                flight.attempts += 1
                again.append(path)
        self._restore(pool, again)
        return came

    def _give_up(self, why: str) -> None:
        self.summary.failed.update(dict.fromkeys(self._flying, why))
        self._flying.clear()

    def _states(self, pool: ThreadPoolExecutor, paths: list[str]) -> Mapping[str, frozenset[str]]:
        return states("\n".join(pool.map(lambda batch: self._lfs("hsm_state", batch), _batches(paths, _BATCH))))

    def _actions(self, pool: ThreadPoolExecutor) -> Mapping[str, str]:
        batches = _batches(list(self._flying), _BATCH)
        return actions("\n".join(pool.map(lambda batch: self._lfs("hsm_action", batch), batches)))

    def _lfs(self, verb: str, paths: list[str]) -> str:
        return self._node.run("lfs", verb, *paths, timeout=_CALL_S, check=False).stdout

    def _tell(self) -> None:
        done = self.summary
        self._node.say(
            f"{done.restored} of {done.restored + len(self._flying)} files restored "
            f"({done.restored_bytes / 1e9:.1f} GB), {done.resident} of {done.files} were there, "
            f"{len(done.failed)} failed"
        )


def _files(root: str) -> Iterator[str]:
    """Regular files, without those whose name has a line break: the tools could not name them."""
    if not Path(root).is_dir():
        yield root
    for parent, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = f"{parent}/{name}"
            if "\n" not in path and (found := _status(path)) and stat.S_ISREG(found.st_mode):
                yield path


def _status(path: str) -> os.stat_result | None:
    try:
        return Path(path).lstat()
    except OSError:
        return None  # it was taken away meanwhile


def _batches(items: Iterable[str], size: int) -> Iterator[list[str]]:
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
