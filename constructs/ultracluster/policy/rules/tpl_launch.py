"""Rules on how launch templates are written and named: lists, versions, physical names."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.policy.graph.fleets import AUTO_SCALING_GROUP, EC2_FLEET, NODE_GROUP, PCS_NODE_GROUP, SPOT_FLEET
from ultracluster.policy.graph.launch_places import launch_places
from ultracluster.policy.graph.launch_templates import CONSUMERS, LAUNCH_TEMPLATE, named_launch_template
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_INSTANCE = "AWS::EC2::Instance"
_BATCH = "AWS::Batch::ComputeEnvironment"
_DATA = "LaunchTemplateData"
_MIXED = ("MixedInstancesPolicy", "LaunchTemplate", "Overrides")
_SPOT = ("SpotFleetRequestConfigData",)
# Lists of objects that decide about instances, and below which each of their entries may hold another one.
_LISTS: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    LAUNCH_TEMPLATE: (((_DATA, "NetworkInterfaces"), ""), ((_DATA, "BlockDeviceMappings"), "")),
    _INSTANCE: ((("NetworkInterfaces",), ""), (("BlockDeviceMappings",), "")),
    AUTO_SCALING_GROUP: ((_MIXED, ""),),
    EC2_FLEET: ((("LaunchTemplateConfigs",), "Overrides"),),
    SPOT_FLEET: (((*_SPOT, "LaunchTemplateConfigs"), "Overrides"), ((*_SPOT, "LaunchSpecifications"), "")),
    _BATCH: ((("ComputeResources", "LaunchTemplate", "Overrides"), ""),),
}
_NAMES = {PCS_NODE_GROUP: "Name", _BATCH: "ComputeEnvironmentName", NODE_GROUP: "NodegroupName"}
_MOVING = ("$Latest", "$Default")


@rule("UC-TPL-005", on=tuple(_LISTS))
def lists_are_lists(resource: Resource) -> Iterator[Problem]:
    """Lists of interfaces, volumes and overrides are no objects."""
    for keys, inner in _LISTS[resource.type]:
        listed = resource.get(*keys)
        with listed.judged_apart():
            if _is_object(listed):
                yield _no_list(listed)
            elif inner and listed.is_list:
                yield from (_no_list(entry[inner]) for entry in listed.items() if _is_object(entry[inner]))


def _is_object(value: Value) -> bool:
    if not value.is_object:
        if not value.known:
            value.items()  # says why it is not known
        return False
    if any(str(key).startswith("Fn::") for key in value.fields()):
        raise NotKnown(f"what {value.path} becomes")
    return True


def _no_list(value: Value) -> Problem:
    keys = [str(key) for key in value.fields()]
    shown = ", ".join(keys[:3]) + (", ..." if len(keys) > 3 else "")  # noqa: PLR2004 - enough to recognise it
    cause = ", as an override of an absent list leaves it" if keys and all(key.isdigit() for key in keys) else ""
    return Problem(value, f"an object with {shown or 'no key'} in the place of a list{cause}", "write the whole list")


@rule("UC-TPL-008", on=CONSUMERS)
def version_moves_with_the_template(consumer: Resource) -> Iterator[Problem]:
    """The version of a launch template is the one that this deployment made, or a number that somebody chose."""
    for place in launch_places(consumer):
        specification = place.specification
        with specification.judged_apart():
            message = _fault_of_version(consumer, specification)
            if message:
                version = specification["Version"]
                yield Problem(version if version.exists else specification, message)


def _fault_of_version(consumer: Resource, specification: Value) -> str:
    version = specification["Version"]
    if not version.exists:
        # Elsewhere the version is required, or a rule of its own judges it.
        own = named_launch_template(specification) if consumer.type == NODE_GROUP else None
        return f"no version, so changes of {own} never arrive: the default version stays the first one" if own else ""
    reference = version.reference()
    if reference is not None:
        if reference.type != LAUNCH_TEMPLATE or reference.attribute != "DefaultVersionNumber":
            return ""
        return f"{version.shown} stays the first version, so changes of {reference.logical_id} never arrive"
    text = version.text()
    if text in _MOVING:
        moves = "moves without a deployment" if text == _MOVING[0] else "does not move with the template"
        return f"{text} {moves}, and nothing tells which version a node runs"
    own = named_launch_template(specification)
    return f"version {text} is fixed, so changes of {own} never arrive" if own is not None else ""


@rule("UC-TPL-009", on=tuple(_NAMES))
def no_name_on_what_is_replaced(resource: Resource) -> Iterator[Problem]:
    """A resource that an update may have to replace carries no physical name."""
    name = resource.get(_NAMES[resource.type])
    if not name.exists:
        return
    if resource.type == _BATCH and not resource.get("ReplaceComputeEnvironment").boolean(True):
        return  # every change is made in place
    shown = name.shown if name.known else "the name"
    yield Problem(name, f"{shown} is taken while the old one lives, so an update that replaces it fails")
