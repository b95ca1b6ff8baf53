"""Where each kind of consumer names its launch templates and the instance types it launches from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

__all__ = ["CONSUMERS", "LaunchPlace", "launch_places"]


@dataclass(frozen=True, slots=True)
class LaunchPlace:
    """A specification of a launch template with the types that are launched from it."""

    specification: Value
    types: tuple[Value, ...]


def launch_places(consumer: Resource) -> list[LaunchPlace]:
    """All places of one consumer; none for a resource that launches nothing.

    Raises:
        NotKnown: a list of overrides or types is not known.
    """
    reader = _READERS.get(consumer.type)
    return list(reader(consumer)) if reader is not None else []


def _overridden(base: Value, overrides: list[Value]) -> Iterator[LaunchPlace]:
    """A base specification and overrides, each of which may name a launch template of its own."""
    shared = [entry["InstanceType"] for entry in overrides if not entry["LaunchTemplateSpecification"].exists]
    named = tuple(value for value in shared if value.exists)
    if base.exists and (shared or not overrides):
        yield LaunchPlace(base, named)
    elif base.exists:
        # Every override has its own launch template; the base one serves nothing but is still part of the policy.
        yield LaunchPlace(base, ())
    for entry in overrides:
        own = entry["LaunchTemplateSpecification"]
        if own.exists:
            kind = entry["InstanceType"]
            yield LaunchPlace(own, (kind,) if kind.exists else ())


def _auto_scaling_group(group: Resource) -> Iterator[LaunchPlace]:
    plain = group.get("LaunchTemplate")
    if plain.exists:
        yield LaunchPlace(plain, ())
    mixed = group.get("MixedInstancesPolicy", "LaunchTemplate")
    if mixed.exists:
        yield from _overridden(mixed["LaunchTemplateSpecification"], mixed["Overrides"].items())


def _configurations(configurations: Value) -> Iterator[LaunchPlace]:
    for entry in configurations.items():
        types = tuple(kind for override in entry["Overrides"].items() if (kind := override["InstanceType"]).exists)
        if entry["LaunchTemplateSpecification"].exists:
            yield LaunchPlace(entry["LaunchTemplateSpecification"], types)


def _ec2_fleet(fleet: Resource) -> Iterator[LaunchPlace]:
    yield from _configurations(fleet.get("LaunchTemplateConfigs"))


def _spot_fleet(fleet: Resource) -> Iterator[LaunchPlace]:
    yield from _configurations(fleet.get("SpotFleetRequestConfigData", "LaunchTemplateConfigs"))


def _instance(instance: Resource) -> Iterator[LaunchPlace]:
    kind = instance.get("InstanceType")
    if instance.get("LaunchTemplate").exists:
        yield LaunchPlace(instance.get("LaunchTemplate"), (kind,) if kind.exists else ())


def _node_group(group: Resource) -> Iterator[LaunchPlace]:
    if group.get("LaunchTemplate").exists:
        yield LaunchPlace(group.get("LaunchTemplate"), tuple(group.get("InstanceTypes").items()))


def _batch_environment(environment: Resource) -> Iterator[LaunchPlace]:
    resources = environment.get("ComputeResources")
    base, types = resources["LaunchTemplate"], tuple(resources["InstanceTypes"].items())
    if not base.exists:
        return
    yield LaunchPlace(base, types)
    for override in base["Overrides"].items():
        targets = [kind for target in override["TargetInstanceTypes"].items() for kind in _targeted(target, types)]
        yield LaunchPlace(override, tuple(targets) or types)


def _targeted(target: Value, types: tuple[Value, ...]) -> list[Value]:
    """What an override launches: of a family, only the types that the environment lists where it lists some.

    A name that is not known stays what it is, for whoever judges the types.
    """
    if not isinstance(target.state, str):
        return [target]
    family = f"{target.state}."
    return [kind for kind in types if isinstance(kind.state, str) and kind.state.startswith(family)] or [target]


def _pcs_node_group(group: Resource) -> Iterator[LaunchPlace]:
    if group.get("CustomLaunchTemplate").exists:
        types = (entry["InstanceType"] for entry in group.get("InstanceConfigs").items())
        yield LaunchPlace(group.get("CustomLaunchTemplate"), tuple(kind for kind in types if kind.exists))


_READERS: dict[str, Callable[[Resource], Iterator[LaunchPlace]]] = {
    "AWS::AutoScaling::AutoScalingGroup": _auto_scaling_group,
    "AWS::EC2::EC2Fleet": _ec2_fleet,
    "AWS::EC2::SpotFleet": _spot_fleet,
    "AWS::EC2::Instance": _instance,
    "AWS::EKS::Nodegroup": _node_group,
    "AWS::Batch::ComputeEnvironment": _batch_environment,
    "AWS::PCS::ComputeNodeGroup": _pcs_node_group,
}
CONSUMERS = tuple(_READERS)
"""Resource types that launch instances from launch templates."""
