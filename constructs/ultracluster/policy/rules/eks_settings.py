"""Rules on how managed node groups scale, update and repair, and on what an update would replace."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.eks import eks_facts
from ultracluster.policy.graph.accelerators import is_accelerated
from ultracluster.policy.graph.capacity import target_of
from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.changes import has_changed
from ultracluster.policy.graph.node_groups import NODE_GROUP, draws_on_block, is_for_training, launch_template_of
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import diff_rule, rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.view import Resource

_MINIMAL = "MINIMAL"


@rule("UC-EKS-010", on=NODE_GROUP)
def empty_until_the_block_starts(group: Resource) -> Iterator[Problem]:
    """A group on a Capacity Block starts empty, because the block may not have begun."""
    desired = group.get("ScalingConfig", "DesiredSize")
    if desired.exists and draws_on_block(group) and desired.integer() > 0:
        yield Problem(desired, f"{desired.shown} nodes, and every launch fails until the block has begun")


@rule("UC-EKS-015", on=NODE_GROUP)
def nodes_are_repaired(group: Resource) -> Iterator[Problem]:
    """Node repair is on for a group with accelerators."""
    enabled = group.get("NodeRepairConfig", "Enabled")
    if not enabled.boolean(False) and is_for_training(group):
        shown = enabled.shown if enabled.exists else "absent (off)"
        yield Problem(enabled, f"{shown}, so a node with a broken accelerator stays in the group")


@rule("UC-EKS-016", on=NODE_GROUP)
def scarce_capacity_is_updated_in_place(group: Resource) -> Iterator[Problem]:
    """An update of scarce capacity ends old nodes first, because there is none for new ones beside them."""
    strategy = group.get("UpdateConfig", "UpdateStrategy")
    if strategy.text("DEFAULT") != _MINIMAL and any_known((is_for_training, _is_reserved), lambda ask: ask(group)):
        shown = strategy.shown if strategy.exists else "absent (DEFAULT)"
        yield Problem(strategy, f"{shown}, which launches new nodes beside the old ones")


def _is_reserved(group: Resource) -> bool:
    launch_template = launch_template_of(group)
    return launch_template is not None and target_of(launch_template).exists


@rule("UC-EKS-017", on=NODE_GROUP)
def one_form_of_each_threshold(group: Resource) -> Iterator[Problem]:
    """A repair threshold is a count or a percentage."""
    for count, percentage in eks_facts().repair_threshold_pairs:
        one, other = (group.get("NodeRepairConfig", name) for name in (count, percentage))
        if one.exists and other.exists:
            yield Problem(other, f"{other.shown} beside {count} {one.shown}, EKS takes one of the two")


@rule("UC-EKS-020", on=NODE_GROUP)
def type_can_be_changed(group: Resource) -> Iterator[Problem]:
    """A single accelerated type stands in the launch template, where it can change without a new group."""
    types = group.get("InstanceTypes")
    if not types.exists or not group.get("LaunchTemplate").exists:
        return
    listed = types.items()
    if len(listed) != 1 or not is_accelerated(listed[0].text()):
        return
    launch_template = launch_template_of(group)
    if launch_template is not None and not launch_template.get("LaunchTemplateData", "InstanceType").exists:
        message = f"{listed[0].shown} on the node group, where another type replaces the group"
        yield Problem(types, message, f"name it in launch template {launch_template}")


@diff_rule("UC-EKS-020", on=NODE_GROUP)
def group_is_not_replaced(old: Resource | None, new: Resource | None) -> Iterator[Problem]:
    """No create-only property of a node group changes."""
    if old is None or new is None:
        return
    doubt: NotKnown | None = None
    for name in eks_facts().create_only:
        before, after = old.get(name), new.get(name)
        try:
            if has_changed(before, after, ordered=False):
                message = f"{name} changes from {before.shown} to {after.shown}, which replaces the node group"
                yield Problem(after if after.exists else new, message, "add a second group, then drain the first")
        except NotKnown as found:
            doubt = found
    if doubt is not None:
        raise doubt
