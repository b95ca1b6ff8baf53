"""`metrics`: accelerator health, Spot notices and a heartbeat as StatsD, for the CloudWatch agent; a service."""

from __future__ import annotations

import argparse

from ..host import Node, NodeError

SUMMARY = "send accelerator health, Spot notices and a heartbeat to the CloudWatch agent"


def arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(args: argparse.Namespace, node: Node) -> int:  # noqa: ARG001 - the protocol of the programs
    """Run until one of the sources ends."""
    from .loop import main

    if "metrics" not in node.settings:
        raise NodeError("the settings of the node have no metrics; user data writes them")
    return main(node.settings["metrics"])
