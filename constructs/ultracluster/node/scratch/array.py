"""The device that scratch stands on: one disk, or an array over all of them, and the file system on it.

What was written is read back from the disks at every start, so that a run that was killed at any point is carried on:
an array that is only part made is made again, and a file system counts as made when its superblock says that mkfs.xfs
came to its end and its UUID is the one of the array it stands on (an array made anew can show an older one's remains).
"""

from __future__ import annotations

from pathlib import Path

from ..host import Node, NodeError
from ..packages import install
from . import parse
from .disks import EMPTY, FILESYSTEM, MEMBER, NAME, NOTHING_FOUND, Disk

DEVICE = f"/dev/md/{NAME}"
LEVEL = "raid0"
# The largest stripe unit that the log of XFS takes as well; large enough for whole requests to go to one disk.
CHUNK_KIB = 256
_MAKE_S = 300


def prepared(node: Node, disks: list[Disk]) -> str:
    """The device with a complete file system on it, over all of the given disks, which are all free or ours.

    Raises:
        NodeError: it cannot be made, or stands but cannot be used.
    """
    if len(disks) == 1:
        return _single(node, disks[0])
    _tool(node, "mdadm", "mdadm")
    device, made = _array(node, disks)
    found = parse.array(node.run("mdadm", "--detail", device).stdout)
    if (found.name, found.level, found.devices, found.chunk_kib) != (NAME, LEVEL, len(disks), CHUNK_KIB):
        raise NodeError(
            f"{device} is {found.name or 'an array'}: {found.level} over {found.devices} disks in chunks of "
            f"{found.chunk_kib} KiB; scratch is {LEVEL} over {len(disks)} in chunks of {CHUNK_KIB} KiB"
        )
    _file_system(node, device, uuid=found.uuid, disks=len(disks), known=made)
    return device


def check_stripes(node: Node, path: str, disks: int) -> None:
    """The file system spreads over the disks as the array does.

    Raises:
        NodeError: it does not.
    """
    found = parse.geometry(node.run("xfs_info", path).stdout)
    if found != parse.Geometry(CHUNK_KIB, CHUNK_KIB * disks):
        raise NodeError(
            f"xfs on {path} has stripes of {found.unit_kib} KiB over {found.width_kib} KiB; "
            f"the array has {CHUNK_KIB} KiB over {CHUNK_KIB * disks} KiB"
        )


def _single(node: Node, disk: Disk) -> str:
    if disk.state == MEMBER:
        raise NodeError(f"{disk.name} {disk.what} whose other disks are missing; replace the instance")
    _file_system(node, disk.path, uuid="", disks=1, known=disk.state in (EMPTY, FILESYSTEM))
    return disk.path


def _array(node: Node, disks: list[Disk]) -> tuple[str, bool]:
    """The running array, and whether it was made now."""
    members = [disk for disk in disks if disk.state == MEMBER]
    labelled = [disk for disk in disks if disk.state == FILESYSTEM]
    if labelled:
        raise NodeError(f"{labelled[0].name} {labelled[0].what} although there are {len(disks)} disks; wipe it")
    if len(members) == len(disks) and len({disk.array for disk in members}) == 1:
        return _assembled(node, disks), False
    if members:
        node.say(f"the array is incomplete ({len(members)} of {len(disks)} disks): its data is lost, making a new one")
        _stop(node, members)
        node.run("mdadm", "--zero-superblock", *(disk.path for disk in members))
    return _created(node, disks), True


def _assembled(node: Node, disks: list[Disk]) -> str:
    running = next((block.path for block in disks[0].devices if block.kind == LEVEL), None)
    if running:
        return running
    _stop(node, disks)  # what udev began with fewer disks
    digits = disks[0].array
    uuid = ":".join(digits[start : start + 8] for start in range(0, len(digits), 8))
    device = str(node.path(DEVICE))
    node.run("mdadm", "--assemble", device, f"--uuid={uuid}", *(disk.path for disk in disks), timeout=_MAKE_S)
    return _named(node, device)


def _named(node: Node, device: str) -> str:
    """The device, once udev has given it its name, which mdadm does not always wait for."""
    if node.has("udevadm"):
        node.run("udevadm", "settle", "--timeout=30", check=False)
    return device


def _created(node: Node, disks: list[Disk]) -> str:
    device = str(node.path(DEVICE))
    # "any" makes the name valid on every host: the host name of an instance changes.
    shape = (f"--level={LEVEL[4:]}", f"--chunk={CHUNK_KIB}", f"--raid-devices={len(disks)}")
    name = ("--homehost=any", f"--name={NAME}", "--run", "--quiet")
    paths = [disk.path for disk in disks]
    done = node.run("mdadm", "--create", device, *name, *shape, *paths, timeout=_MAKE_S, check=False)
    if done.status:
        # What mdadm says last are guesses at the kernel; the disk that it failed on stands before.
        said = done.stderr.splitlines() or [f"mdadm ended with status {done.status}"]
        why = next((line for line in said if any(f"{path} " in f"{line} " for path in paths)), said[-1])
        raise NodeError(f"no array over {' '.join(disk.name for disk in disks)}: {why}")
    return _named(node, device)


def _stop(node: Node, disks: list[Disk]) -> None:
    for path in sorted({block.path for disk in disks for block in disk.devices}):
        node.run("mdadm", "--stop", path)


def _file_system(node: Node, device: str, *, uuid: str, disks: int, known: bool) -> None:
    """Make the file system unless it stands.

    Args:
        node: the node.
        device: what it goes on.
        uuid: of the array, which the file system shares; empty on a single disk.
        disks: number of disks.
        known: whether whatever is on the device may be overwritten unless it is our complete file system.
    """
    found = parse.superblock(first_bytes(device))
    ours = found is not None and found.label == NAME
    if found and ours and found.complete and (not uuid or found.uuid == uuid):
        return
    if not ours and not known:
        probe = node.run("blkid", "-p", "-o", "export", device, check=False)
        if probe.status != NOTHING_FOUND:
            content = parse.signature(probe.stdout).get("TYPE", "something")
            raise NodeError(f"{device} carries {content} that is not ours; wipe it, or mount it elsewhere")
    _make(node, device, uuid, disks)


def _make(node: Node, device: str, uuid: str, disks: int) -> None:
    _tool(node, "mkfs.xfs", "xfsprogs")
    # -f: what may stand there was judged before. -K: trimming tens of terabytes takes minutes, and empty disks are
    # trimmed already. Stripes are given, not found out: some kernels hide them behind the array.
    shape = ("-d", f"su={CHUNK_KIB}k,sw={disks}") if disks > 1 else ()
    identity = ("-m", f"uuid={_dashed(uuid)}") if uuid else ()
    node.run("mkfs.xfs", "-q", "-f", "-K", "-L", NAME, *identity, *shape, device, timeout=_MAKE_S)


def first_bytes(device: str) -> bytes:
    """Where a file system says what it is.

    Raises:
        NodeError: the device cannot be read.
    """
    try:
        with Path(device).open("rb") as file:
            return file.read(parse.SUPERBLOCK_BYTES)
    except OSError as error:
        raise NodeError(f"{device} cannot be read: {error.strerror}; replace the instance") from error


def _dashed(digits: str) -> str:
    parts = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
    return "-".join(digits[start:end] for start, end in parts)


def _tool(node: Node, tool: str, package: str) -> None:
    if not node.has(tool):
        install(node, package)
