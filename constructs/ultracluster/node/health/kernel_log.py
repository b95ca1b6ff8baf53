"""Faults of GPUs and NVSwitches in the kernel's messages of this boot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import NodeError
from .nvidia_smi import place

if TYPE_CHECKING:
    from ..host import Node

__all__ = ["Event", "kernel_messages", "parse_events", "recovery_of"]

_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+)(?:, (.*))?$")
_SXID = re.compile(r"nvidia-nvswitch(\d+): SXid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+), Fatal, (.*)$")
_RECOVERY = re.compile(r"\bto 0x([0-9a-fA-F]+) \(([^)]*)\)")
# A line of the journal, or of the ring buffer: without one of them nothing was read.
_KERNEL = re.compile(r"^\S+ \S+ kernel: |^(?:<\d+>)?\[ *\d+\.\d+\]", re.MULTILINE)
_SOURCES = (
    ("journalctl", "-k", "-b", "-q", "-o", "short-iso", "--no-pager"),
    ("dmesg",),
)


@dataclass(frozen=True)
class Event:
    """One kind of message about one part.

    Attributes:
        number: of the XID, or of the SXid of a switch.
        place: PCI address of the part.
        text: what the last message of this kind says.
        count: how often it stands in the log.
        switch: whether it is an NVSwitch.
    """

    number: int
    place: str
    text: str
    count: int
    switch: bool = False


def kernel_messages(node: Node) -> str:
    """The kernel's messages of this boot.

    Raises:
        NodeError: neither the journal nor the ring buffer can be read.
    """
    why = []
    for command in _SOURCES:
        try:
            done = node.run(*command, timeout=30)
        except NodeError as error:
            why.append(str(error))
            continue
        if _KERNEL.search(done.stdout):
            return done.stdout
        why.append(f"{command[0]} shows no message of the kernel")
    raise NodeError(f"the kernel log cannot be read ({'; '.join(why)})")


def parse_events(text: str) -> tuple[Event, ...]:
    """XIDs of GPUs and fatal SXids of switches, by part and number, in the order in which they were first seen."""
    found: dict[tuple[bool, str, int], Event] = {}
    for line in text.splitlines():
        event = _event(line)
        if event is not None:
            key = (event.switch, event.place, event.number)
            count = found[key].count + 1 if key in found else 1
            found[key] = Event(event.number, event.place, event.text, count, event.switch)
    return tuple(found.values())


def _event(line: str) -> Event | None:
    if "Xid" not in line:
        return None
    xid = _XID.search(line)
    if xid:
        return Event(int(xid[2]), place(xid[1]), (xid[3] or "").strip(), 1)
    sxid = _SXID.search(line)
    return Event(int(sxid[3]), place(sxid[2]), sxid[4].strip(), 1, switch=True) if sxid else None


def recovery_of(text: str, facts: Mapping[str, Any]) -> str:
    """The action that XID 154 asks for: it carries NVML's code, and words that changed over the releases.

    Args:
        text: of the message.
        facts: `recovery_actions` of the facts.
    """
    found = _RECOVERY.search(text)
    if found is None:
        return str(facts["otherwise"])
    return str(facts["codes"].get(str(int(found[1], 16)), facts["otherwise"]))
