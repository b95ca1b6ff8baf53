"""Rules on what a managed node group of Amazon EKS and its launch template may say, and which of the two says it."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.eks import eks_facts
from ultracluster.policy.graph.capacity import CAPACITY_BLOCK, fleet_buys_block, is_block, market_type, target_of
from ultracluster.policy.graph.interfaces import interface_list
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE
from ultracluster.policy.graph.node_groups import (
    NODE_GROUP,
    has_own_image,
    is_for_training,
    launch_template_of,
    node_groups_of,
    node_types,
)
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_SPOT = "spot"


@rule("UC-EKS-001", on=LAUNCH_TEMPLATE)
def no_subnet_in_the_launch_template(launch_template: Resource) -> Iterator[Problem]:
    """The launch template of a node group leaves the subnets to the group."""
    groups = node_groups_of(launch_template)
    found = interface_list(launch_template) if groups else None
    if found is None:
        return
    named: list[Value] = []
    for entry in found.values:
        with entry.judged_apart():
            if entry["SubnetId"].exists:
                named.append(entry["SubnetId"])
    if named:
        more = f" ({len(named) - 1} more like it)" if len(named) > 1 else ""
        yield Problem(named[0], f"{named[0].shown} in the launch template of node group {groups[0]}{more}")


@rule("UC-EKS-002", on=LAUNCH_TEMPLATE)
def no_banned_settings(launch_template: Resource) -> Iterator[Problem]:
    """The launch template of a node group has no setting that EKS keeps for itself."""
    groups = node_groups_of(launch_template)
    if not groups:
        return
    for name, fix in eks_facts().launch_template_bans.items():
        value = launch_template.get("LaunchTemplateData", name)
        with value.judged_apart():
            if value.exists:
                yield Problem(value, f"{value.shown} in the launch template of node group {groups[0]}", fix)
    market = market_type(launch_template)
    if market.text("") == _SPOT:
        message = f"spot in the launch template of node group {groups[0]}"
        yield Problem(market, message, "use CapacityType SPOT of the node group")


@rule("UC-EKS-003", on=NODE_GROUP)
def type_in_one_place(group: Resource) -> Iterator[Problem]:
    """The instance type stands in the launch template or on the node group."""
    own = group.get("InstanceTypes")
    if not own.exists or (own.is_list and not own.items()):
        return
    launch_template = launch_template_of(group)
    inner = launch_template.get("LaunchTemplateData", "InstanceType") if launch_template is not None else None
    if inner is not None and inner.exists:
        yield Problem(own, f"instance types beside {inner.shown} in launch template {launch_template}")


@rule("UC-EKS-008", on=NODE_GROUP)
def settings_in_one_place(group: Resource) -> Iterator[Problem]:
    """What the launch template decides does not stand on the node group too."""
    if not group.get("LaunchTemplate").exists:
        return
    facts = eks_facts()
    for name in facts.beside_launch_template_bans:
        value = group.get(name)
        if value.exists:
            yield Problem(value, f"{value.shown} beside a launch template", "set it in the launch template")
    written = [value for name in facts.beside_own_image_bans if (value := group.get(name)).exists]
    if not written or not has_own_image(group):
        return
    for value in written:
        with value.judged_apart():
            if value.label[-1] != "AmiType" or value.text() != facts.own_image_ami_type:
                message = f"{value.shown} beside the image of launch template {launch_template_of(group)}"
                yield Problem(value, message, "leave it out, or leave the image to the AMI type")


@rule("UC-EKS-009", on=NODE_GROUP)
def block_is_complete(group: Resource) -> Iterator[Problem]:
    """A group on a Capacity Block says so, and its launch template names market type, block and instance type."""
    option = group.get("CapacityType")
    wanted = fleet_buys_block(group)
    launch_template = launch_template_of(group)
    if wanted and launch_template is not None:
        yield from _missing_in(launch_template, option)
    elif wanted:
        yield Problem(option, "CAPACITY_BLOCK without a launch template, which has to name the block")
    elif launch_template is not None and is_block(launch_template):
        shown = option.shown if option.exists else "absent (ON_DEMAND)"
        message = f"{shown} with launch template {launch_template}, which draws on a Capacity Block"
        yield Problem(option, message, "set CapacityType CAPACITY_BLOCK")


def _missing_in(launch_template: Resource, option: Value) -> Iterator[Problem]:
    market, kind = market_type(launch_template), launch_template.get("LaunchTemplateData", "InstanceType")
    with market.judged_apart():
        if market.text("") != CAPACITY_BLOCK:
            message = f"CAPACITY_BLOCK, and launch template {launch_template} has market type {market.shown}"
            yield Problem(option, message, "set MarketType capacity-block")
        elif not target_of(launch_template).exists:
            yield Problem(market, "capacity-block without CapacityReservationTarget", "name the block")
    with kind.judged_apart():
        if not kind.exists:
            yield Problem(kind, "absent in the launch template of a group on a Capacity Block", "name the type there")


@rule("UC-EKS-021", on=NODE_GROUP)
def type_is_named(group: Resource) -> Iterator[Problem]:
    """A group that is made for accelerators names its instance type."""
    if not node_types(group) and is_for_training(group):
        default = eks_facts().default_instance_type
        message = f"no instance type here or in the launch template, so EKS takes {default}"
        yield Problem(group.get("InstanceTypes"), message)
