"""Checks over a list of network interfaces, whoever wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ultracluster.facts.instances import InstanceType
    from ultracluster.findings import Finding
    from ultracluster.plan.network_interfaces import InterfaceKind

__all__ = ["NetworkInterfaceEntry", "check_interface_list"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkInterfaceEntry:
    """One entry as somebody wrote it; `None` means absent (card) or unknown (the rest)."""

    card: int | None
    device: int
    kind: InterfaceKind = "interface"
    group_count: int | None = None
    allows_efa: bool | None = None
    associate_public_ip: bool | None = None
    address_properties: tuple[str, ...] = ()


def check_interface_list(
    instance_type: InstanceType | None,
    entries: Sequence[NetworkInterfaceEntry],
    *,
    efa: int | None = None,
    groups_beside_list: bool = False,
    subject: str,
) -> tuple[Finding, ...]:
    """All faults of an interface list."""
    raise NotImplementedError
