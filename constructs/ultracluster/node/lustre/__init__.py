"""Lustre on a node: the client, LNet over EFA, tuning, layouts, and bringing data in from S3."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from ..host import Node, NodeError
from . import client, hydrate, lnet, striping, tuning

__all__ = ["SUMMARY", "arguments", "configure_efa", "run", "tune_after_mount", "tune_before_mount", "verify_efa"]

SUMMARY = "the Lustre client: mount, tune, LNet over EFA, layouts of folders, data in from S3"

_PURPOSES = ("checkpoints", "data", "logs")
_SHOWN_FAILURES = 20


def arguments(parser: argparse.ArgumentParser) -> None:
    """Subcommands of the program."""
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("mount", help="mount the file systems of the settings, with retries")
    commands.add_parser("tune", help="set the client's parameters again")
    commands.add_parser("lnet", help="put LNet on EFA")
    verify = commands.add_parser("verify", help="prove by LNet's counters that a mount is reached over EFA")
    verify.add_argument("path", nargs="?", help="mount point (default: all that are to be reached over EFA)")
    stripe = commands.add_parser("stripe", help="spread the new files of a folder over the targets that suit its use")
    stripe.add_argument("path")
    stripe.add_argument("--for", dest="purpose", choices=_PURPOSES, required=True)
    bring = commands.add_parser("hydrate", help="bring released files in from S3 and wait until they are in")
    bring.add_argument("path")
    bring.add_argument("--in-flight", type=int, default=256, help="files that are asked for at a time (default: 256)")
    bring.add_argument("--stall", type=float, default=1800, help="give up after so many seconds without a file")


def run(args: argparse.Namespace, node: Node) -> int:
    """Run a subcommand."""
    return {"mount": _mount, "tune": _tune, "lnet": _lnet, "verify": _verify, "stripe": _stripe, "hydrate": _hydrate}[
        str(args.command)
    ](args, node)


def configure_efa(node: Node) -> None:
    """LNet stands on EFA, where a file system of the settings is to be reached over it."""
    lnet.configure(node)


def tune_before_mount(node: Node) -> None:
    """The client is installed and its module options are written."""
    client.ready(node)
    tuning.before_mount(node)


def tune_after_mount(node: Node) -> None:
    """The parameters of all mounted Lustre file systems of the settings are set."""
    for mount in _file_systems(node):
        tuning.after_mount(node, mount)


def verify_efa(node: Node) -> dict[str, dict[str, int]]:
    """Counters by mount point of the file systems that are to be reached over EFA.

    Raises:
        NodeError: one of them is reached over TCP.
    """
    return {mount["path"]: lnet.verify(node, mount["path"]) for mount in _file_systems(node) if mount.get("efa")}


def _file_systems(node: Node) -> list[dict[str, Any]]:
    return [mount for mount in node.settings.get("mounts", []) if mount["kind"] == "lustre"]


def _mount(_: argparse.Namespace, node: Node) -> int:
    from .. import mounts

    mounts.ensure(node, kinds=("lustre",))
    return 0


def _tune(_: argparse.Namespace, node: Node) -> int:
    tune_after_mount(node)
    return 0


def _lnet(_: argparse.Namespace, node: Node) -> int:
    configure_efa(node)
    return 0


def _verify(args: argparse.Namespace, node: Node) -> int:
    found = {args.path: lnet.verify(node, args.path)} if args.path else verify_efa(node)
    print(json.dumps(found, sort_keys=True))
    return 0


def _stripe(args: argparse.Namespace, node: Node) -> int:
    node.say(striping.stripe(node, args.path, args.purpose))
    return 0


def _hydrate(args: argparse.Namespace, node: Node) -> int:
    if args.in_flight < 1:
        raise NodeError(f"--in-flight {args.in_flight} is too small; 1 or more")
    striping.require_lustre(node, args.path)
    done = hydrate.Hydration(node, in_flight=args.in_flight, stall_s=args.stall).run(args.path)
    for path, why in list(done.failed.items())[:_SHOWN_FAILURES]:
        node.say(f"{path}: {why}")
    print(json.dumps(asdict(done), sort_keys=True))
    return 1 if done.failed else 0
