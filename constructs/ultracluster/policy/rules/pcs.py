"""Rules on compute node groups of AWS PCS: interfaces, purchase, launch template, user data, scripts."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.instances import catalog
from ultracluster.policy.graph.capacity import CAPACITY_BLOCK, market_type, reservation_of, target_of
from ultracluster.policy.graph.changes import has_changed
from ultracluster.policy.graph.interfaces import interface_list
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, users_of
from ultracluster.policy.graph.pcs import PCS_NODE_GROUP, launch_template_of, node_types
from ultracluster.policy.graph.user_data import user_data
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import diff_rule, rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_BLOCK_OPTION = "CAPACITY_BLOCK"
_ONDEMAND = "ONDEMAND"
_CURRENT = "LatestVersionNumber"
_OLD = "DefaultVersionNumber"


def _groups_with(launch_template: Resource) -> list[Resource]:
    users = dict.fromkeys(use.consumer for use in users_of(launch_template))
    return [user for user in users if user.type == PCS_NODE_GROUP]


@rule("UC-PCS-001", on=LAUNCH_TEMPLATE)
def interfaces_reach_the_nodes(launch_template: Resource) -> Iterator[Problem]:
    """The interfaces of a node group are `efa`, not `efa-only`."""
    groups = _groups_with(launch_template)
    found = interface_list(launch_template) if groups else None
    lost: list[Value] = []
    for entry in found.values if found is not None else ():
        with entry.judged_apart():
            if entry["InterfaceType"].text("") == "efa-only":
                lost.append(entry["InterfaceType"])
    if lost:
        more = f" ({len(lost) - 1} more like it)" if len(lost) > 1 else ""
        message = f"efa-only for node group {groups[0]}, and such interfaces are said not to reach its nodes{more}"
        yield Problem(lost[0], message)


@rule("UC-PCS-002", on=PCS_NODE_GROUP)
def purchase_option_fits(group: Resource) -> Iterator[Problem]:
    """The purchase option of a node group and the market type of its launch template say the same."""
    option = group.get("PurchaseOption")
    launch_template = launch_template_of(group)
    if launch_template is None:
        return
    wanted, market = option.text(_ONDEMAND), market_type(launch_template)
    is_block = market.text("") == CAPACITY_BLOCK
    reservation = reservation_of(target_of(launch_template)["CapacityReservationId"])
    if wanted == _BLOCK_OPTION and reservation is not None:
        message = f"{_BLOCK_OPTION}, and the target {reservation} is an On-Demand reservation"
        yield Problem(option, message, f"set PurchaseOption {_ONDEMAND} and no market type")
    elif wanted == _BLOCK_OPTION and not is_block:
        message = f"{_BLOCK_OPTION}, and launch template {launch_template} has market type {market.shown}"
        yield Problem(option, message, f"set MarketType capacity-block, or PurchaseOption {_ONDEMAND}")
    elif wanted in {_ONDEMAND, "SPOT"} and is_block and reservation is None:
        shown = option.shown if option.exists else f"absent ({_ONDEMAND})"
        message = f"{shown}, and launch template {launch_template} has market type capacity-block"
        yield Problem(option, message, f"set PurchaseOption {_BLOCK_OPTION}")


@rule("UC-PCS-010", on=PCS_NODE_GROUP)
def version_moves_along(group: Resource) -> Iterator[Problem]:
    """The version of the launch template moves when the template changes it."""
    if launch_template_of(group) is None:
        return
    version = group.get("CustomLaunchTemplate", "Version")
    reference = version.reference()
    if reference is not None:
        if reference.attribute == _OLD:
            message = f"{version.shown}, which stays at the first version unless somebody moves it"
            yield Problem(version, message)
    elif version.text("").isdecimal():
        message = f"{version.shown} beside a launch template of the same app, whose changes never arrive"
        yield Problem(version, message)


@rule("UC-PCS-011", on=PCS_NODE_GROUP)
def scripts_cannot_loop(group: Resource) -> Iterator[Problem]:
    """A script that ends its node when it fails is pinned."""
    for stage in group.get("NodeLifecycleActions", "Stages").fields().values():
        for script in stage.items():
            with script.judged_apart():
                if script["OnError"].text("TERMINATE") == "TERMINATE":
                    yield from _unpinned(script)


def _unpinned(script: Value) -> Iterator[Problem]:
    source = script["ScriptSource"]
    is_on_s3 = source["ScriptLocation"].prefix().startswith("s3://")
    wanted = ("S3VersionId", "Checksum") if is_on_s3 else ("Checksum",)
    missing = [name for name in wanted if not source[name].exists]
    if missing:
        message = (
            f"ends its node when it fails, and {source['ScriptLocation'].shown} is not pinned"
            f" ({' and '.join(missing)} absent): a bad version replaces node after node"
        )
        yield Problem(script, message)


@rule("UC-PCS-014", on=PCS_NODE_GROUP)
def block_as_documented(group: Resource) -> Iterator[Problem]:
    """The launch template of a Capacity Block names its type, one of a family that PCS names for blocks."""
    if group.get("PurchaseOption").text("") != _BLOCK_OPTION:
        return
    launch_template = launch_template_of(group)
    kind = launch_template.get("LaunchTemplateData", "InstanceType") if launch_template is not None else None
    if kind is not None and not kind.exists:
        yield Problem(kind, f"absent in the launch template of {group}, which draws on a Capacity Block")
    for each in node_types(group):
        with each.judged_apart():
            facts = catalog().get(each.text())
            if facts is None:
                raise NotKnown(f"{each.shown} is not in the catalogue")
            if not facts.pcs_capacity_block:
                message = f"{each.shown} in a Capacity Block, which PCS does not name among the families it takes"
                yield Problem(each, message, "try one node first")


@rule("UC-PCS-015", on=PCS_NODE_GROUP)
def groups_in_one_place(group: Resource) -> Iterator[Problem]:
    """Security groups stand on the node group or in the interfaces."""
    groups = group.get("SecurityGroupIds")
    if not groups.exists or (groups.is_list and not groups.items()):
        return
    launch_template = launch_template_of(group)
    if launch_template is not None and interface_list(launch_template) is not None:
        yield Problem(groups, f"{groups.shown} beside the interfaces of launch template {launch_template}")


@rule("UC-PCS-017", on=LAUNCH_TEMPLATE)
def user_data_is_mime(launch_template: Resource) -> Iterator[Problem]:
    """User data of a node group is a MIME multipart document, into which PCS merges its own."""
    groups = _groups_with(launch_template)
    found = user_data(launch_template) if groups else None
    if found is not None and found.is_encoded and found.first and found.boundary is None:
        line = found.first.split("\n", 1)[0][:40]
        message = f"it begins with {line!r}, and PCS merges MIME multipart only: {groups[0]} gets no nodes"
        yield Problem(found.value, message)


@diff_rule("UC-PCS-016", on=PCS_NODE_GROUP)
def group_is_not_replaced(old: Resource | None, new: Resource | None) -> Iterator[Problem]:
    """The instance types of a node group stay."""
    if old is None or new is None:
        return
    before, after = old.get("InstanceConfigs"), new.get("InstanceConfigs")
    if has_changed(before, after, ordered=False):
        types = [", ".join(kind.shown for kind in node_types(each)) for each in (old, new)]
        message = f"InstanceConfigs changes from {types[0]} to {types[1]}, which replaces the node group"
        yield Problem(after if after.exists else new, message)
