"""Which disks are local to the instance, and what is on each of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..files import read_text
from ..host import Node, NodeError
from . import parse

# By model: EBS volumes are NVMe devices too, and the order of the names changes from boot to boot.
MODEL = "Amazon EC2 NVMe Instance Storage"
NAME = "ultracluster"  # of the array, and label of the file system: what marks them as ours (XFS takes 12 characters)

EMPTY, MEMBER, FILESYSTEM, FOREIGN, BAD = "empty", "member", "filesystem", "foreign", "bad"
NOTHING_FOUND, _SEVERAL_FOUND = 2, 8  # statuses of blkid
_READ = 4096


@dataclass(frozen=True)
class Disk:
    """One instance store disk.

    Attributes:
        path: its device file.
        state: `empty`; `member` of our array; our `filesystem`; `foreign`; `bad`.
        what: what is on it, for a message.
        array: UUID of the array it belongs to.
        devices: arrays that stand on it now, running or not.
    """

    path: str
    state: str
    what: str = ""
    array: str = ""
    devices: tuple[parse.Block, ...] = ()

    @property
    def name(self) -> str:
        """Its name as people say it."""
        return Path(self.path).name


def instance_store(node: Node) -> list[str]:
    """Device files of the instance store disks, by number."""
    folder = node.path("/sys/block")
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    found = [name for name in names if read_text(folder / name / "device/model", "").strip() == MODEL]
    return [str(node.path(f"/dev/{name}")) for name in sorted(found, key=_numbers)]


def _numbers(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name)]


def survey(node: Node, paths: list[str]) -> list[Disk]:
    """What is on each disk."""
    if not paths:
        return []
    if node.has("udevadm"):
        node.run("udevadm", "settle", "--timeout=30", check=False)  # arrays that udev assembles at this moment
    listed = parse.blocks(node.run("lsblk", "-J", "-o", "NAME,PATH,TYPE,MOUNTPOINT", *paths).stdout)
    by_path = {block.path: block for block in listed}
    return [_surveyed(node, path, by_path.get(path)) for path in paths]


def _surveyed(node: Node, path: str, block: parse.Block | None) -> Disk:
    if block is None:
        return Disk(path, BAD, "is not shown by lsblk")
    error = unreadable(path)
    if error:
        return Disk(path, BAD, f"cannot be read: {error}")
    used = next((part for part in block.tree() if part.mountpoint), None)
    if used:
        return Disk(path, FOREIGN, f"is in use at {used.mountpoint}")
    strange = next((part for part in block.tree() if part is not block and not _is_array(part)), None)
    if strange:
        return Disk(path, FOREIGN, f"carries {strange.kind} {Path(strange.path).name}")
    return _signed(node, path, tuple(block.children))


def _is_array(block: parse.Block) -> bool:
    return block.kind == "md" or block.kind.startswith("raid")


def _signed(node: Node, path: str, arrays: tuple[parse.Block, ...]) -> Disk:
    """By its signatures, read from the disk itself: caches lag behind."""
    done = node.run("blkid", "-p", "-o", "export", path, check=False)
    if done.status == NOTHING_FOUND:
        return Disk(path, FOREIGN, "is part of an array without a signature") if arrays else Disk(path, EMPTY)
    if done.status == _SEVERAL_FOUND:
        return Disk(path, FOREIGN, "carries several signatures")
    if done.status:
        return Disk(path, BAD, f"cannot be read: blkid ended with status {done.status}")
    found = parse.signature(done.stdout)
    kind, label = found.get("TYPE", ""), found.get("LABEL", "")
    if kind == "linux_raid_member" and label.rpartition(":")[2] == NAME:
        return Disk(path, MEMBER, f"is part of array {label}", parse.same_uuid(found.get("UUID", "")), arrays)
    if kind == "xfs" and label == NAME and not arrays:
        return Disk(path, FILESYSTEM, "carries our file system")
    table = f"a {found['PTTYPE']} partition table" if "PTTYPE" in found else "an unknown signature"
    return Disk(path, FOREIGN, f"carries {kind} {label}".rstrip() if kind else f"carries {table}")


def unreadable(path: str) -> str:
    """Why a device cannot be read at its two ends; empty when it can."""
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            size = os.lseek(handle, 0, os.SEEK_END)
            for offset in (0, max(size - _READ, 0)):
                # Not out of memory: pages that were read before the disk went bad would hide it.
                os.posix_fadvise(handle, offset, _READ, os.POSIX_FADV_DONTNEED)
                os.pread(handle, _READ, offset)
        finally:
            os.close(handle)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def refuse(disks: list[Disk]) -> None:
    """Nothing is made of some of the disks.

    Raises:
        NodeError: a disk is bad, or is somebody else's; one line with all of them.
    """
    for state, advice in (
        (BAD, "replace the instance; no smaller array is made"),
        (FOREIGN, "it is left alone and no smaller array is made: free it, or switch scratch off for this fleet"),
    ):
        wrong = [disk for disk in disks if disk.state == state]
        if wrong:
            raise NodeError(f"{', '.join(_lines(wrong))}; {advice}")


def _lines(disks: list[Disk]) -> Iterator[str]:
    """`nvme1n1 and nvme2n1 carry ...`: disks with the same fault together."""
    grouped: dict[str, list[str]] = {}
    for disk in disks:
        grouped.setdefault(disk.what, []).append(disk.name)
    for what, names in grouped.items():
        yield f"{' '.join(names)} {what}"
