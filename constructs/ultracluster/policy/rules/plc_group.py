"""Rules on placement groups themselves: who shares them, how much they hold, what replaces them."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.compute_limits import limit
from ultracluster.policy.graph.fleets import largest_size
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, uses_of
from ultracluster.policy.graph.placement import PLACEMENT_GROUP, fleets_in
from ultracluster.policy.graph.zones import SUBNET, subnets_of
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import diff_rule, rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_INSTANCE = "AWS::EC2::Instance"
_BATCH = "AWS::Batch::ComputeEnvironment"
_CREATE_ONLY = ("Tags", "Strategy", "SpreadLevel", "PartitionCount", "ParentGroupId")


@rule("UC-PLC-006", on=PLACEMENT_GROUP)
def one_fleet_of_one_type(group: Resource) -> Iterator[Problem]:
    """A cluster group is that of one fleet and one instance type."""
    fleets = [fleet for fleet in fleets_in(group) if fleet.type != _INSTANCE]
    if not fleets or group.get("Strategy").text() != "cluster":
        return
    if len(fleets) > 1:
        names = ", ".join(sorted(map(str, fleets)))
        yield Problem(group, f"{names} share it, so a launch may find too little capacity near the others")
        return
    types = sorted({value.text() for value in _types(fleets[0])})
    if len(types) > 1:
        yield Problem(group, f"{', '.join(types)} share it, so a launch may find too little capacity for one of them")


def _types(fleet: Resource) -> Iterator[Value]:
    if fleet.type == _BATCH:
        yield from fleet.get("ComputeResources", "InstanceTypes").items()
        return
    for use in uses_of(fleet):
        own = use.launch_template.get("LaunchTemplateData", "InstanceType")
        yield from use.types or ([own] if own.exists else [])


@rule("UC-PLC-007", on=PLACEMENT_GROUP)
def group_holds_the_fleet(group: Resource) -> Iterator[Problem]:
    """Partitions and instances stay within what a partition or spread group holds."""
    yield from _partitions(group)
    strategy = group.get("Strategy")
    if not strategy.exists or strategy.text() != "spread":
        return
    level = group.get("SpreadLevel")
    if level.text("rack") == "host":
        yield from _host_spread(group, level)
        return
    for fleet in fleets_in(group):
        with level.judged_apart():
            yield from _rack_spread(fleet)


def _partitions(group: Resource) -> Iterator[Problem]:
    count = group.get("PartitionCount")
    if not count.exists:
        return
    with count.judged_apart():
        most, where = limit("partitions"), "a partition group"
        if count.integer() <= most and _is_dedicated(group):
            most, where = limit("partitions_dedicated"), "a partition group with dedicated instances"
        if count.integer() > most:
            yield Problem(count, f"{count.shown} partitions, {where} has {most} at most", f"use {most} or fewer")


def _is_dedicated(group: Resource) -> bool:
    """Whether a launch template that refers to it asks for dedicated instances."""
    launch_templates = group.referrers(LAUNCH_TEMPLATE)
    return any(
        found.get("LaunchTemplateData", "Placement", "Tenancy").text("default") == "dedicated"
        for found in launch_templates
    )


def _host_spread(group: Resource, level: Value) -> Iterator[Problem]:
    fleets = fleets_in(group)
    subnets = [value for fleet in fleets for value in subnets_of(fleet)]
    if not subnets:
        raise NotKnown("whether the group is for an Outpost")
    if not any(_is_on_outpost(value) for value in subnets):
        message = f"host spread is for Outposts only, and no subnet of {fleets[0]} lies on one"
        yield Problem(level, message, "use rack spread, or a cluster group for training")


def _is_on_outpost(subnet: Value) -> bool:
    found = subnet.resource(SUBNET)
    if found is None:
        raise NotKnown(f"whether subnet {subnet.shown} lies on an Outpost")
    return found.get("OutpostArn").exists


def _rack_spread(fleet: Resource) -> Iterator[Problem]:
    size = largest_size(fleet)
    if size is None:
        return
    # Each subnet lies in one zone, so there are at most as many zones as subnets.
    zones = max(1, len({value.symbol() for value in subnets_of(fleet)}))
    most = zones * limit("spread_instances_per_zone")
    if size.integer(0) > most:
        where = "one zone" if zones == 1 else f"{zones} zones at most"
        message = f"{size.shown} instances, a spread group holds {most} in {where}"
        yield Problem(size, message, f"use a cluster group for training, or {most} instances at most")


@diff_rule("UC-PLC-009", on=PLACEMENT_GROUP)
def group_is_not_replaced(old: Resource | None, new: Resource | None) -> Iterator[Problem]:
    """No property changes: each of them replaces the group."""
    if old is None or new is None:
        return
    for name in _CREATE_ONLY:
        before, after = old.get(name), new.get(name)
        if before.written != after.written and before.plain() != after.plain():
            message = f"{name} changes from {before.shown} to {after.shown}, which replaces the group"
            yield Problem(after if after.exists else new, message)
