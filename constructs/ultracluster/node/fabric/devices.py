"""EFA devices: how many libfabric sees, and which network card has none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import NodeError, efa
from ..files import read_text
from ..host import ToolMissing
from ..results import UnreadableError

if TYPE_CHECKING:
    from ..host import Node

__all__ = ["Devices", "cards_without", "found_devices", "mac_of_gid", "parse_domains"]

_NO_DATA = re.compile(r"fi_getinfo: -61\b")
_FIELDS = re.compile(r"^\s*(provider|fabric|domain|version|type|protocol):\s*(\S+)\s*$", re.MULTILINE)
_GID = re.compile(r"fe80(?::0{1,4}){3}((?::[0-9a-f]{1,4}){4})", re.IGNORECASE)


@dataclass(frozen=True)
class Devices:
    """EFA devices that can carry traffic.

    Attributes:
        names: of the devices, sorted.
        source: who counted them: `fi_info`, or `sysfs` where libfabric is not on the host.
    """

    names: tuple[str, ...]
    source: str


def found_devices(node: Node) -> Devices:
    """The devices that libfabric sees; what the kernel shows where libfabric is not on the host.

    Raises:
        NodeError: libfabric is there and does not tell.
    """
    try:
        done = node.run("fi_info", "-p", "efa", "-t", "FI_EP_RDM", check=False, timeout=30)
    except ToolMissing:
        return Devices(tuple(efa.devices(node)), "sysfs")
    if done.status == 0:
        return Devices(parse_domains(done.stdout), "fi_info")
    if _NO_DATA.search(done.stdout + done.stderr):
        return Devices((), "fi_info")
    said = ([line for line in (done.stderr or done.stdout).splitlines() if line.strip()] or ["no message"])[-1]
    raise NodeError(f"fi_info ended with status {done.status}: {said.strip()}")


def parse_domains(text: str) -> tuple[str, ...]:
    """Devices behind the `-rdm` domains of the provider efa; a device with several fabrics counts once.

    Raises:
        UnreadableError: the output ends within an entry.
    """
    entries: list[dict[str, str]] = []
    for key, value in _FIELDS.findall(text):
        if key == "provider" or not entries:
            entries.append({})
        entries[-1][key] = value
    if any({"provider", "domain", "type", "protocol"} - set(entry) for entry in entries):
        raise UnreadableError("fi_info's output is cut off")
    domains = {
        entry["domain"]
        for entry in entries
        if entry["provider"] == "efa" and entry["type"] == "FI_EP_RDM" and entry["domain"].endswith("-rdm")
    }
    return tuple(sorted(domain[: -len("-rdm")] for domain in domains))


def mac_of_gid(gid: str) -> str | None:
    """The hardware address that a device's first GID is made of; None when it is made of something else."""
    found = _GID.fullmatch(gid.strip())
    if found is None:
        return None
    digits = "".join(part.zfill(4) for part in found[1].lower().strip(":").split(":"))
    if digits[6:10] != "fffe":
        return None
    octets = [digits[i : i + 2] for i in (0, 2, 4, 10, 12, 14)]
    return ":".join([f"{int(octets[0], 16) ^ 2:02x}", *octets[1:]])


def cards_without(node: Node, names: Iterable[str], wanted: Iterable[int]) -> tuple[int, ...]:
    """Network cards that should have an EFA device and have none.

    The card of a device follows from its hardware address, which the metadata service lists with the card. Where one
    device cannot be placed that way, or the metadata service does not answer, nothing is known and nothing is said.

    Args:
        node: the node.
        names: of the devices that are there.
        wanted: cards that should have one.
    """
    try:
        cards = _cards_by_mac(node)
    except NodeError:
        return ()
    used = [cards.get(_mac(node, name) or "") for name in names]
    if None in used:
        return ()
    return tuple(sorted(set(wanted) - set(used)))


def _mac(node: Node, name: str) -> str | None:
    return mac_of_gid(read_text(node.path(f"/sys/class/infiniband/{name}/ports/1/gids/0"), ""))


def _cards_by_mac(node: Node) -> Mapping[str, Any]:
    folder = "network/interfaces/macs/"
    cards = {}
    for line in (node.imds.get(folder) or "").split():
        mac = line.strip("/")
        card = node.imds.get(f"{folder}{mac}/network-card")
        # Types with one card do not list its number.
        cards[mac.lower()] = int(card) if card and card.strip().isdigit() else 0
    return cards
