"""LNet over EFA: set up at every boot before the first mount, and proved by its counters after it.

TCP stays beside it for the servers that answer there first. A client whose EFA does not work mounts over TCP without a
word, at a fraction of the speed: so what counts is whether messages went over EFA.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import efa
from ..host import Node, NodeError

_PROBE_BYTES = 16 << 20  # several requests, whatever their size
_BLOCK = 512  # unit of st_blocks
_LOOKED_AT = 200  # entries that are looked at for a file to read


@dataclass(frozen=True)
class Interface:
    """A local network interface of LNet.

    Attributes:
        net: `tcp`, `efa`, ...
        nid: its address in LNet.
        status: `up` or `down`.
        devices: what it stands on.
        sent: messages since it came up.
        received: messages since it came up.
    """

    net: str
    nid: str
    status: str
    devices: tuple[str, ...]
    sent: int
    received: int


def interfaces(text: str) -> list[Interface]:
    """The interfaces in `lnetctl net show -v` output, which is YAML of a fixed shape."""
    found: list[dict[str, Any]] = []
    net, inside = "", ""
    for line in text.splitlines():
        key, _, value = line.strip().removeprefix("- ").partition(":")
        value = value.strip()
        if key == "net type":
            net = value
        elif key == "nid":
            found.append({"net": net, "nid": value, "status": "", "devices": [], "sent": 0, "received": 0})
        elif found:
            if not value:
                inside = key
            _note(found[-1], inside, key, value)
    return [Interface(**{**entry, "devices": tuple(entry["devices"])}) for entry in found]


def _note(entry: dict[str, Any], inside: str, key: str, value: str) -> None:
    if key == "status" and not entry["status"]:
        entry["status"] = value
    elif inside == "interfaces" and key.isdigit():
        entry["devices"].append(value)
    elif inside == "statistics" and key in ("send_count", "recv_count"):
        entry["sent" if key == "send_count" else "received"] = int(value)


def wanted(node: Node) -> bool:
    """Whether a file system of this node is to be reached over EFA."""
    return any(mount.get("efa") for mount in node.settings.get("mounts", []))


def configure(node: Node) -> None:
    """Put LNet on EFA and TCP; nothing when it stands on EFA already, by us or by the image's own service.

    Raises:
        NodeError: the type has no EFA for Lustre, or the image no driver for it.
    """
    if not wanted(node) or (node.has("lnetctl") and _shown(node, "--net", "efa")):
        return
    chosen = spread(efa.devices(node), _number(node))
    facts = node.facts["lustre"]["efa"]
    link = _link(node, facts["interface_probe"])
    node.run("modprobe", "lnet")
    try:
        node.run("modprobe", "kefalnd", f"ipif_name={link}")
    except NodeError as error:
        raise NodeError(f"the Lustre client of this image has no EFA driver (kefalnd): {error}") from error
    node.run("modprobe", "ksocklnd")
    node.run("lnetctl", "lnet", "configure")
    node.run("lnetctl", "net", "del", "--net", "tcp", check=False)
    node.run("lnetctl", "net", "add", "--net", "tcp", "--if", link)
    for device in chosen:
        node.run("lnetctl", "net", "add", "--net", "efa", "--if", device, "--peer-credits", str(facts["peer_credits"]))
    node.run("lnetctl", "set", "discovery", "1")
    node.run("lnetctl", "udsp", "add", "--src", "efa", "--priority", "0")
    node.say(f"LNet over EFA: {' '.join(chosen)}")


def spread(devices: list[str], number: int) -> list[str]:
    """So many of the devices, evenly over all of them, so that they sit on different cards; 0 takes all."""
    if number <= 0 or number >= len(devices):
        return devices
    return [devices[index * len(devices) // number] for index in range(number)]


def _number(node: Node) -> int:
    record = node.instance_type()
    number = record.get("lustre_efa")
    if number is None:
        raise NodeError(f"{record['name']} cannot be an EFA client of Lustre; mount without EFA")
    if not efa.devices(node):
        raise NodeError(f"{record['name']} shows no EFA device for the EFA-enabled Lustre file system")
    return int(number)


def _link(node: Node, address: str) -> str:
    found = re.search(r"\bdev (\S+)", node.run("ip", "-o", "route", "get", address).stdout)
    if not found:
        raise NodeError(f"there is no route to {address}; LNet needs the IP interface of the node")
    return found.group(1)


def _shown(node: Node, *options: str) -> list[Interface]:
    return interfaces(node.run("lnetctl", "net", "show", *options, check=False).stdout)


def verify(node: Node, path: str) -> dict[str, int]:
    """Data read from a mount, and answers of its servers, came over EFA.

    Args:
        node: the node.
        path: where the file system is mounted.

    Returns:
        Messages sent and received over EFA meanwhile, and interfaces that took part.

    Raises:
        NodeError: the counters of the EFA network did not move, or most went over TCP.
        ToolMissing: there is no client to ask.
    """
    before = {entry.nid: entry for entry in _shown(node, "-v")}
    _exercise(node, path)
    moved = [_growth(before.get(entry.nid), entry) for entry in _shown(node, "-v")]
    over_efa, over_tcp = ([entry for entry in moved if entry.net == net] for net in ("efa", "tcp"))
    sent, received = sum(entry.sent for entry in over_efa), sum(entry.received for entry in over_efa)
    others = sum(entry.sent + entry.received for entry in over_tcp)
    only_efa = all(mount.get("efa") for mount in node.settings.get("mounts", []) if mount["kind"] == "lustre")
    if not sent or not received or (only_efa and others > sent + received):
        raise NodeError(
            f"{path} is not reached over EFA (messages sent {sent}, received {received}; over TCP {others}); file "
            "system and node have to allow all traffic to each other by security group, in one zone"
        )
    return {"sent": sent, "received": received, "interfaces": sum(1 for entry in over_efa if entry.received)}


def _growth(before: Interface | None, now: Interface) -> Interface:
    if before is None:
        return now
    counts = (now.sent - before.sent, now.received - before.received)
    return Interface(now.net, now.nid, now.status, now.devices, *counts)


def _exercise(node: Node, path: str) -> None:
    """Have every server answer, and move data that no cache has; nothing is written.

    A file of our own would be exported to S3 where the file system is linked, and a released one brought in from there
    by being read: so only a file whose data is in the file system is read.
    """
    node.run("lfs", "df", node.path(path))
    for file in _files(node.path(path)):
        found = _status(file)
        if found and found.st_size and found.st_blocks * _BLOCK >= min(found.st_size, _PROBE_BYTES) / 2:
            with contextlib.suppress(OSError):
                _read(file)
                return


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _read(path: Path) -> None:
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.read(_PROBE_BYTES)


def _files(folder: Path) -> Iterator[Path]:
    """Some of the files below a folder; a large one is not read to its end."""
    for entry in itertools.islice(_entries(folder), _LOOKED_AT):
        if entry.is_file(follow_symlinks=False):
            yield Path(entry.path)


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    waiting = [str(folder)]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as found:
            for entry in found:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
