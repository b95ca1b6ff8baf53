"""Whether a fleet gets a placement group, and which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ultracluster.facts.instances import InstanceType
    from ultracluster.findings import Finding
    from ultracluster.plan.capacity import Capacity
    from ultracluster.plan.decision import Decision

__all__ = [
    "AUTO",
    "NONE",
    "AutoPlacement",
    "ExistingPlacementGroup",
    "NoPlacement",
    "Placement",
    "PlacementPlan",
    "PlacementRequest",
    "check_placement",
    "plan_placement",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoPlacement:
    """Let the library decide from capacity, zones and fabric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPlacement:
    """No placement group, on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingPlacementGroup:
    """A cluster placement group that exists already, used as it is."""

    name: str


Placement = AutoPlacement | NoPlacement | ExistingPlacementGroup
AUTO: Final = AutoPlacement()
NONE: Final = NoPlacement()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRequest:
    """What the decision on placement follows from."""

    placement: Placement
    capacity: Capacity
    instance_types: tuple[InstanceType, ...]
    availability_zones: tuple[str, ...]
    efa_count: int
    max_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementPlan:
    """At most one of `create` and `existing_name` is set."""

    create: bool
    existing_name: str | None
    because: str
    decisions: tuple[Decision, ...]
    warnings: tuple[Finding, ...]


def check_placement(request: PlacementRequest, *, subject: str) -> tuple[Finding, ...]:
    """All faults of zones and placement together."""
    raise NotImplementedError


def plan_placement(request: PlacementRequest, *, subject: str) -> PlacementPlan:
    """Decide on a placement group."""
    raise NotImplementedError
