"""Placement groups, and whoever launches into them."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.policy.graph.launch_templates import CONSUMERS, LAUNCH_TEMPLATE, users_of, uses_of
from ultracluster.policy.states import NotKnown, Opaque
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = [
    "PLACEMENT_GROUP",
    "all_named_groups",
    "fleets_in",
    "group_in_arn",
    "named_groups",
    "placement_group",
    "same_group",
    "shown_group",
]

PLACEMENT_GROUP = "AWS::EC2::PlacementGroup"

_OWN = {
    "AWS::AutoScaling::AutoScalingGroup": ("PlacementGroup",),
    "AWS::Batch::ComputeEnvironment": ("ComputeResources", "PlacementGroup"),
    "AWS::EC2::Instance": ("PlacementGroupName",),
}
_IN_LAUNCH_TEMPLATE = ("GroupName", "GroupId")


def named_groups(resource: Resource) -> list[Value]:
    """Where a launch template or a consumer itself names placement groups."""
    if resource.type == LAUNCH_TEMPLATE:
        placement = resource.get("LaunchTemplateData", "Placement")
        return [placement[key] for key in _IN_LAUNCH_TEMPLATE if placement[key].exists]
    own = resource.get(*_OWN[resource.type]) if resource.type in _OWN else None
    return [own] if own is not None and own.exists else []


def placement_group(value: Value) -> Resource | None:
    """The group of the assembly that a value names; None for the name or id of one that is made elsewhere.

    Raises:
        NotKnown: what it names is not known.
    """
    return value.resource(PLACEMENT_GROUP)


def shown_group(value: Value) -> str:
    """A group as a message names it."""
    try:
        found = placement_group(value)
    except NotKnown:
        return "of elsewhere"
    return value.shown if found is None else str(found)


@remembered
def fleets_in(group: Resource) -> list[Resource]:
    """Everything that launches into a group, itself or through a launch template; single instances included."""
    found: dict[Resource, None] = {}
    for resource in group.referrers(LAUNCH_TEMPLATE, *CONSUMERS):
        if any(_is(value, group) for value in named_groups(resource)):
            users = [use.consumer for use in users_of(resource)] if resource.type == LAUNCH_TEMPLATE else [resource]
            found.update(dict.fromkeys(users))
    return list(found)


def _is(value: Value, group: Resource) -> bool:
    try:
        return placement_group(value) == group
    except NotKnown:
        return False  # what refers to a resource of the assembly is always known


def all_named_groups(consumer: Resource) -> Iterator[Value]:
    """Groups that a consumer names itself and through its launch templates."""
    yield from named_groups(consumer)
    for launch_template in dict.fromkeys(use.launch_template for use in uses_of(consumer)):
        yield from named_groups(launch_template)


def same_group(one: Value, other: Value) -> bool:
    """Whether two values name the same group.

    Raises:
        NotKnown: it cannot be told.
    """
    if one.symbol() == other.symbol():
        return True
    groups = (placement_group(one), placement_group(other))
    if groups != (None, None):
        return groups[0] == groups[1]
    if one.label[-1] == other.label[-1] or "GroupId" not in (one.label[-1], other.label[-1]):
        return False
    raise NotKnown(f"whether {one.shown} is {other.shown}: a name and an id")


def group_in_arn(arn: Value) -> Resource | str:
    """The group that a PlacementGroupArn names: the resource, or its name.

    Raises:
        NotKnown: it cannot be told.
    """
    parts = arn.parts()
    references = [part.reference for part in parts if isinstance(part, Opaque) and part.reference is not None]
    for reference in references:
        if reference.type == PLACEMENT_GROUP:
            return Resource(reference.target, arn.world)
    last = parts[-1] if parts else ""
    if isinstance(last, str) and "placement-group/" in last:
        return last.rsplit("placement-group/", 1)[1]
    raise NotKnown(f"the group of {arn.shown}")
