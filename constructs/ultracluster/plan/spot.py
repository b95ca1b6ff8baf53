"""Spot fleets: types grouped by card layout, fabric on or off, limits of a mixed instances policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ultracluster.plan.network_interfaces import InterfaceLayout

if TYPE_CHECKING:
    from ultracluster.facts.instances import InstanceType
    from ultracluster.findings import Finding
    from ultracluster.plan.capacity import Spot
    from ultracluster.plan.decision import Decision
    from ultracluster.plan.network_interfaces import NetworkInterfacesPlan

__all__ = ["LayoutGroup", "SpotPlan", "SpotRequest", "check_spot", "layout_groups", "plan_spot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutGroup:
    """Types that one launch template serves: equal cards, equal fabric."""

    instance_types: tuple[InstanceType, ...]
    interfaces: NetworkInterfacesPlan

    @property
    def key(self) -> str:
        """A stable name for construct ids and template names: the first type of the group."""
        return self.instance_types[0].name


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotRequest:
    """What is asked of a Spot fleet."""

    spot: Spot
    instance_types: tuple[InstanceType, ...]
    availability_zones: tuple[str, ...]
    efa: int | None = None
    layout: InterfaceLayout = InterfaceLayout.MIN_IP
    max_count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotPlan:
    """What the mixed instances policy says."""

    groups: tuple[LayoutGroup, ...]
    efa_enabled: bool
    on_demand_base_count: int
    on_demand_percentage_above_base: int
    on_demand_allocation_strategy: str
    spot_allocation_strategy: str
    spot_instance_pools: int | None
    max_price_usd: float | None
    capacity_rebalance: bool
    decisions: tuple[Decision, ...]
    warnings: tuple[Finding, ...]


def layout_groups(
    instance_types: tuple[InstanceType, ...], *, efa: int | None, layout: InterfaceLayout, subject: str
) -> tuple[LayoutGroup, ...]:
    """Group types by equal card layout, in the order in which they were named."""
    raise NotImplementedError


def check_spot(request: SpotRequest, *, subject: str) -> tuple[Finding, ...]:
    """All faults of a Spot request."""
    raise NotImplementedError


def plan_spot(request: SpotRequest, *, subject: str) -> SpotPlan:
    """Decide groups, fabric and strategies."""
    raise NotImplementedError
