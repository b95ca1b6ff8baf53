"""Literal names that two sides have to agree on without a reference between their stacks.

A fleet's group is named by its role, its agent, its alarms and its own nodes. A literal name spares them a cycle and
keeps the stacks free of exports.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "EVENT_SOURCE",
    "LAUNCH_HOOK",
    "TERMINATE_HOOK",
    "alarm_prefix",
    "auto_scaling_group_name",
    "interruption_queue_names",
    "log_group_name",
]

LAUNCH_HOOK: Final = "ultracluster-launch"
"""The launch life-cycle hook that a node completes when its bootstrap has found everything in order."""

TERMINATE_HOOK: Final = "ultracluster-terminate"
"""Holds a node that is about to be scaled in, so that a handler can end its work; it goes on by itself in time."""

EVENT_SOURCE: Final = "ultracluster.node"
"""Source of the events that nodes put on the default bus of their account; a node may use no other."""


def auto_scaling_group_name(cluster: str, fleet: str) -> str:
    """Name of the Auto Scaling group of a fleet.

    Args:
        cluster: name of the cluster.
        fleet: name of the fleet in it.
    """
    return f"{cluster}-{fleet}"


def log_group_name(group: str) -> str:
    """Name of the log group of a fleet.

    Args:
        group: name of its Auto Scaling group.
    """
    return f"/ultracluster/{group}"


def alarm_prefix(cluster: str, file_system: str) -> str:
    """First part of the names of a file system's alarms; those of a fleet begin with the name of its group.

    Args:
        cluster: name of the cluster.
        file_system: name of the file system in it.
    """
    return f"{cluster}-{file_system}"


def interruption_queue_names(group: str) -> tuple[str, str]:
    """Names of the queue of a Spot fleet and of its dead-letter queue.

    Args:
        group: name of the fleet's Auto Scaling group. Names of queues have no dots.
    """
    base = group.replace(".", "-")
    return f"{base}-spot", f"{base}-spot-dead"
