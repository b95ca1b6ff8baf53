"""Spot fleets: types grouped by card layout, fabric on or off, strategies and limits of a mixed instances policy.

Types with different network cards cannot share an interface list, so each card layout gets a launch template of its own
and every override names the one of its type. EFA traffic does not leave a zone: over several zones a Spot fleet runs
without it, in one zone with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ultracluster.findings import raise_if_errors
from ultracluster.plan.decision import Decision
from ultracluster.plan.network_interfaces import InterfaceLayout, plan_network_interfaces
from ultracluster.plan.spot_rules import spot_findings
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.facts.instances import InstanceType
    from ultracluster.findings import Finding
    from ultracluster.plan.capacity_options import Spot
    from ultracluster.plan.network_interfaces import NetworkInterfacesPlan

__all__ = [
    "LayoutGroup",
    "SpotPlan",
    "SpotRequest",
    "check_spot",
    "effective_efa",
    "group_by_cards",
    "layout_groups",
    "plan_spot",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutGroup:
    """Types that one launch template serves: equal cards, equal fabric.

    Attributes:
        instance_types: facts of the types, in the order in which they were named.
        interfaces: the interface list that fits all of them.
    """

    instance_types: tuple[InstanceType, ...]
    interfaces: NetworkInterfacesPlan

    @property
    def key(self) -> str:
        """A stable name for construct ids and template names: the first type of the group."""
        return self.instance_types[0].name


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotRequest:
    """What is asked of a Spot fleet.

    Attributes:
        spot: the Spot settings.
        instance_types: facts of the types, the preferred one first.
        availability_zones: names of the zones.
        efa: fabric devices per node; None turns them on in one zone and off over several.
        layout: layout of the interfaces.
        max_count: most instances.
    """

    spot: Spot
    instance_types: tuple[InstanceType, ...]
    availability_zones: tuple[str, ...]
    efa: int | None = None
    layout: InterfaceLayout = InterfaceLayout.MIN_IP
    max_count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotPlan:
    """What the mixed instances policy says.

    Attributes:
        groups: one per launch template; the first one's is the base template of the policy.
        efa_enabled: whether any node has fabric devices.
        on_demand_base_count: OnDemandBaseCapacity.
        on_demand_percentage_above_base: OnDemandPercentageAboveBaseCapacity.
        on_demand_allocation_strategy: OnDemandAllocationStrategy.
        spot_allocation_strategy: SpotAllocationStrategy.
        spot_instance_pools: SpotInstancePools; only with lowest-price.
        max_price_usd: SpotMaxPrice in USD per instance and hour; None for the On-Demand price.
        capacity_rebalance: whether the group replaces an instance when EC2 recommends it, before it is interrupted.
        decisions: why it looks like this.
        warnings: findings that do not stop the plan.
    """

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


def group_by_cards(instance_types: tuple[InstanceType, ...]) -> tuple[tuple[InstanceType, ...], ...]:
    """Types with equal cards, EFA limit and card 0 together; groups in the order in which they were named."""
    groups: dict[object, list[InstanceType]] = {}
    for facts in instance_types:
        cards = tuple((card.index, card.interface_types, card.max_interfaces) for card in facts.network_cards)
        key = (cards, facts.max_efa_interfaces, facts.efa_on_card0)
        groups.setdefault(key, []).append(facts)
    return tuple(tuple(group) for group in groups.values())


def layout_groups(
    instance_types: tuple[InstanceType, ...], *, efa: int | None, layout: InterfaceLayout, subject: str
) -> tuple[LayoutGroup, ...]:
    """One interface list per card layout.

    Args:
        instance_types: facts of the types.
        efa: fabric devices per node; None for all.
        layout: layout of the interfaces.
        subject: the fleet's path in the user's terms.

    Raises:
        FindingsError: as `plan_network_interfaces`.
    """
    return tuple(
        LayoutGroup(
            instance_types=group,
            interfaces=plan_network_interfaces(group[0], efa=efa, layout=layout, subject=subject),
        )
        for group in group_by_cards(instance_types)
    )


def effective_efa(request: SpotRequest) -> int | None:
    """The fabric wish as it holds: nothing said means off over several zones, all in one."""
    return 0 if request.efa is None and len(request.availability_zones) > 1 else request.efa


def check_spot(request: SpotRequest, *, subject: str) -> tuple[Finding, ...]:
    """All faults of a Spot request; see `plan_spot`."""
    return spot_findings(
        request, efa=effective_efa(request), groups=group_by_cards(request.instance_types), subject=subject
    )


def plan_spot(request: SpotRequest, *, subject: str) -> SpotPlan:
    """Decide groups, fabric and strategies.

    Args:
        request: what is asked.
        subject: the fleet's path in the user's terms.

    Raises:
        FindingsError: UC-SPT-002, 005, 007, 009, UC-EFA-001, 002, 007, 008, UC-API-101 or UC-API-112.
    """
    warnings = raise_if_errors(check_spot(request, subject=subject))
    efa = effective_efa(request)
    groups = layout_groups(request.instance_types, efa=efa, layout=request.layout, subject=subject)
    enabled = any(group.interfaces.efa_count for group in groups)
    spot = request.spot
    return SpotPlan(
        groups=groups,
        efa_enabled=enabled,
        on_demand_base_count=spot.on_demand_base_count,
        on_demand_percentage_above_base=spot.on_demand_percentage_above_base,
        on_demand_allocation_strategy=spot.on_demand_allocation_strategy,
        spot_allocation_strategy=spot.allocation_strategy,
        spot_instance_pools=spot.spot_instance_pools,
        max_price_usd=spot.max_price_usd,
        capacity_rebalance=True,
        decisions=_decisions(request, groups, subject),
        warnings=warnings,
    )


def _decisions(request: SpotRequest, groups: tuple[LayoutGroup, ...], subject: str) -> tuple[Decision, ...]:
    enabled = any(group.interfaces.efa_count for group in groups)
    zones = len(request.availability_zones)
    if request.efa is not None:
        fabric = "asked for"
    elif zones > 1:
        fabric = f"{zones} zones, and EFA traffic does not leave a zone; name one zone for a fabric"
    else:
        fabric = "one zone, so the nodes can form a fabric"
    spot = request.spot
    on_demand = f"{spot.on_demand_base_count} On-Demand, then {spot.on_demand_percentage_above_base} % On-Demand"
    return (
        Decision(subject=f"{subject}.efa", value="on" if enabled else "off", because=fabric),
        Decision(
            subject=f"{subject}.instance_types",
            value="; ".join(", ".join(facts.name for facts in group.instance_types) for group in groups),
            because=f"{len(groups)} launch templates, one per layout of network cards",
        ),
        Decision(
            subject=f"{subject}.capacity",
            value=f"{on_demand}, Spot by {spot.allocation_strategy}",
            because="capacity rebalancing on: a replacement starts when EC2 expects an interruption",
        ),
    )
