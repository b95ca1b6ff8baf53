"""Where data sets come from: S3 through a transfer tool, or a folder such as one on Lustre."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Protocol
from urllib.parse import urlsplit

from ..host import Node, NodeError
from . import checksum, tools
from .shelf import Entry

_COPIES = 16  # files at a time: enough for a parallel file system, whose latency is the limit
_CHUNK = 4 << 20


class Source(Protocol):
    """A data set somewhere else."""

    def entries(self) -> list[Entry]:
        """Its files."""

    def fetch(self, entries: Sequence[Entry], folder: Path, lease: IO[str]) -> Iterator[tuple[Entry, str]]:
        """Bring files into a folder; yields each with why it failed, or nothing when it came."""

    def check(self, entry: Entry, path: Path) -> str:
        """How it was found out that a copy is whole; empty when it is not, or cannot be told."""


def source(node: Node, text: str) -> Source:
    """The data set that a text names: `s3://bucket/prefix`, or a folder.

    Raises:
        NodeError: it is neither.
    """
    if text.startswith("s3://"):
        parts = urlsplit(text, allow_fragments=False)
        if not parts.netloc or set("*?") & set(text):
            raise NodeError(f"{text} names no data set; give s3://BUCKET/PREFIX without patterns")
        return Bucket(tools.chosen(node), parts.netloc, parts.path.strip("/"))
    folder = Path(text)
    if not folder.is_absolute() or not folder.is_dir():
        raise NodeError(f"{text} is no folder; give s3://BUCKET/PREFIX or the absolute path of a folder")
    return Folder(folder)


def _safe(entries: list[Entry]) -> list[Entry]:
    """Entries whose paths can stand side by side below one folder.

    Raises:
        NodeError: a path leads out of it, cannot be a file name, or is a file and a folder at once.
    """
    known = {entry.path for entry in entries}
    for entry in entries:
        parts = entry.path.split("/")
        if {"", ".", ".."} & set(parts) or any(ord(letter) < ord(" ") for letter in entry.path):
            raise NodeError(f"{entry.source!r} cannot be a file below a folder; leave it out of the data set")
        above = next((prefix for end in range(1, len(parts)) if (prefix := "/".join(parts[:end])) in known), None)
        if above:
            raise NodeError(f"{entry.source!r} lies below {above!r}, which is a file as well; rename one of them")
    return entries


class Bucket:
    """Objects below a prefix, or one object.

    Args:
        tool: the transfer tool.
        bucket: name of the bucket.
        prefix: without slashes at its ends; empty for the whole bucket.
    """

    def __init__(self, tool: tools.Tool, bucket: str, prefix: str) -> None:
        self._tool, self._bucket, self._prefix = tool, bucket, prefix

    def entries(self) -> list[Entry]:
        """Its files, whose paths can stand below one folder."""
        below = f"{self._prefix}/" if self._prefix else ""
        found = self._tool.listed(self._bucket, below)
        if not found and self._prefix:
            below = self._prefix[: self._prefix.rfind("/") + 1]
            found = [row for row in self._tool.listed(self._bucket, self._prefix) if row[0] == self._prefix]
        if not found:
            raise NodeError(f"s3://{self._bucket}/{self._prefix} has no objects; look at the prefix")
        rows = [Entry(key[len(below) :], size, etag, f"s3://{self._bucket}/{key}") for key, size, etag in found]
        return _safe(rows)

    def fetch(self, entries: Sequence[Entry], folder: Path, lease: IO[str]) -> Iterator[tuple[Entry, str]]:
        """Bring files into a folder."""
        # Nothing has to be brought for these, and some releases of the CRT fail at it.
        for entry in entries:
            if not entry.size:
                path = folder / entry.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
                yield entry, ""
        with_content = [entry for entry in entries if entry.size]
        if with_content:
            yield from self._tool.fetch(with_content, folder, lease)

    def check(self, entry: Entry, path: Path) -> str:
        """How it was found out that a copy is whole."""
        if checksum.matches_etag(path, entry.size, entry.version):
            return checksum.ETAG
        key = entry.source[len(f"s3://{self._bucket}/") :]
        return checksum.SIZE if self._tool.encrypted_by_key(self._bucket, key) else ""


class Folder:
    """Files below a folder.

    Args:
        root: the folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._sums: dict[str, str] = {}

    def entries(self) -> list[Entry]:
        """Its files, whose paths can stand below one folder."""
        found = []
        for parent, folders, names in os.walk(self._root):
            folders.sort()
            for name in sorted(names):
                path = Path(parent, name)
                status = path.stat()  # of what a link points to: a link may lead out of the data set
                if stat.S_ISREG(status.st_mode):
                    below = path.relative_to(self._root).as_posix()
                    found.append(Entry(below, status.st_size, str(status.st_mtime_ns), str(path)))
        if not found:
            raise NodeError(f"{self._root} has no files; look at the path")
        return _safe(found)

    def fetch(self, entries: Sequence[Entry], folder: Path, lease: IO[str]) -> Iterator[tuple[Entry, str]]:
        """Bring files into a folder."""
        del lease  # this program copies by itself: the lease ends with it
        with ThreadPoolExecutor(_COPIES) as pool:
            yield from zip(entries, pool.map(lambda entry: self._copy(entry, folder / entry.path), entries))

    def _copy(self, entry: Entry, target: Path) -> str:
        hasher = hashlib.sha256()
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with Path(entry.source).open("rb") as reader, target.open("wb") as writer:
                while chunk := reader.read(_CHUNK):
                    hasher.update(chunk)
                    writer.write(chunk)
            shutil.copymode(entry.source, target)
        except OSError as error:
            return error.strerror or str(error)
        self._sums[entry.path] = hasher.hexdigest()
        return ""

    def check(self, entry: Entry, path: Path) -> str:
        """Against what was read from the source; a copy that an earlier run left says nothing of the source."""
        read = self._sums.get(entry.path)
        return checksum.SHA256 if read and read == checksum.sha256(path) else ""
