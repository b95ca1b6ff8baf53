"""Which network interfaces an instance type gets: card, device and kind of each, computed from its per-card data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ultracluster.facts.instances import InstanceType
    from ultracluster.findings import Finding
    from ultracluster.plan.decision import Decision

__all__ = [
    "InterfaceKind",
    "InterfaceLayout",
    "NetworkInterface",
    "NetworkInterfacesPlan",
    "check_network_interfaces",
    "plan_network_interfaces",
]

InterfaceKind = Literal["interface", "efa", "efa-only"]


class InterfaceLayout(StrEnum):
    """How the interfaces are laid out on the cards."""

    MIN_IP = "min-ip"
    MAX_BANDWIDTH = "max-bandwidth"
    ALL_EFA = "all-efa"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkInterface:
    """One entry of a launch template's interface list."""

    card: int
    device: int
    kind: InterfaceKind

    @property
    def has_ip(self) -> bool:
        """Whether the entry takes a private address."""
        return self.kind != "efa-only"

    @property
    def has_efa(self) -> bool:
        """Whether the entry is a fabric device."""
        return self.kind != "interface"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkInterfacesPlan:
    """The interface list of one instance type; entry 0 is the primary interface (card 0, device 0)."""

    layout: InterfaceLayout
    interfaces: tuple[NetworkInterface, ...]
    efa_count: int
    ip_count: int
    decisions: tuple[Decision, ...]
    warnings: tuple[Finding, ...]


def check_network_interfaces(
    instance_type: InstanceType,
    *,
    efa: int | None = None,
    layout: InterfaceLayout = InterfaceLayout.MIN_IP,
    subject: str,
) -> tuple[Finding, ...]:
    """All faults of a wish for interfaces."""
    raise NotImplementedError


def plan_network_interfaces(
    instance_type: InstanceType,
    *,
    efa: int | None = None,
    layout: InterfaceLayout = InterfaceLayout.MIN_IP,
    subject: str,
) -> NetworkInterfacesPlan:
    """Lay out the interfaces of one instance type."""
    raise NotImplementedError
