"""Rules on who launches into which placement group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ultracluster.plan.capacity_options import Capacity, CapacityBlock, Reservation
from ultracluster.plan.placement import NONE, ExistingPlacementGroup, Placement, PlacementRequest, check_placement
from ultracluster.policy.graph.capacity import buys_block, fleet_buys_block, is_block, reservation_of, target_of
from ultracluster.policy.graph.fleets import spread_over_zones
from ultracluster.policy.graph.interfaces import has_fabric
from ultracluster.policy.graph.launch_templates import CONSUMERS, LAUNCH_TEMPLATE, users_of, uses_of
from ultracluster.policy.graph.placement import (
    all_named_groups,
    group_in_arn,
    named_groups,
    placement_group,
    same_group,
    shown_group,
)
from ultracluster.policy.problem import Problem, Where, from_findings
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_NAMES_GROUPS = (LAUNCH_TEMPLATE, *CONSUMERS)


@rule("UC-PLC-001", on=CONSUMERS)
def cluster_group_in_one_zone(consumer: Resource) -> Iterator[Problem]:
    """A fleet in a cluster placement group launches into one zone."""
    for value in all_named_groups(consumer):
        group = _group_at_hand(value)
        if group is not None and group.get("Strategy").text() != "cluster":
            continue
        found = spread_over_zones(consumer)
        if found is None:
            return
        if group is None and not any(has_fabric(use.launch_template) for use in uses_of(consumer)):
            raise NotKnown(f"the strategy of placement group {shown_group(value)}")
        message = f"{found.shown} for placement group {shown_group(value)}, and a cluster group lies in one zone"
        yield Problem(found.where, message, "launch into the subnets of one zone, or leave the group out")
        return


def _group_at_hand(value: Value) -> Resource | None:
    """The group when the assembly makes it; None for the name of another one, known or not."""
    try:
        return placement_group(value)
    except NotKnown:
        return None


@rule("UC-PLC-002", on=_NAMES_GROUPS)
def no_group_with_a_block(resource: Resource) -> Iterator[Problem]:
    """Nothing that draws on a Capacity Block names a placement group; a launch template is told once."""
    named = named_groups(resource)
    if not named:
        return
    if resource.type == LAUNCH_TEMPLATE:
        drawn = buys_block(resource)
    else:
        drawn = fleet_buys_block(resource) or any(is_block(use.launch_template) for use in uses_of(resource))
    if drawn:
        yield from _judged_by_plan(named[0], _named(named[0]), CapacityBlock(reservation_id=""))


def _named(value: Value) -> ExistingPlacementGroup:
    return ExistingPlacementGroup(name=shown_group(value))


def _judged_by_plan(where: Where, placement: Placement, capacity: Capacity) -> Iterator[Problem]:
    request = PlacementRequest(
        placement=placement, capacity=capacity, instance_types=(), availability_zones=(), efa_count=0, max_count=1
    )
    yield from from_findings(check_placement(request, subject=""), lambda _: where)


@rule("UC-PLC-003", on=LAUNCH_TEMPLATE)
def reservation_keeps_its_placement(launch_template: Resource) -> Iterator[Problem]:
    """A launch into a reservation uses the placement group in which that was made, or none."""
    target = target_of(launch_template)
    if not target.exists or buys_block(launch_template):
        return
    consumers = dict.fromkeys(use.consumer for use in users_of(launch_template))
    named = [value for resource in (launch_template, *consumers) for value in named_groups(resource)]
    reservation = reservation_of(target["CapacityReservationId"])
    if reservation is None:
        yield from _reserved_elsewhere(target, named)
    elif reservation.get("PlacementGroupArn").exists:
        yield from _reserved_in_a_group(target, reservation, named)
    else:
        for value in named:
            message = f"placement group {shown_group(value)}, but reservation {reservation} is made without a group"
            yield Problem(value, message, "leave the group out")


def _reserved_elsewhere(target: Value, named: Iterable[Value]) -> Iterator[Problem]:
    for value in named:
        group = _group_at_hand(value)
        if group is None:
            continue  # one that exists already is used as it is
        if not target["CapacityReservationId"].exists:
            raise NotKnown("the reservations of a resource group")
        message = f"placement group {group} is made here, so no instance of the reservation lies in it"
        yield Problem(value, message, "leave the group out, or name the one of the reservation")


def _reserved_in_a_group(target: Value, reservation: Resource, named: list[Value]) -> Iterator[Problem]:
    group = group_in_arn(reservation.get("PlacementGroupArn"))
    capacity = Reservation(reservation_id=str(reservation), placement_group_name=str(group))
    if not named:
        yield from _judged_by_plan(target["CapacityReservationId"], NONE, capacity)
    for value in named:
        with value.judged_apart():
            if not _is_group(value, group):
                yield from _judged_by_plan(value, _named(value), capacity)


def _is_group(value: Value, group: Resource | str) -> bool:
    found = placement_group(value)
    if isinstance(group, Resource) or found is not None:
        return found == group
    if value.label[-1] == "GroupId":
        raise NotKnown(f"whether group {value.shown} is named {group}")
    return value.text() == group


@rule("UC-PLC-008", on=_NAMES_GROUPS)
def group_named_once(resource: Resource) -> Iterator[Problem]:
    """A placement group is named by its name or its id, and by one of launch template and consumer."""
    named = named_groups(resource)
    if len(named) > 1:
        message = f"{named[1].shown} beside {named[0].path.rsplit('.')[-1]}, EC2 takes a name or an id"
        yield Problem(named[1], message, "keep one of the two")
    if resource.type == LAUNCH_TEMPLATE or not named:
        return
    for launch_template in dict.fromkeys(use.launch_template for use in uses_of(resource)):
        for value in named_groups(launch_template):
            with value.judged_apart():
                if not same_group(named[0], value):
                    message = (
                        f"placement group {shown_group(named[0])}, and {launch_template} names {shown_group(value)}"
                    )
                    yield Problem(named[0], message)
                    return
