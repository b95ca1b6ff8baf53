"""What a collective can be held to on a type of instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ultracluster.facts.node_environment import highest_collective_floor, least_collective_message
from ultracluster.findings import Finding, finding

if TYPE_CHECKING:
    from ultracluster.facts.instances import InstanceType

__all__ = ["check_collective_floor", "check_collective_message", "line_rate_gbytes"]

_BITS = 8


def line_rate_gbytes(facts: InstanceType) -> float:
    """Line rate of the fabric of one node in GB/s; 0 without EFA."""
    return facts.efa_bandwidth_gbps / _BITS


def check_collective_floor(gbytes_per_s: float, facts: InstanceType, *, subject: str) -> tuple[Finding, ...]:
    """UC-NOD-016 when a floor of bus bandwidth is above what the fabric of a type carries.

    Args:
        gbytes_per_s: the floor in GB/s.
        facts: of the type.
        subject: its path in the user's terms.
    """
    most = line_rate_gbytes(facts) * highest_collective_floor()
    if not most or gbytes_per_s <= most:
        return ()
    message = f"{gbytes_per_s:g} GB/s, the fabric of {facts.name} carries {most:g}"
    return (finding("UC-NOD-016", subject, message),)


def check_collective_message(size: int, *, subject: str) -> tuple[Finding, ...]:
    """UC-NOD-016 when a floor is asked of messages that are too small to reach it."""
    least = least_collective_message()
    if size >= least:
        return ()
    message = f"messages of {size / 2**20:g} MiB at most, and a floor holds from {least / 2**30:g} GiB on only"
    return (finding("UC-NOD-016", subject, message, "measure up to 8 GiB or more"),)
