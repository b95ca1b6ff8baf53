"""EFA on this node: devices against the catalogue, versions, the environment of jobs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .. import NodeError
from ..results import FAIL, UNKNOWN, Result, Verdicts
from .devices import Devices, cards_without, found_devices
from .software import found_versions, least_versions, plugin_files, too_old
from .variables import harmful, write

if TYPE_CHECKING:
    import argparse

    from ..host import Node

__all__ = ["SUMMARY", "arguments", "check", "run", "write_environment"]

SUMMARY = "count EFA devices against the catalogue, check versions, write the environment of jobs"


class _TooFewError(NodeError):
    """Not yet as many devices as there should be."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the program."""
    parser.add_argument("--write-environment", action="store_true", help="also write the variables that jobs need")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to print the results")


def run(args: argparse.Namespace, node: Node) -> int:
    """Print what was found; 1 when something is missing, old, harmful or unknown."""
    if args.write_environment:
        write_environment(node)
    results = check(node)
    if args.format == "json":
        print(json.dumps([asdict(result) for result in results], indent=2))
    else:
        for result in results:
            print(f"{result.status:<8}{result.check}: {result.message}")
    return int(any(result.status in (FAIL, UNKNOWN) for result in results))


def write_environment(node: Node) -> None:
    """Write the few variables that jobs on such a node need, and nothing else.

    Raises:
        NodeError: a file cannot be written.
    """
    for line in write(node):
        node.say(line)


def check(node: Node) -> list[Result]:
    """What is right and wrong with the fabric of this node.

    Raises:
        NodeError: the type of the node is not known.
    """
    kind, verdicts = node.instance_type(), Verdicts(node.facts["health"])
    if not kind.get("efa"):
        return [verdicts.skipped("efa", f"{kind['name']} has no EFA in this fleet")]
    return [_devices(node, kind, verdicts), _software(node, kind, verdicts), _variables(node, verdicts)]


def _devices(node: Node, kind: Mapping[str, Any], verdicts: Verdicts) -> Result:
    wanted = int(kind["efa"])
    looks = node.facts["health"]["limits"]["efa_looks"]
    seen: list[Devices] = []
    try:
        node.retry(looks["value"], looks["pause_s"], lambda: _look(node, wanted, seen))
    except _TooFewError:
        pass
    except NodeError as error:
        return verdicts.unknown("efa", str(error))
    devices = seen[-1]
    have = len(devices.names)
    how = "" if devices.source == "fi_info" else "; counted in sysfs, because fi_info is not on this node"
    value = {"have": have, "want": wanted, "source": devices.source}
    if have >= wanted:
        return verdicts.passed("efa", f"{have} of {wanted} EFA devices{how}", value)
    lack = _where(node, kind, devices.names, wanted)
    return verdicts.failed("efa", "efa", f"{kind['name']} shows {have} of {wanted} EFA devices; {lack}{how}", value)


def _look(node: Node, wanted: int, seen: list[Devices]) -> None:
    seen.append(found_devices(node))
    if len(seen[-1].names) < wanted:
        raise _TooFewError(f"{len(seen[-1].names)} of {wanted} EFA devices")


def _where(node: Node, kind: Mapping[str, Any], names: tuple[str, ...], wanted: int) -> str:
    """Which cards lack a device, as far as it can be known."""
    if not names:
        return "no card has one: the launch template attaches no EFA interface, or the efa kernel module is not loaded"
    cards = tuple(kind.get("efa_cards") or ())
    lacking = cards_without(node, names, cards) if len(cards) == wanted else ()
    if not lacking:
        return f"{_cards(wanted - len(names))} has none, and it cannot be told which"
    return f"no device on network card {', '.join(map(str, lacking))}"


def _cards(count: int) -> str:
    return "one of the cards" if count == 1 else f"each of {count} cards"


def _software(node: Node, kind: Mapping[str, Any], verdicts: Verdicts) -> Result:
    vendor, family = str(kind.get("vendor", "")), str(kind["name"]).partition(".")[0]
    found = found_versions(node, vendor=vendor)
    least = least_versions(node.facts["fabric"]["software"], family)
    if vendor != "nvidia":
        least = {key: version for key, version in least.items() if key not in {"plugin", "driver"}}
    wrong = too_old(found, least)
    several = plugin_files(node) if vendor == "nvidia" else ()
    if len(several) > 1:
        wrong.append(f"aws-ofi-nccl is here more than once ({', '.join(map(str, several))}): leave the installer's")
    if wrong:
        return verdicts.failed("fabric_software", "fabric_software", "; ".join(wrong), found)
    shown = ", ".join(f"{key} {version}" for key, version in found.items())
    return verdicts.passed("fabric_software", shown or "nothing is asked for", found)


def _variables(node: Node, verdicts: Verdicts) -> Result:
    try:
        found = harmful(node)
    except NodeError as error:
        return verdicts.unknown("environment", str(error))
    if found:
        return verdicts.failed("environment", "environment", "; ".join(found), found)
    return verdicts.passed("environment", "no variable that costs the fabric")
