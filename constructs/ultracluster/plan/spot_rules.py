"""Rules on Spot fleets: what is sold, what a mixed instances policy holds, and what a fabric needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ultracluster.facts.compute_limits import limit, limit_list
from ultracluster.findings import Finding, finding
from ultracluster.plan.network_interfaces import check_network_interfaces

if TYPE_CHECKING:
    from ultracluster.facts.instances import InstanceType
    from ultracluster.plan.capacity_options import Spot
    from ultracluster.plan.spot import SpotRequest

__all__ = ["check_strategies", "spot_findings"]

_LOWEST_PRICE = "lowest-price"
_SPOT_STRATEGIES = (
    "price-capacity-optimized",
    "capacity-optimized",
    "capacity-optimized-prioritized",
    _LOWEST_PRICE,
)
_ON_DEMAND_STRATEGIES = ("prioritized", _LOWEST_PRICE)
_ALL = 100  # percent


def spot_findings(
    request: SpotRequest, *, efa: int | None, groups: tuple[tuple[InstanceType, ...], ...], subject: str
) -> tuple[Finding, ...]:
    """All faults of a Spot request.

    Args:
        request: what is asked.
        efa: the fabric wish as it holds for these zones.
        groups: the types by card layout.
        subject: the fleet's path in the user's terms.
    """
    return (
        *_check_sold(request, subject),
        *_check_limits(request, groups, subject),
        *_check_numbers(request, f"{subject}.capacity"),
        *check_strategies(request.spot, f"{subject}.capacity"),
        *_check_fabric(request, efa, groups, subject),
    )


def _check_sold(request: SpotRequest, subject: str) -> tuple[Finding, ...]:
    return tuple(
        finding(
            "UC-SPT-005",
            f"{subject}.instance_types[{at}]",
            f"{facts.name} is not sold as Spot ({', '.join(facts.purchase_options) or 'nothing listed'})",
            "take another type or another purchase option",
        )
        for at, facts in enumerate(request.instance_types)
        if "spot" not in facts.purchase_options
    )


def _check_limits(
    request: SpotRequest, groups: tuple[tuple[InstanceType, ...], ...], subject: str
) -> tuple[Finding, ...]:
    found: list[Finding] = []
    for count, name, what in (
        (len(request.instance_types), "mixed_policy_max_types", "instance types"),
        (len(groups), "mixed_policy_max_launch_templates", "card layouts, each with a launch template"),
    ):
        most = limit(name)
        if count > most:
            message = f"{count} {what}, a mixed instances policy holds {most}"
            fix = f"leave {count - most} out, or make two fleets"
            found.append(finding("UC-SPT-007", f"{subject}.instance_types", message, fix))
    return tuple(found)


def _check_numbers(request: SpotRequest, place: str) -> tuple[Finding, ...]:
    spot = request.spot
    checks = (
        ("on_demand_base_count", spot.on_demand_base_count, 0, request.max_count),
        ("on_demand_percentage_above_base", spot.on_demand_percentage_above_base, 0, _ALL),
        ("spot_instance_pools", spot.spot_instance_pools, 1, limit("spot_instance_pools_max")),
    )
    found = [
        finding("UC-API-112", f"{place}.{name}", f"{value} is not between {least} and {most}", f"use {least} to {most}")
        for name, value, least, most in checks
        if value is not None and not least <= value <= most
    ]
    if spot.max_price_usd is not None and not spot.max_price_usd > 0:
        message = f"{spot.max_price_usd} USD buys nothing"
        fix = "leave it out: Spot never costs more than On-Demand"
        found.append(finding("UC-API-112", f"{place}.max_price_usd", message, fix))
    return tuple(found)


def check_strategies(spot: Spot, place: str) -> tuple[Finding, ...]:
    """UC-SPT-002, 008 and 009: strategies that go with what they are for; `place` is the path of the Spot settings."""
    found: list[Finding] = []
    strategy = spot.allocation_strategy
    where = f"{place}.allocation_strategy"
    if strategy not in _SPOT_STRATEGIES:
        ordered = "; for an order of types capacity-optimized-prioritized" if strategy == "prioritized" else ""
        message = f"{strategy!r} is no Spot strategy"
        found.append(finding("UC-SPT-009", where, message, f"use {', '.join(_SPOT_STRATEGIES)}{ordered}"))
    elif strategy == _LOWEST_PRICE:
        message = "lowest-price ignores how much capacity is left, so its instances are interrupted most"
        found.append(finding("UC-SPT-008", where, message, "use price-capacity-optimized"))
    if spot.spot_instance_pools is not None and strategy != _LOWEST_PRICE:
        message = f"{spot.spot_instance_pools} pools with {strategy}, Auto Scaling takes them with lowest-price only"
        found.append(finding("UC-SPT-002", f"{place}.spot_instance_pools", message, "leave the number of pools out"))
    if spot.on_demand_allocation_strategy not in _ON_DEMAND_STRATEGIES:
        message = f"{spot.on_demand_allocation_strategy!r} is no On-Demand strategy"
        fix = f"use {' or '.join(_ON_DEMAND_STRATEGIES)}"
        found.append(finding("UC-SPT-009", f"{place}.on_demand_allocation_strategy", message, fix))
    return tuple(found)


def _check_fabric(
    request: SpotRequest, efa: int | None, groups: tuple[tuple[InstanceType, ...], ...], subject: str
) -> tuple[Finding, ...]:
    found = [
        fault
        for group in groups
        for fault in check_network_interfaces(group[0], efa=efa, layout=request.layout, subject=subject)
    ]
    if efa == 0 or not any(facts.supports_efa for facts in request.instance_types):
        return tuple(found)
    zones = request.availability_zones
    if len(zones) > 1:
        message = f"EFA asked for over {len(zones)} zones, and its traffic does not leave a zone"
        fix = f"name one zone ({' or '.join(zones)}), or leave efa out to run without it"
        found.append(finding("UC-EFA-007", f"{subject}.availability_zones", message, fix))
    found.extend(_check_island(request, subject))
    if request.max_count > 1 and request.spot.on_demand_percentage_above_base < _ALL:
        message = f"{request.max_count} EFA nodes on Spot: one interruption stops the collective of all"
        fix = "write a checkpoint on the two-minute notice and requeue, or use On-Demand"
        found.append(finding("UC-SPT-010", f"{subject}.capacity", message, fix))
    return tuple(found)


def _check_island(request: SpotRequest, subject: str) -> tuple[Finding, ...]:
    island = limit_list("efa_island_families")
    inside = [facts.name for facts in request.instance_types if facts.family in island]
    outside = [facts.name for facts in request.instance_types if facts.family not in island]
    if not inside or not outside:
        return ()
    message = f"{', '.join(inside)} cannot talk EFA with {', '.join(outside)}"
    return (finding("UC-EFA-008", f"{subject}.instance_types", message, "make two fleets, or turn EFA off with 0"),)
