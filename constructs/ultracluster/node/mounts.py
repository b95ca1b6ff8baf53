"""Shared file systems: a line in fstab, a mount with retries, and what Lustre needs before and after it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from . import lustre
from .files import locked, read_text, write_atomically
from .host import Node, NodeError
from .lustre import lnet, tuning
from .mountinfo import Mount, mounted_at
from .packages import install

__all__ = ["SUMMARY", "arguments", "ensure", "fstab", "run"]

SUMMARY = "mount the shared file systems of this node, with retries"

_FSTAB = "/etc/fstab"
# Ordered after our boot unit, which brings up LNet; a node whose server is away still boots, and says so.
_ORDER = ("x-systemd.requires=ultracluster-node.service", "nofail")
_MOUNT_S = 60
# A server that is being replaced is back within minutes; a route or a group that is missing does not come at all.
_PAUSES_S = (2, 4, 8, 15, 15, 30, 30, 30, 30)
_HINTS = {
    "lustre": "TCP 988 and 1018-1023 have to be open to and from the file system by security group, in the same zone",
    "efs": "TCP 2049 has to be open to the mount target of this zone by security group",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """The program has no options: what is mounted stands in the settings."""
    parser.epilog = "The file systems are those under `mounts` in /etc/ultracluster/node.json."


def run(args: argparse.Namespace, node: Node) -> int:
    """Mount all of them."""
    del args
    ensure(node)
    return 0


def ensure(node: Node, *, kinds: Sequence[str] = ("lustre", "efs")) -> None:
    """Every shared file system of the settings is mounted, tuned, and reached the way it is to be; at every boot.

    Args:
        node: the node.
        kinds: only these.

    Raises:
        NodeError: one cannot be mounted, or is reached over TCP although it is to be reached over EFA.
    """
    wanted = [mount for mount in node.settings.get("mounts", []) if mount["kind"] in kinds]
    if any(mount["kind"] == "lustre" for mount in wanted):
        lustre.tune_before_mount(node)
        lustre.configure_efa(node)
        node.run("modprobe", "lustre")
    if any(mount["kind"] == "efs" for mount in wanted) and not node.has("mount.efs"):
        install(node, "amazon-efs-utils")
    for mount in wanted:
        _ensure(node, mount)


def _ensure(node: Node, mount: dict[str, Any]) -> None:
    path, source = mount["path"], mount["source"]
    standing = mounted_at(node, path)
    if standing and not _is(mount, standing):
        raise NodeError(f"{standing.source} ({standing.kind}) is mounted at {path}; unmount it, or mount elsewhere")
    node.path(path).mkdir(parents=True, exist_ok=True)
    if _write_fstab(node, mount) and node.has("systemctl"):
        node.run("systemctl", "daemon-reload", check=False)
    if not standing:
        _mounted(node, mount)
        node.say(f"mounted {path} from {source}")
    if mount["kind"] == "lustre":
        if mount.get("efa"):
            moved = lnet.verify(node, path)
            node.say(f"{path} is reached over EFA: {moved['sent']} messages sent, {moved['received']} received")
        tuning.after_mount(node, mount)


def _is(mount: dict[str, Any], standing: Mount) -> bool:
    """Whether what stands is what is wanted. Servers have other names there: addresses, or this node for TLS."""
    if mount["kind"] == "efs":
        return standing.kind in ("efs", "nfs4")
    names = tuning.file_system(mount["source"]), standing.source.partition(":/")[2].split("/")[0]
    return standing.kind == "lustre" and names[0] == names[1]


def _mounted(node: Node, mount: dict[str, Any]) -> None:
    for pause in (*_PAUSES_S, 0):
        error = _attempt(node, mount["path"])
        if error is None:
            return
        if pause:
            node.sleep(pause)
        else:
            why = f"{mount['path']} cannot be mounted from {mount['source']} ({error}); {_HINTS[mount['kind']]}"
            raise NodeError(why) from error


def _attempt(node: Node, path: str) -> NodeError | None:
    try:
        node.run("mount", node.path(path), timeout=_MOUNT_S)
    except NodeError as error:
        return None if mounted_at(node, path) else error  # systemd can be faster
    return None


def _write_fstab(node: Node, mount: dict[str, Any]) -> bool:
    """Put the line in; False when it stood there."""
    file = node.path(_FSTAB)
    options = ",".join([mount["options"], *_ORDER])
    line = " ".join([_quoted(mount["source"]), _quoted(mount["path"]), mount["kind"], options, "0", "0"])
    with locked(node.path("/run/ultracluster/fstab.lock")):
        before = read_text(file, "")
        after = fstab(before, line)
        if after == before:
            return False
        write_atomically(file, after)
    return True


def fstab(text: str, line: str) -> str:
    """A fstab with a line in it: in place of the one that has the same path, or at the end."""
    path = line.split()[1]
    lines = text.splitlines()
    at = [index for index, entry in enumerate(lines) if _path(entry) == path]
    kept = [entry for index, entry in enumerate(lines) if index not in at[1:]]
    if at:
        kept[at[0]] = line
    else:
        kept.append(line)
    return "\n".join(kept) + "\n"


def _path(entry: str) -> str:
    fields = entry.split()
    return fields[1] if len(fields) > 1 and not fields[0].startswith("#") else ""


def _quoted(text: str) -> str:
    return text.replace("\\", "\\134").replace(" ", "\\040").replace("\t", "\\011")
