"""Health of this node: light checks in seconds, deep ones in minutes to hours, and measures after a fault."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .. import NodeError
from ..files import locked, write_atomically
from ..results import Report, Result, Verdicts

if TYPE_CHECKING:
    import argparse

    from ..host import Node

__all__ = ["SUMMARY", "arguments", "deep", "light", "run"]

SUMMARY = "check accelerators, fabric, disks and clock; drain or give up the node on demand"

REPORT = "/run/ultracluster/health.json"
TEXTFILE = "/var/lib/node_exporter/textfile/ultracluster.prom"
_USAGE = 2


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the program."""
    from . import act

    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--light", action="store_true", help="checks that take seconds and disturb no job (default)")
    depth.add_argument(
        "--deep", action="store_true", help="also diagnostics, collectives and EFA loopback; no job may run"
    )
    parser.add_argument("--level", type=int, choices=(1, 2, 3, 4), help="of DCGM's diagnostics, with --deep")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to print the report")
    parser.add_argument(
        "--textfile", metavar="FILE", default=TEXTFILE, help=f"metrics ('' for none; default: {TEXTFILE})"
    )
    more = parser.add_subparsers(dest="what", metavar="{act,judge}")
    act.arguments(more.add_parser("act", help="take measures after a fault that the last report has"))
    judging = more.add_parser("judge", help="hold the output of a collective over several nodes to its floor")
    judging.add_argument("file", help="output of nccl-tests; `-` for standard input")
    judging.add_argument("--nodes", type=int, required=True, help="number of nodes that took part")
    judging.add_argument("--collective", choices=("all_reduce", "alltoall"), default="all_reduce", help="which it was")


def run(args: argparse.Namespace, node: Node) -> int:
    """Check and report; 1 for any fault or anything unknown."""
    if args.what == "act":
        from . import act

        return act.run(args, node, REPORT)
    if args.what == "judge":
        return _judge(args, node)
    report = deep(node, level=args.level) if args.deep else light(node)
    from .output import text

    print(report.json() if args.format == "json" else text(report), end="", flush=True)
    _keep(node, report, args.textfile)
    return report.status


def light(node: Node) -> Report:
    """Everything that can be looked at within seconds and while a job runs.

    Raises:
        NodeError: the type of the node is not known.
    """
    return _report(node, lambda: _light(node))


def deep(node: Node, *, level: int | None = None) -> Report:
    """The light checks, then those that need the node for themselves.

    Args:
        node: the node.
        level: of DCGM's diagnostics; that of the facts by default.

    Raises:
        NodeError: the type of the node is not known.
    """
    return _report(node, lambda: _deep(node, level or node.facts["health"]["dcgm"]["default_level"]))


def _light(node: Node) -> Iterator[Result]:
    from .. import fabric
    from . import network, neuron, nvidia, system

    kind, verdicts = node.instance_type(), Verdicts(node.facts["health"])
    if not kind.get("accelerators"):
        yield verdicts.skipped("accelerators", f"{kind['name']} has none")
    elif kind.get("vendor") == "nvidia":
        yield from nvidia.checks(node, kind, verdicts)
    else:
        yield from neuron.checks(node, kind, verdicts)
    yield from fabric.check(node)
    yield from network.checks(node, verdicts)
    yield from system.checks(node, kind, verdicts)


def _deep(node: Node, level: int) -> Iterator[Result]:
    from . import exclusive

    yield from _light(node)
    yield from exclusive.checks(node, node.instance_type(), Verdicts(node.facts["health"]), level)


def _report(node: Node, look: Callable[[], Iterator[Result]]) -> Report:
    from .history import LOCK, History

    facts = node.facts["health"]
    subject = {"instance": node.imds.require("instance-id"), "type": node.instance_type()["name"]}
    results = tuple(look())
    try:
        with locked(node.path(LOCK)):
            history = History(node, subject["instance"])
            results = history.escalated(results, facts)
            history.write()
    except (OSError, NodeError) as error:
        # What was found counts all the same; only what was seen before is not known.
        results = (*results, Verdicts(facts).failed("history", "history", f"earlier faults are not known: {error}"))
    return Report(results, tuple(facts["actions"]), facts["unfit_from"], subject)


def _keep(node: Node, report: Report, textfile: str) -> None:
    """Leave the report where measures and collectors find it."""
    from .output import metrics

    try:
        write_atomically(node.path(REPORT), report.json())
        if textfile:
            write_atomically(node.path(textfile), metrics(report, now=time.time()))
    except OSError as error:
        raise NodeError(f"the report cannot be written ({error}); make room or give another path") from error


def _judge(args: argparse.Namespace, node: Node) -> int:
    from pathlib import Path

    from .collectives import judge, parse_nccl

    if args.nodes < 1:
        node.say(f"--nodes {args.nodes}; give the number of nodes that took part")
        return _USAGE
    try:
        said = sys.stdin.read() if args.file == "-" else Path(args.file).read_text(errors="replace")
    except OSError as error:
        raise NodeError(f"{args.file} cannot be read ({error}); give the output of nccl-tests") from error
    result = judge(
        parse_nccl(said),
        collective=args.collective,
        nodes=args.nodes,
        kind=node.instance_type(),
        facts=node.facts["collectives"],
        verdicts=Verdicts(node.facts["health"]),
    )
    print(f"{result.status}: {result.message}")
    return int(result.status != "pass")
