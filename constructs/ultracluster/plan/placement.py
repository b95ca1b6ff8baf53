"""Whether a fleet gets a placement group, and which; and that a fabric stays in one zone.

A cluster placement group puts nodes near each other, which a collective over EFA wants. On capacity that was reserved
without a group it does harm: the new group is a condition that part of the reservation does not meet, and those
instances stay unused. A Capacity Block takes none at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ultracluster.findings import finding, raise_if_errors
from ultracluster.plan.capacity_options import Capacity, CapacityBlock, Reservation
from ultracluster.plan.decision import Decision
from ultracluster.plan.references import is_unresolved
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.facts.instances import InstanceType
    from ultracluster.findings import Finding

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
    """Let the library decide from capacity, zones and fabric; the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPlacement:
    """No placement group, on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingPlacementGroup:
    """A cluster placement group that exists already, used as it is.

    Attributes:
        name: its name.
    """

    name: str


Placement = AutoPlacement | NoPlacement | ExistingPlacementGroup
AUTO: Final = AutoPlacement()
NONE: Final = NoPlacement()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRequest:
    """What the decision on placement follows from.

    Attributes:
        placement: what was asked for.
        capacity: the purchase option.
        instance_types: facts of the types.
        availability_zones: names of the zones.
        efa_count: fabric devices per node; 0 without fabric.
        max_count: most instances.
    """

    placement: Placement
    capacity: Capacity
    instance_types: tuple[InstanceType, ...]
    availability_zones: tuple[str, ...]
    efa_count: int
    max_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementPlan:
    """The placement group of a fleet; at most one of `create` and `existing_name` is set.

    Attributes:
        create: whether to make a cluster placement group for this fleet alone.
        existing_name: the group to use as it is.
        because: the reason in one line.
        decisions: the same as a decision.
        warnings: findings that do not stop the plan.
    """

    create: bool
    existing_name: str | None
    because: str
    decisions: tuple[Decision, ...] = ()
    warnings: tuple[Finding, ...] = ()


def check_placement(request: PlacementRequest, *, subject: str) -> tuple[Finding, ...]:
    """All faults of zones and placement together; see `plan_placement`."""
    place = f"{subject}.placement_group"
    asked: object = request.placement
    if not isinstance(asked, AutoPlacement | NoPlacement | ExistingPlacementGroup):
        message = f"{asked!r} is no placement"
        return (
            finding("UC-API-118", place, message, "use NoPlacement(), ExistingPlacementGroup(name=...) or neither"),
        )
    group = _group_name(request)
    return (
        *_check_zones(request, group, subject),
        *_check_block(request, place),
        *_check_reservation(request, place),
        *_check_types(request, group, place),
    )


def plan_placement(request: PlacementRequest, *, subject: str) -> PlacementPlan:
    """Decide on a placement group.

    Args:
        request: what the decision follows from.
        subject: the fleet's path in the user's terms.

    Raises:
        FindingsError: UC-EFA-007 or UC-PLC-001 (several zones), UC-PLC-002 (Capacity Block), UC-PLC-003 (reservation
            made elsewhere), UC-PLC-004 (type without cluster placement).
    """
    warnings = raise_if_errors(check_placement(request, subject=subject))
    create, name, because = _decide(request)
    value = "a new cluster placement group" if create else name or "none"
    return PlacementPlan(
        create=create,
        existing_name=name,
        because=because,
        decisions=(Decision(subject=f"{subject}.placement_group", value=value, because=because),),
        warnings=warnings,
    )


def _group_name(request: PlacementRequest) -> str | None:
    """The existing group that the fleet names, itself or through its reservation."""
    if isinstance(request.placement, ExistingPlacementGroup):
        return request.placement.name
    return request.capacity.placement_group_name if isinstance(request.capacity, Reservation) else None


def _decide(request: PlacementRequest) -> tuple[bool, str | None, str]:
    """Whether to make a group, which existing one to use, and why."""
    name = _group_name(request)
    if name is not None:
        named = isinstance(request.placement, ExistingPlacementGroup)
        because = "the group that was named, as it is" if named else "the reservation was made in this group"
        return False, name, because
    against = _against_new_group(request)
    because = against or "EFA nodes in one zone: a cluster group keeps them near each other"
    return against is None, None, because


def _against_new_group(request: PlacementRequest) -> str | None:
    """The first reason not to make a group."""
    reasons = (
        (
            isinstance(request.capacity, CapacityBlock),
            "EC2 places the instances of a Capacity Block near each other itself and takes no group",
        ),
        (
            isinstance(request.capacity, Reservation),
            "the reservation was made without a group; a new one would leave part of it unusable",
        ),
        (isinstance(request.placement, NoPlacement), "no group asked for"),
        (request.efa_count == 0, "no EFA, so nothing gains from nodes near each other"),
        (bool(_lacks_cluster(request)), "the type is not listed for cluster placement"),
    )
    return next((because for holds, because in reasons if holds), None)


def _lacks_cluster(request: PlacementRequest) -> list[str]:
    """Types whose published strategies leave `cluster` out; unpublished strategies are not judged."""
    return [
        facts.name
        for facts in request.instance_types
        if facts.placement_group_strategies and "cluster" not in facts.placement_group_strategies
    ]


def _check_zones(request: PlacementRequest, group: str | None, subject: str) -> tuple[Finding, ...]:
    zones = request.availability_zones
    if len(zones) <= 1:
        return ()
    place = f"{subject}.availability_zones"
    fix = f"name the one zone of this fleet: {' or '.join(zones)}"
    if request.efa_count:
        message = f"{len(zones)} zones for a fleet with EFA, whose traffic does not leave a zone"
        return (finding("UC-EFA-007", place, message, f"{fix}; or turn EFA off with efa 0"),)
    if group is not None:
        message = f"{len(zones)} zones for placement group {_shown(group)}, and a cluster group lies in one zone"
        return (finding("UC-PLC-001", place, message, f"{fix}; or leave the group out"),)
    return ()


def _shown(name: str) -> str:
    return "named elsewhere in the app" if is_unresolved(name) else name


def _check_block(request: PlacementRequest, place: str) -> tuple[Finding, ...]:
    if isinstance(request.capacity, CapacityBlock) and isinstance(request.placement, ExistingPlacementGroup):
        message = f"placement group {_shown(request.placement.name)} with a Capacity Block, which takes none"
        return (finding("UC-PLC-002", place, message, "leave the group out; EC2 places a block itself"),)
    return ()


def _check_reservation(request: PlacementRequest, place: str) -> tuple[Finding, ...]:
    if not isinstance(request.capacity, Reservation) or request.capacity.placement_group_name is None:
        return ()
    own = request.capacity.placement_group_name
    if isinstance(request.placement, ExistingPlacementGroup) and request.placement.name != own:
        other = f"placement group {_shown(request.placement.name)}"
    elif isinstance(request.placement, NoPlacement):
        other = "no placement group"
    else:
        return ()
    message = f"{other}, but the reservation was made in {_shown(own)}"
    return (finding("UC-PLC-003", place, message, f"use {_shown(own)}, or leave the setting out"),)


def _check_types(request: PlacementRequest, group: str | None, place: str) -> tuple[Finding, ...]:
    found: list[Finding] = []
    lacking = _lacks_cluster(request)
    if group is not None and lacking:
        message = f"{', '.join(lacking)} is not listed for cluster placement groups"
        found.append(finding("UC-PLC-004", place, message, "leave the group out, or take another type"))
    grouped = group is not None or _decide(request)[0]
    if grouped and len(request.instance_types) > 1 and len(request.availability_zones) <= 1:
        names = ", ".join(facts.name for facts in request.instance_types)
        message = f"{names} in one placement group, so a launch may find too little capacity for one of them"
        fix = "make one fleet per type, or accept it with a reason"
        found.append(finding("UC-PLC-006", place, message, fix))
    return tuple(found)
