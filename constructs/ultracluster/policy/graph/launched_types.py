"""Instance types of whatever launches instances, with or without a launch template."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ultracluster.policy.graph.accelerators import accelerators_of, is_accelerated
from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.fleets import NODE_GROUP, PCS_NODE_GROUP
from ultracluster.policy.graph.launch_templates import uses_of
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = ["has_accelerators", "launched_types"]


@remembered
def launched_types(launcher: Resource) -> list[Value]:
    """The types that something launches, each once; the values may still be unknown.

    Raises:
        NotKnown: a list is not known.
    """
    reader = _READERS.get(launcher.type)
    found = list(reader(launcher)) if reader is not None else []
    for use in uses_of(launcher):
        own = use.launch_template.get("LaunchTemplateData", "InstanceType")
        found.extend(use.types or ([own] if own.exists and not found else []))
    return list({value.symbol(): value for value in found}.values())


@remembered
def has_accelerators(launcher: Resource) -> bool:
    """Whether any of the types has accelerators, in the catalogue or by the letters of its family.

    Raises:
        NotKnown: none is known to have, and one is not known.
    """
    return any_known(launched_types(launcher), lambda value: _has(value.text()))


def _has(instance_type: str) -> bool:
    return accelerators_of(instance_type) is not None or is_accelerated(instance_type)


def _listed(*keys: str) -> Callable[[Resource], Iterator[Value]]:
    return lambda launcher: iter(launcher.get(*keys).items())


def _single(launcher: Resource) -> Iterator[Value]:
    kind = launcher.get("InstanceType")
    return iter([kind] if kind.exists else [])


def _of_entries(*keys: str) -> Callable[[Resource], Iterator[Value]]:
    def read(launcher: Resource) -> Iterator[Value]:
        for entry in launcher.get(*keys).items():
            if entry["InstanceType"].exists:
                yield entry["InstanceType"]

    return read


_READERS: dict[str, Callable[[Resource], Iterator[Value]]] = {
    "AWS::Batch::ComputeEnvironment": _listed("ComputeResources", "InstanceTypes"),
    "AWS::EC2::Instance": _single,
    "AWS::SageMaker::Cluster": _of_entries("InstanceGroups"),
    NODE_GROUP: _listed("InstanceTypes"),
    PCS_NODE_GROUP: _of_entries("InstanceConfigs"),
}
