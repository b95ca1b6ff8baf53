"""Whether a copy is what the source has.

Objects: S3's ETag is the MD5 of an object, or of the MD5s of its parts, unless the object is encrypted with a key of
KMS. It comes with the listing, so checking against it costs no request and reads the copy once; MD5 is no matter of
security here, it has to catch bits that turned. Sizes of parts are not listed: the usual ones are tried, all in one
pass. What has no such ETag is checked by its size, or by the SHA-256 that a list of the user has for it.

Files: SHA-256 while the source is read, and again of the copy.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..files import read_text
from ..host import NodeError

_CHUNK = 1 << 20
_MIB = 1 << 20
# Defaults of the AWS SDKs and tools, of s5cmd and of rclone, and the powers of two between them.
_USUAL_MIB = (5, 8, 15, 16, 25, 32, 50, 64, 100, 128, 200, 256, 500, 512, 1000, 1024)
_FEW = 8
ETAG, SHA256, SIZE = "etag", "sha256", "size"


def matches_etag(path: Path, size: int, etag: str) -> bool:
    """Whether the content of a file is that of an object with this ETag."""
    found = re.fullmatch(r"([0-9a-f]{32})(?:-(\d+))?", etag.strip('"').lower())
    if not found:
        return False
    wanted, parts = found.group(1), int(found.group(2) or 0)
    if not parts:
        return wanted == _digest(path, hashlib.md5(usedforsecurity=False))
    hashers = [_Parts(part) for part in part_sizes(size, parts)]
    for chunk in _chunks(path):
        for hasher in hashers:
            hasher.update(chunk)
    return any(hasher.result() == (wanted, parts) for hasher in hashers)


def part_sizes(size: int, parts: int) -> list[int]:
    """Sizes of parts that cut so many bytes into so many parts: usual ones, and all whole MiB when they are few."""
    if parts <= 1:
        return [max(size, 1)]
    smallest, largest = -(-size // parts), (size - 1) // (parts - 1)
    whole = range(-(-smallest // _MIB), largest // _MIB + 1)
    chosen = [mib for mib in whole if len(whole) <= _FEW or mib in _USUAL_MIB]
    return [mib * _MIB for mib in chosen]


class _Parts:
    """MD5 of the MD5s of parts."""

    def __init__(self, part: int) -> None:
        self._left = self._part = part
        self._inner = hashlib.md5(usedforsecurity=False)
        self._digests: list[bytes] = []

    def update(self, chunk: bytes) -> None:
        view = memoryview(chunk)
        while view.nbytes:
            taken = view[: self._left]
            self._inner.update(taken)
            self._left -= len(taken)
            view = view[len(taken) :]
            if not self._left:
                self._close()

    def _close(self) -> None:
        self._digests.append(self._inner.digest())
        self._inner, self._left = hashlib.md5(usedforsecurity=False), self._part

    def result(self) -> tuple[str, int]:
        if self._left < self._part:
            self._close()
        return hashlib.md5(b"".join(self._digests), usedforsecurity=False).hexdigest(), len(self._digests)


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    return _digest(path, hashlib.sha256())


def _digest(path: Path, hasher: Any) -> str:  # noqa: ANN401 - the type has no name in Python 3.9
    for chunk in _chunks(path):
        hasher.update(chunk)
    return str(hasher.hexdigest())


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def sums(path: Path) -> dict[str, str]:
    """SHA-256 by path in a file that `sha256sum` wrote.

    Raises:
        NodeError: it is none.
    """
    found = {}
    for number, line in enumerate(read_text(path, "").splitlines(), start=1):
        match = re.fullmatch(r"([0-9a-fA-F]{64})[ *][ *]?(.+)", line)
        if not match:
            raise NodeError(f"{path}:{number} is no line of sha256sum; write the file with it")
        found[match.group(2).removeprefix("./")] = match.group(1).lower()
    if not found:
        raise NodeError(f"{path} has no checksums; write it with sha256sum")
    return found
