"""How the instances are bought: On-Demand, a reservation, a Capacity Block or Spot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from datetime import datetime

    from ultracluster.facts.instances import InstanceType
    from ultracluster.findings import Finding
    from ultracluster.plan.decision import Decision

__all__ = [
    "Capacity",
    "CapacityBlock",
    "CapacityPlan",
    "CapacityRequest",
    "OnDemand",
    "Reservation",
    "Spot",
    "check_capacity",
    "plan_capacity",
]

CapacityKind = Literal["on-demand", "reservation", "capacity-block", "spot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OnDemand:
    """Plain On-Demand instances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """An On-Demand Capacity Reservation (ODCR), by its id or through a resource group of reservations."""

    reservation_id: str | None = None
    resource_group_arn: str | None = None
    placement_group_name: str | None = None
    size: int | None = None
    strict: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityBlock:
    """A Capacity Block for ML."""

    reservation_id: str
    size: int | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Spot instances through a mixed instances policy."""

    on_demand_base_count: int = 0
    on_demand_percentage_above_base: int = 0
    allocation_strategy: str = "price-capacity-optimized"
    spot_instance_pools: int | None = None
    max_price_usd: float | None = None


Capacity = OnDemand | Reservation | CapacityBlock | Spot


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRequest:
    """What is asked of the capacity of one fleet."""

    capacity: Capacity
    instance_types: tuple[InstanceType, ...]
    min_count: int
    max_count: int
    region: str | None = None
    availability_zones: tuple[str, ...] = ()
    now: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityPlan:
    """What the launch template and the Auto Scaling group say about capacity."""

    kind: CapacityKind
    market_type: Literal["capacity-block"] | None
    reservation_id: str | None
    resource_group_arn: str | None
    preference: Literal["capacity-reservations-only"] | None
    fixed_size: bool
    end: datetime | None
    scale_in_at: datetime | None
    quota_code: str | None
    spot: Spot | None
    decisions: tuple[Decision, ...]
    warnings: tuple[Finding, ...]

    @property
    def scale_in_start_time(self) -> str | None:
        """`scale_in_at` as a scheduled action wants it, for example `2027-03-01T10:55:00Z`."""
        return None if self.scale_in_at is None else self.scale_in_at.strftime("%Y-%m-%dT%H:%M:%SZ")


def check_capacity(request: CapacityRequest, *, subject: str) -> tuple[Finding, ...]:
    """All faults of a capacity request."""
    raise NotImplementedError


def plan_capacity(request: CapacityRequest, *, subject: str) -> CapacityPlan:
    """Decide market type, reservation target, size and scheduled scale-in."""
    raise NotImplementedError
