"""Local NVMe disks as one file system at `/scratch`, at every boot: after a stop and start they come back empty."""

from __future__ import annotations

import argparse
import json
import os
import stat
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from ..files import locked
from ..host import Node, NodeError
from ..imds import ImdsError
from ..mountinfo import Mount, mounted_at
from . import parse, runtimes
from .array import CHUNK_KIB, LEVEL, check_stripes, first_bytes, prepared
from .disks import FILESYSTEM, MEMBER, NAME, Disk, instance_store, refuse, survey

__all__ = ["PATH", "SUMMARY", "Scratch", "arguments", "ensure", "run", "status"]

SUMMARY = "make one file system of the local NVMe disks, mount it at /scratch, hand it to container runtimes"

PATH = "/scratch"
MODE = 0o1777  # as /tmp: every user writes, nobody deletes another's files
_LOCK = "/run/ultracluster/scratch.lock"
# The Deep Learning AMI stripes and mounts the disks by itself.
_IMAGE_SERVICE, _IMAGE_PATH = "dlami-nvme.service", "/opt/dlami/nvme"
_IMAGE_WAIT_S, _IMAGE_PAUSE_S = 120, 5
# Where scratch comes from.
RAID, DISK, IMAGE, ROOT, STANDING, OFF = "raid0", "disk", "dlami", "root", "standing", "off"


@dataclass(frozen=True)
class Scratch:
    """What stands at `/scratch`.

    Attributes:
        path: where.
        source: `raid0` or `disk` (ours), `dlami` (the image's own), `root` (no local disks: a folder on the root
            volume), `standing` (somebody else's mount, left alone) or `off`.
        device: what is mounted there.
        disks: names of the disks that our array or file system is on.
        chunk_kib: stripe unit of the array; 0 without one.
        size_bytes: of the file system.
        free_bytes: of the file system.
        runtimes: data root by container runtime.
    """

    path: str
    source: str
    device: str = ""
    disks: tuple[str, ...] = ()
    chunk_kib: int = 0
    size_bytes: int = 0
    free_bytes: int = 0
    runtimes: dict[str, str] = field(default_factory=dict)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the program."""
    parser.add_argument("--status", action="store_true", help="print what stands, change nothing")


def run(args: argparse.Namespace, node: Node) -> int:
    """Make or describe scratch; prints it as JSON."""
    found = status(node) if args.status else ensure(node)
    print(json.dumps(asdict(found), sort_keys=True))
    return 0


def ensure(node: Node) -> Scratch:
    """Scratch stands and container runtimes keep their data there; a second call changes nothing.

    Raises:
        NodeError: it cannot be made of all disks that the instance type has.
    """
    if not node.settings.get("scratch", True):
        return Scratch(PATH, OFF)
    with locked(node.path(_LOCK)):
        if mounted_at(node, PATH) is None:
            _mount(node)
        found = status(node)
        if found.source == STANDING:
            node.say(f"{found.device} is mounted at {PATH} already; it is left alone")
            return found
        folder = node.path(PATH)
        if stat.S_IMODE(folder.stat().st_mode) != MODE:
            folder.chmod(MODE)
        moved = {} if found.source == ROOT else runtimes.hand_over(node, PATH)
        return replace(found, runtimes=moved)


def status(node: Node) -> Scratch:
    """What stands at `/scratch`, without changing anything."""
    mount = mounted_at(node, PATH)
    folder = node.path(PATH)
    if not folder.is_dir():
        return Scratch(PATH, OFF)
    usage = os.statvfs(folder)
    source, disks = (ROOT, ()) if mount is None else _origin(node, mount)
    return Scratch(
        path=PATH,
        source=source,
        device=mount.source if mount else "",
        disks=disks,
        chunk_kib=CHUNK_KIB if source == RAID else 0,
        size_bytes=usage.f_blocks * usage.f_frsize,
        free_bytes=usage.f_bavail * usage.f_frsize,
    )


def _origin(node: Node, mount: Mount) -> tuple[str, tuple[str, ...]]:
    image = mounted_at(node, _IMAGE_PATH)
    if image and image.source == mount.source:
        return IMAGE, ()
    device = Path(mount.source)
    if mount.source in instance_store(node) and _is_ours(device):
        return DISK, (device.name,)
    if device.name.startswith("md") or device.parent.name == "md":
        found = parse.array(node.run("mdadm", "--detail", device).stdout)
        if found.name == NAME:
            return RAID, tuple(Path(member).name for member in found.members)
    return STANDING, ()


def _is_ours(device: Path) -> bool:
    found = parse.superblock(first_bytes(str(device)))
    return found is not None and found.label == NAME


def _mount(node: Node) -> None:
    folder = node.path(PATH)
    folder.mkdir(parents=True, exist_ok=True)
    if _image_mounts(node):
        node.run("mount", "--bind", node.path(_IMAGE_PATH), folder)
        return
    paths = instance_store(node)
    disks = survey(node, paths)
    _complete(node, disks)
    if not disks:
        node.say(f"no instance store: {PATH} is a folder on the root volume")
        return
    refuse(disks)
    device = prepared(node, disks)
    node.run("mount", "-t", "xfs", "-o", "noatime", device, folder, timeout=120)
    if len(disks) > 1:
        check_stripes(node, str(folder), len(disks))
    node.say(f"{PATH}: {f'{len(disks)} disks, {LEVEL}' if len(disks) > 1 else 'one disk'}")


def _complete(node: Node, disks: list[Disk]) -> None:
    try:
        record = node.instance_type()
    except ImdsError:
        # After a reboot the disks themselves say whether all are there: an array with fewer does not start.
        if any(disk.state in (MEMBER, FILESYSTEM) for disk in disks):
            return
        raise
    wanted = record.get("scratch_disks", 0)
    if len(disks) < wanted:
        raise NodeError(
            f"{record['name']} shows {len(disks)} of {wanted} instance store disks; replace the instance, "
            "no smaller array is made"
        )


def _image_mounts(node: Node) -> bool:
    """Whether the image has mounted the disks by its own service, which is waited for and never raced."""
    if not node.has("systemctl") or node.run("systemctl", "is-enabled", "-q", _IMAGE_SERVICE, check=False).status:
        return False
    for _ in range(_IMAGE_WAIT_S // _IMAGE_PAUSE_S):
        if mounted_at(node, _IMAGE_PATH):
            return True
        node.sleep(_IMAGE_PAUSE_S)
    if node.run("systemctl", "is-active", _IMAGE_SERVICE, check=False).stdout.strip() == "activating":
        raise NodeError(f"{_IMAGE_SERVICE} is still at work after {_IMAGE_WAIT_S} s; look at its journal")
    node.say(f"{_IMAGE_SERVICE} mounted nothing at {_IMAGE_PATH} within {_IMAGE_WAIT_S} s; using the disks ourselves")
    return False
