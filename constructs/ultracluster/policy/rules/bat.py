"""Rules on compute environments of AWS Batch and their launch templates."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.batch import batch_facts
from ultracluster.policy.graph.batch import COMPUTE_ENVIRONMENT, environments_with, launch_templates_of
from ultracluster.policy.graph.capacity import is_block, target_of
from ultracluster.policy.graph.interfaces import has_fabric, interface_list
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, users_of
from ultracluster.policy.graph.placement import all_named_groups
from ultracluster.policy.graph.roles import role_of
from ultracluster.policy.graph.user_data import user_data
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_MOVING = ("$Latest", "$Default")


@rule("UC-BAT-001", on=COMPUTE_ENVIRONMENT)
def groups_or_interfaces(environment: Resource) -> Iterator[Problem]:
    """An environment whose launch template lists interfaces names no security groups."""
    groups = environment.get("ComputeResources", "SecurityGroupIds")
    if not groups.exists:
        return
    is_empty = groups.is_list and not groups.items()
    for launch_template in launch_templates_of(environment):
        with groups.judged_apart():
            if interface_list(launch_template) is None:
                continue
            if is_empty:
                raise NotKnown("whether Batch takes an empty list of groups beside interfaces")
            message = f"{groups.shown} beside the interfaces of launch template {launch_template}"
            yield Problem(groups, message)
            return


@rule("UC-BAT-002", on=LAUNCH_TEMPLATE)
def user_data_is_mime(launch_template: Resource) -> Iterator[Problem]:
    """User data of an environment is a MIME multipart document, into which Batch merges its own."""
    environments = environments_with(launch_template)
    found = user_data(launch_template) if environments else None
    if found is None or not found.is_encoded:
        return  # text that is not base64 is a fault of its own
    if found.first and found.boundary is None:
        line = found.first.split("\n", 1)[0][:40]
        message = f"it begins with {line!r}, and Batch merges MIME multipart only: {environments[0]} turns INVALID"
        yield Problem(found.value, message)


@rule("UC-BAT-011", on=COMPUTE_ENVIRONMENT)
def fabric_has_its_placement_group(environment: Resource) -> Iterator[Problem]:
    """An environment with EFA launches into a placement group, unless reserved capacity places its instances."""
    group = environment.get("ComputeResources", "PlacementGroup")
    if group.exists:
        return
    for launch_template in launch_templates_of(environment):
        with group.judged_apart():
            if has_fabric(launch_template) and not _is_placed(launch_template):
                if next(all_named_groups(environment), None) is None:
                    message = f"absent here and in launch template {launch_template}, whose interfaces have EFA"
                    yield Problem(group, message)
                return


def _is_placed(launch_template: Resource) -> bool:
    """Whether the capacity that it launches into was placed before."""
    target = target_of(launch_template)
    return is_block(launch_template) or (target.exists and bool(target.fields()))


@rule("UC-BAT-014", on=LAUNCH_TEMPLATE)
def no_market_options(launch_template: Resource) -> Iterator[Problem]:
    """The launch template of an environment has no market options."""
    options = launch_template.get("LaunchTemplateData", "InstanceMarketOptions")
    environments = environments_with(launch_template) if options.exists else []
    if environments:
        shown = options["MarketType"].shown if options.is_object else options.shown
        message = f"{shown} in the launch template of {environments[0]}, and Batch documents that it ignores it"
        yield Problem(options, message)


@rule("UC-BAT-015", on=COMPUTE_ENVIRONMENT)
def version_is_pinned(environment: Resource) -> Iterator[Problem]:
    """The version of a launch template is a number."""
    base = environment.get("ComputeResources", "LaunchTemplate")
    for place in (base, *base["Overrides"].items()):
        version = place["Version"]
        with version.judged_apart():
            if place.exists and version.reference() is None and version.text("$Default") in _MOVING:
                shown = version.shown if version.exists else "absent ($Default)"
                message = f"{shown}, which Batch resolves when it makes or updates the environment, and not again"
                yield Problem(version, message)


@rule("UC-BAT-021", on=LAUNCH_TEMPLATE)
def no_ignored_settings(launch_template: Resource) -> Iterator[Problem]:
    """The launch template of an environment has no setting that Batch ignores."""
    environments = environments_with(launch_template)
    if not environments or len(environments) < len({use.consumer for use in users_of(launch_template)}):
        return  # whatever else launches from it may need the setting
    for name, fix in batch_facts().ignored_settings.items():
        value = launch_template.get("LaunchTemplateData", name)
        with value.judged_apart():
            if value.exists and not all(_says_the_same(each, value) for each in environments):
                yield Problem(value, f"{value.shown} has no effect in environment {environments[0]}", fix)
    subnet = _named_subnet(launch_template)
    if subnet is not None:
        message = f"{subnet.shown} has no effect in environment {environments[0]}"
        yield Problem(subnet, message, "name it in Subnets of the environment")


def _says_the_same(environment: Resource, value: Value) -> bool:
    """Whether the environment has the same setting, which makes the ignored one harmless."""
    resources = environment.get("ComputeResources")
    name = value.label[-1]
    if name == "InstanceType":
        return value.symbol() in {kind.symbol() for kind in resources["InstanceTypes"].items()}
    if name == "IamInstanceProfile":
        return _same_profile(resources["InstanceRole"], value)
    return not value.boolean(True)  # protection that is off is what Batch does anyway


def _same_profile(role: Value, profile: Value) -> bool:
    named = {profile[key].symbol() for key in ("Arn", "Name") if profile[key].exists}
    if role.symbol() in named:
        return True
    found = role_of(profile)
    return found is not None and found == role_of(role)


def _named_subnet(launch_template: Resource) -> Value | None:
    found = interface_list(launch_template)
    entries = found.values if found is not None else []
    return next((entry["SubnetId"] for entry in entries if entry["SubnetId"].exists), None)
