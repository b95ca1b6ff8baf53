"""What lsblk, blkid, mdadm and xfs_info print, and what an XFS superblock says."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..host import NodeError

_KIB = 1024
_UNITS = {"K": 1, "M": _KIB, "G": _KIB * _KIB}
_MAGIC = b"XFSB"
# Offsets in the superblock of XFS, which no version has moved.
_UUID, _LABEL, _IN_PROGRESS, SUPERBLOCK_BYTES = slice(32, 48), slice(108, 120), 126, 512


@dataclass(frozen=True)
class Block:
    """A block device as lsblk shows it.

    Attributes:
        path: its device file.
        kind: `disk`, `part`, `raid0`, `md` (an array that does not run), `lvm`, `crypt`, ...
        mountpoint: where it is mounted, `[SWAP]`, or empty.
        children: devices that are built on it.
    """

    path: str
    kind: str
    mountpoint: str
    children: tuple[Block, ...]

    def tree(self) -> Iterator[Block]:
        """The device and everything built on it."""
        yield self
        for child in self.children:
            yield from child.tree()


def blocks(text: str) -> list[Block]:
    """The devices in `lsblk -J` output.

    Raises:
        NodeError: it is not that.
    """
    try:
        return [_block(entry) for entry in json.loads(text)["blockdevices"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NodeError(f"lsblk printed no list of devices ({error}); util-linux 2.33 or later is needed") from error


def _block(entry: dict[str, Any]) -> Block:
    # Releases differ: one mount point, or a list of them that can hold null.
    points = entry.get("mountpoints") or [entry.get("mountpoint")]
    return Block(
        path=entry["path"],
        kind=entry["type"],
        mountpoint=next((point for point in points if point), ""),
        children=tuple(_block(child) for child in entry.get("children") or []),
    )


def signature(text: str) -> dict[str, str]:
    """The values of `blkid -o export` by name; a backslash stands before characters that a shell would take."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: re.sub(r"\\(.)", r"\1", value) for name, separator, value in pairs if separator}


def same_uuid(text: str) -> str:
    """A UUID without what tools put between its digits: mdadm writes colons, blkid dashes."""
    return re.sub(r"[^0-9a-f]", "", text.lower())


@dataclass(frozen=True)
class Array:
    """An array as `mdadm --detail` shows it.

    Attributes:
        name: without the host before it.
        uuid: hexadecimal digits only.
        level: `raid0` and so on.
        devices: number of disks that it is made of.
        chunk_kib: stripe unit; 0 where the level has none.
        members: device files.
    """

    name: str
    uuid: str
    level: str
    devices: int
    chunk_kib: int
    members: tuple[str, ...]


def array(text: str) -> Array:
    """The array in `mdadm --detail` output.

    Raises:
        NodeError: it is not that.
    """
    found = dict(re.findall(r"^\s*([A-Z][A-Za-z ]*?) : (.*?)\s*$", text, re.MULTILINE))
    try:
        return Array(
            name=found.get("Name", "").split(" ")[0].rpartition(":")[2],
            uuid=same_uuid(found["UUID"]),
            level=found["Raid Level"],
            devices=int(found["Raid Devices"]),
            chunk_kib=_kib(found.get("Chunk Size", "0K")),
            members=tuple(re.findall(r"^(?:\s+[\d-]+){4}\s+\S.*?\s(/dev/\S+)\s*$", text, re.MULTILINE)),
        )
    except (KeyError, ValueError) as error:
        raise NodeError(f"mdadm --detail printed no array ({error}); mdadm 4 is needed") from error


def _kib(text: str) -> int:
    return int(text[:-1]) * _UNITS[text[-1]] if text[-1:] in _UNITS else int(text) // _KIB


@dataclass(frozen=True)
class Geometry:
    """Stripes of a file system, in KiB; 0 where it has none.

    Attributes:
        unit_kib: what goes to one disk at a time.
        width_kib: what goes to all disks once.
    """

    unit_kib: int
    width_kib: int


def geometry(text: str) -> Geometry:
    """The stripes in `xfs_info` output.

    Raises:
        NodeError: it is not that.
    """
    found = re.search(r"^data\s*=\s*bsize=(\d+).*\n?.*?\bsunit=(\d+)\s+swidth=(\d+) blks", text, re.MULTILINE)
    if not found:
        raise NodeError("xfs_info printed no data section; xfsprogs 4 or later is needed")
    block, unit, width = (int(number) for number in found.groups())
    return Geometry(unit * block // _KIB, width * block // _KIB)


@dataclass(frozen=True)
class Xfs:
    """A superblock of XFS.

    Attributes:
        label: of the file system.
        uuid: hexadecimal digits.
        complete: False when mkfs.xfs was killed before its end.
    """

    label: str
    uuid: str
    complete: bool


def superblock(data: bytes) -> Xfs | None:
    """The file system whose first bytes these are; None when it is no XFS."""
    if len(data) < SUPERBLOCK_BYTES or not data.startswith(_MAGIC):
        return None
    label = struct.unpack("12s", data[_LABEL])[0].split(b"\0")[0].decode(errors="replace")
    return Xfs(label, data[_UUID].hex(), complete=data[_IN_PROGRESS] == 0)
