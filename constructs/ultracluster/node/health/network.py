"""Losses on the network since the last look: counters of EFA in sysfs, of ENA through ethtool."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import NodeError, efa
from ..files import read_text, write_atomically
from ..results import Result, UnreadableError, Verdicts

if TYPE_CHECKING:
    from ..host import Node

__all__ = ["checks", "parse_statistics"]

# Counters and this file both begin anew at a reboot.
STATE = "/run/ultracluster/network.json"
_LINE = re.compile(r"^\s+([^:\s][^:]*):\s*(\d+)\s*$", re.MULTILINE)

Counters = dict[str, int]


def checks(node: Node, verdicts: Verdicts) -> Iterator[Result]:
    """One result: what was lost since the last look; the first look finds nothing.

    Args:
        node: the node.
        verdicts: makes the result.
    """
    names = node.facts["health"]["network_counters"]
    try:
        now = {**_efa(node, names["efa"]), **_ena(node, names["ena"])}
    except UnreadableError as error:
        yield verdicts.unknown("network", str(error))
        return
    except NodeError as error:
        yield verdicts.failed("network", "network", f"losses are not seen: {error}")
        return
    before = _before(node)
    lost = {key: count - before[key] for key, count in now.items() if key in before and count > before[key]}
    try:
        write_atomically(node.path(STATE), json.dumps(now) + "\n")
    except OSError as error:
        yield verdicts.failed("network", "network", f"losses are not seen: {error}")
        return
    if lost:
        shown = ", ".join(f"{key} +{count}" for key, count in sorted(lost.items()))
        yield verdicts.failed("network", "network", f"since the last look: {shown}", lost)
    else:
        yield verdicts.passed("network", f"no losses on {len({key.split('/')[0] for key in now})} interfaces")


def _efa(node: Node, names: Sequence[str]) -> Counters:
    found = {}
    for device in efa.devices(node):
        folder = node.path(f"/sys/class/infiniband/{device}/ports/1/hw_counters")
        for name in names:
            text = read_text(folder / name, "").strip()
            if text.isdigit():
                found[f"{device}/{name}"] = int(text)
    return found


def _ena(node: Node, names: Sequence[str]) -> Counters:
    found = {}
    for interface in _interfaces(node):
        shown = parse_statistics(node.run("ethtool", "-S", interface, timeout=20).stdout)
        found.update({f"{interface}/{name}": shown[name] for name in names if name in shown})
    return found


def _interfaces(node: Node) -> list[str]:
    folder = node.path("/sys/class/net")
    listed = sorted(folder.iterdir()) if folder.is_dir() else []
    return [each.name for each in listed if _driver(each) == "ena"]


def _driver(interface: Path) -> str:
    try:
        return (interface / "device/driver").readlink().name
    except OSError:
        return ""  # no hardware


def parse_statistics(text: str) -> Mapping[str, int]:
    """Counters of `ethtool -S`.

    Raises:
        UnreadableError: it lists none.
    """
    found = {name: int(count) for name, count in _LINE.findall(text)}
    if not found:
        raise UnreadableError("the output of ethtool lists no counters")
    return found


def _before(node: Node) -> Counters:
    try:
        found = json.loads(read_text(node.path(STATE), "{}"))
    except ValueError:
        return {}
    pairs = found.items() if isinstance(found, dict) else ()
    return {key: count for key, count in pairs if isinstance(count, int)}
