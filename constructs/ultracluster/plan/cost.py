"""What the nodes of a cluster cost per hour at the On-Demand prices on record, and what is not priced here.

Prices come from the catalogue with their Region and date. Nothing is guessed: a type or Region without a price on
record is said to have none, Capacity Blocks and Spot are said to be priced otherwise, storage has no price on record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.facts.instances import InstanceType
    from ultracluster.plan.fleet import FleetPlan

__all__ = ["CostPlan", "FleetCost", "plan_cost"]

_OTHERWISE = {
    "capacity-block": "paid in advance at the price of the block, not by the On-Demand hour",
    "spot": "paid at the Spot price of the moment, not the On-Demand price",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetCost:
    """The hourly price of one fleet.

    Attributes:
        fleet: name of the fleet.
        usd_per_hour_each: On-Demand USD per hour of one node; None when no price counts.
        usd_per_hour_min: of the smallest number of nodes; None likewise.
        usd_per_hour_max: of the largest number.
        price_region: Region of the price, which is not always that of the cluster.
        price_as_of: date of the price.
        note: what to know about the figure, or why there is none.
    """

    fleet: str
    usd_per_hour_each: float | None
    usd_per_hour_min: float | None
    usd_per_hour_max: float | None
    price_region: str | None
    price_as_of: str | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPlan:
    """The hourly price of a cluster.

    Attributes:
        region: Region of the cluster.
        fleets: one entry per fleet.
        usd_per_hour_min: sum over the fleets with a figure, each at its smallest; None when no fleet has one.
        usd_per_hour_max: likewise at their largest.
        not_included: what the sum leaves out.
    """

    region: str
    fleets: tuple[FleetCost, ...]
    usd_per_hour_min: float | None
    usd_per_hour_max: float | None
    not_included: tuple[str, ...]


def plan_cost(fleets: Mapping[str, FleetPlan], *, region: str) -> CostPlan:
    """The hourly On-Demand price of the nodes.

    Args:
        fleets: the fleets by name.
        region: Region of the cluster.
    """
    costs = tuple(_fleet_cost(name, plan, region) for name, plan in fleets.items())
    unpriced = tuple(f"fleet {cost.fleet} ({cost.note})" for cost in costs if cost.usd_per_hour_max is None)
    return CostPlan(
        region=region,
        fleets=costs,
        usd_per_hour_min=_sum(cost.usd_per_hour_min for cost in costs),
        usd_per_hour_max=_sum(cost.usd_per_hour_max for cost in costs),
        not_included=(*unpriced, "storage, NAT, endpoints, logs and data transfer (no price on record)"),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known), 4) if known else None


def _fleet_cost(name: str, fleet: FleetPlan, region: str) -> FleetCost:
    otherwise = _OTHERWISE.get(fleet.capacity.kind)
    if otherwise is not None:
        return _without_price(name, otherwise)
    facts = fleet.instance_types[0]
    price_region = _price_region(facts, region)
    if price_region is None:
        return _without_price(name, f"no On-Demand price of {facts.name} is on record")
    each = facts.on_demand_usd_per_hour[price_region]
    nodes = fleet.min_count, fleet.max_count
    if fleet.capacity.kind == "reservation" and fleet.capacity.size is not None:
        # A reservation is billed at the On-Demand rate from its first hour, used or not.
        nodes = fleet.capacity.size, max(fleet.capacity.size, fleet.max_count)
    return FleetCost(
        fleet=name,
        usd_per_hour_each=each,
        usd_per_hour_min=round(each * nodes[0], 4),
        usd_per_hour_max=round(each * nodes[1], 4),
        price_region=price_region,
        price_as_of=facts.price_as_of,
        note=_note(fleet, facts, region, price_region),
    )


def _price_region(facts: InstanceType, region: str) -> str | None:
    """The Region of the cluster when it has a price, else the first Region that has one."""
    prices = facts.on_demand_usd_per_hour
    return region if region in prices else next(iter(prices), None)


def _note(fleet: FleetPlan, facts: InstanceType, region: str, price_region: str) -> str:
    notes = [f"On-Demand price of {price_region} on {facts.price_as_of}"]
    if price_region != region:
        notes.append(f"none on record for {region}")
    if fleet.capacity.kind == "reservation":
        notes.append("a reservation is billed whether it is used or not")
    return "; ".join(notes)


def _without_price(name: str, note: str) -> FleetCost:
    return FleetCost(
        fleet=name,
        usd_per_hour_each=None,
        usd_per_hour_min=None,
        usd_per_hour_max=None,
        price_region=None,
        price_as_of=None,
        note=note,
    )
