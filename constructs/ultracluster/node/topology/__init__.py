"""Where the instances are in the network, for schedulers: Slurm files, Kubernetes labels, the order of ranks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .output import FORMATS, render
from .records import Instance, parse_names, parse_records, with_names
from .tree import Topology, build

if TYPE_CHECKING:
    import argparse

    from ..host import Node

__all__ = ["SUMMARY", "arguments", "arranged", "run", "unplaced_message"]

SUMMARY = "write the network topology of instances for Slurm, Kubernetes or MPI"
_SHOWN = 5


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--records", metavar="FILE", help="answer of DescribeInstanceTopology; `-` for standard input")
    source.add_argument("--live", action="store_true", help="ask EC2 with the role of this instance")
    parser.add_argument("--filter", metavar="NAME=VALUE", action="append", default=[], help="with --live; repeatable")
    parser.add_argument("--names", metavar="FILE", help="names of the instances: JSON, scontrol's output, or lines")
    parser.add_argument("--output", choices=FORMATS, default="tree", help="what to write (default: tree)")
    parser.add_argument("--block-size", type=int, metavar="HOSTS", help="planning size of blocks")
    parser.add_argument("--slots", type=int, help="slots of each host in the host file")


def run(args: argparse.Namespace, node: Node) -> int:
    """Print the topology; instances whose place EC2 does not tell are named on standard error."""
    instances = parse_records(_text(args.records)) if args.records else _live(args.filter, node)
    topology = arranged(instances, _text(args.names) if args.names else "")
    if topology.unplaced:
        node.say(unplaced_message(topology))
    print(render(topology, args.output, base=args.block_size, slots=args.slots), end="")
    return 0


def arranged(instances: tuple[Instance, ...], names: str = "") -> Topology:
    """The topology of instances under the names that a text gives them."""
    return build(with_names(instances, parse_names(names) if names.strip() else {}))


def unplaced_message(topology: Topology) -> str:
    """Which hosts have no known place, in one line."""
    shown = ", ".join(topology.unplaced[:_SHOWN]) + (", ..." if len(topology.unplaced) > _SHOWN else "")
    return (
        f"EC2 tells no place of {len(topology.unplaced)} of {len(topology.hosts)} instances ({shown}): "
        "they are last in order, on a switch of their own"
    )


def _text(file: str) -> str:
    from .. import NodeError

    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NodeError(f"{file} cannot be read ({error}); give a file with text") from error


def _live(filters: list[str], node: Node) -> tuple[Instance, ...]:
    from .live import described

    return described(node, filters)
