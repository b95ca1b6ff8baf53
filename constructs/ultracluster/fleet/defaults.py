"""Defaults of a fleet, each with its reason."""

from __future__ import annotations

from typing import Final

__all__ = [
    "DEFAULT_INSTANCE_WARMUP_S",
    "HEALTH_CHECK_GRACE_S",
    "LAUNCH_HOOK_TIMEOUT_S",
    "LOG_RETENTION_DAYS",
    "MAX_GROUPS_PER_INTERFACE",
    "TERMINATE_HOOK_TIMEOUT_S",
]

LAUNCH_HOOK_TIMEOUT_S: Final = 1800
"""Longest bootstrap: boot of a many-GPU node, packages, mounts and the user's script. A node that is silent for longer
is abandoned, that is, terminated and replaced."""

TERMINATE_HOOK_TIMEOUT_S: Final = 300
"""What lies between the scheduled scale-in of a Capacity Block (35 minutes before its end) and the moment at which EC2
begins to terminate (30 minutes before). Spot interruptions leave two minutes whatever is asked for here."""

HEALTH_CHECK_GRACE_S: Final = 300
"""The launch hook has proven the node already; the grace time only covers status checks that settle after a reboot."""

DEFAULT_INSTANCE_WARMUP_S: Final = 0
"""A node counts at once: it came into service ready, and no scaling policy averages its metrics."""

LOG_RETENTION_DAYS: Final = 90
"""A training run of some weeks can still be looked into a month after its end."""

MAX_GROUPS_PER_INTERFACE: Final = 5
"""Default quota of security groups per network interface (Amazon VPC quotas)."""
