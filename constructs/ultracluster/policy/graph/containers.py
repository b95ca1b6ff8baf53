"""Containers of AWS Batch jobs and ECS tasks: their environment and their command."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

__all__ = ["JOB_DEFINITION", "TASK_DEFINITION", "containers_of", "environment_of"]

JOB_DEFINITION, TASK_DEFINITION = "AWS::Batch::JobDefinition", "AWS::ECS::TaskDefinition"


def containers_of(definition: Resource) -> Iterator[Value]:
    """Every container of a job or task definition.

    Raises:
        NotKnown: a list on the way is not known.
    """
    if definition.type == TASK_DEFINITION:
        yield from definition.get("ContainerDefinitions").items()
        return
    yield from _below(definition.properties, "ContainerProperties")
    for entry in definition.get("NodeProperties", "NodeRangeProperties").items():
        yield from _below(entry, "Container")


def _below(value: Value, single: str) -> Iterator[Value]:
    if value[single].exists:
        yield value[single]
    for task in value.get("EcsProperties", "TaskProperties").items():
        yield from task["Containers"].items()
    pod = value.get("EksProperties", "PodProperties")
    for key in ("Containers", "InitContainers"):
        yield from pod[key].items()


def environment_of(container: Value) -> Iterator[tuple[Value, Value]]:
    """Names and values of its environment, as Batch and ECS or as Kubernetes write them."""
    for key in ("Environment", "Env"):
        for entry in container[key].items():
            yield entry["Name"], entry["Value"]
