"""The purchase options of a fleet, as small classes: On-Demand, a reservation, a Capacity Block, Spot.

Ids of On-Demand reservations and of Capacity Blocks look alike, and each wants the opposite of the other: a block needs
its market type and no placement group, a reservation must have no market type and keeps its own group. So the kind is
stated by the class, never guessed from an id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ultracluster.values import dataclass

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["Capacity", "CapacityBlock", "OnDemand", "Reservation", "Spot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OnDemand:
    """Plain On-Demand instances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """An On-Demand Capacity Reservation (ODCR), by its id or through a resource group of reservations.

    Attributes:
        reservation_id: `cr-` and 17 hexadecimal digits; a launch beyond it fails.
        resource_group_arn: resource group of reservations, instead of an id.
        placement_group_name: the placement group in which the reservation was made. Without one no group is used,
            because a group of its own would make part of the reservation unusable.
        size: instances reserved, when it is known; the fleet is held against it.
        strict: with a resource group, whether launches beyond it fail (the default) instead of becoming On-Demand
            instances that nobody reserved.
    """

    reservation_id: str | None = None
    resource_group_arn: str | None = None
    placement_group_name: str | None = None
    size: int | None = None
    strict: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityBlock:
    """A Capacity Block for ML.

    Attributes:
        reservation_id: the id of the block, `cr-` and 17 hexadecimal digits.
        size: instances in the block, when it is known; the fleet is held against it.
        end: when the block ends, with its time zone. The fleet is then scaled in before EC2 takes the instances away.
    """

    reservation_id: str
    size: int | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Spot instances, through the mixed instances policy of the group.

    Attributes:
        on_demand_base_count: instances that are always On-Demand; 0 by default.
        on_demand_percentage_above_base: share of On-Demand among the others, 0 to 100 percent; 0 by default.
        allocation_strategy: how EC2 picks Spot pools; `price-capacity-optimized` by default, as AWS recommends, since
            the lowest price alone is interrupted most.
        on_demand_allocation_strategy: `prioritized` (the order of the types, the default) or `lowest-price`.
        spot_instance_pools: pools to spread over, 1 to 20; only with `lowest-price`.
        max_price_usd: most to pay per instance and hour in USD; the On-Demand price when left out.
    """

    on_demand_base_count: int = 0
    on_demand_percentage_above_base: int = 0
    allocation_strategy: str = "price-capacity-optimized"
    on_demand_allocation_strategy: str = "prioritized"
    spot_instance_pools: int | None = None
    max_price_usd: float | None = None


Capacity = OnDemand | Reservation | CapacityBlock | Spot
