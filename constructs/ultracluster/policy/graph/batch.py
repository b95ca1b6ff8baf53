"""AWS Batch: which environments the queues lead to, and the containers of multi-node jobs."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.batch import batch_facts
from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.launch_templates import users_of, uses_of
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Assembly, Resource
from ultracluster.policy.world import remembered

__all__ = [
    "COMPUTE_ENVIRONMENT",
    "JOB_DEFINITION",
    "JOB_QUEUE",
    "any_leads_to_nodes",
    "containers_of",
    "environment_kind",
    "environment_types",
    "environments_of",
    "environments_with",
    "has_multi_node",
    "has_queues",
    "is_multi_node",
    "launch_templates_of",
    "leads_to_nodes",
    "multi_node_environments",
    "node_ranges",
    "runs_multi_node",
    "uses_own_interfaces",
]

COMPUTE_ENVIRONMENT = "AWS::Batch::ComputeEnvironment"
JOB_DEFINITION = "AWS::Batch::JobDefinition"
JOB_QUEUE = "AWS::Batch::JobQueue"


@remembered
def is_multi_node(definition: Resource) -> bool:
    """Whether a job definition is one of a multi-node parallel job.

    Raises:
        NotKnown: its type is not known.
    """
    return definition.get("Type").text("").lower() == "multinode"


@remembered
def node_ranges(definition: Resource) -> list[Value]:
    """NodeRangeProperties of a job definition."""
    return definition.get("NodeProperties", "NodeRangeProperties").items()


def containers_of(node_range: Value) -> list[Value]:
    """The containers of a node range; none for pods on EKS.

    Raises:
        NotKnown: a list of them is not known.
    """
    if node_range["Container"].exists:
        return [node_range["Container"]]
    tasks = node_range.get("EcsProperties", "TaskProperties").items()
    return [container for task in tasks for container in task["Containers"].items()]


@remembered
def uses_own_interfaces(definition: Resource) -> bool:
    """Whether the nodes of a multi-node job are containers of ECS, each with an interface of its own."""
    return is_multi_node(definition) and not any(entry["EksProperties"].exists for entry in node_ranges(definition))


@remembered
def environment_kind(environment: Resource) -> str:
    """UNMANAGED, or the Type of the compute resources (EC2, SPOT, FARGATE, ...).

    Raises:
        NotKnown: it is not known.
    """
    if environment.get("Type").text("MANAGED").upper() == "UNMANAGED":
        return "UNMANAGED"
    return environment.get("ComputeResources", "Type").text().upper()


def runs_multi_node(environment: Resource) -> bool:
    """Whether an environment runs multi-node jobs.

    Raises:
        NotKnown: its type is not known.
    """
    return environment_kind(environment) == batch_facts().managed_type


@remembered
def environments_of(queue: Resource) -> list[Resource]:
    """The environments that a queue leads to.

    Raises:
        NotKnown: one of them is made elsewhere.
    """
    return list(_environments(queue))


def _environments(queue: Resource) -> Iterator[Resource]:
    for entry in queue.get("ComputeEnvironmentOrder").items():
        found = entry["ComputeEnvironment"].resource(COMPUTE_ENVIRONMENT)
        if found is None:
            raise NotKnown(f"environment {entry['ComputeEnvironment'].shown}, which is made elsewhere")
        yield found


def has_multi_node(assembly: Assembly) -> bool:
    """Whether any job definition of the assembly is one of a multi-node job.

    Raises:
        NotKnown: none is known to be, and the type of one is not known.
    """
    return assembly.world.remember(
        "multi-node job definitions", lambda: any_known(assembly.resources(JOB_DEFINITION), is_multi_node)
    )


def has_queues(assembly: Assembly) -> bool:
    """Whether the assembly has a job queue."""
    return next(assembly.resources(JOB_QUEUE), None) is not None


def leads_to_nodes(queue: Resource) -> bool:
    """Whether a queue leads to an environment that runs multi-node jobs.

    Raises:
        NotKnown: none is known to, and one is not known.
    """
    return any_known(environments_of(queue), runs_multi_node)


def any_leads_to_nodes(assembly: Assembly) -> bool:
    """Whether any queue of the assembly leads to an environment that runs multi-node jobs.

    Raises:
        NotKnown: none is known to, and one is not known.
    """
    return assembly.world.remember(
        "queues to multi-node environments", lambda: any_known(assembly.resources(JOB_QUEUE), leads_to_nodes)
    )


def environment_types(assembly: Assembly) -> set[str]:
    """The instance types of all environments.

    Raises:
        NotKnown: one of them is not known.
    """
    return assembly.world.remember("types of all environments", lambda: set(_types(assembly)))


def _types(assembly: Assembly) -> Iterator[str]:
    for environment in assembly.resources(COMPUTE_ENVIRONMENT):
        for kind in environment.get("ComputeResources", "InstanceTypes").items():
            yield kind.text()


def multi_node_environments(assembly: Assembly) -> list[Resource]:
    """Environments that a queue may give to multi-node jobs with interfaces of their own; none without such a job.

    Raises:
        NotKnown: it is not known what a queue leads to.
    """
    if not any(uses_own_interfaces(definition) for definition in assembly.resources(JOB_DEFINITION)):
        return []
    found = [environment for queue in assembly.resources(JOB_QUEUE) for environment in environments_of(queue)]
    return [environment for environment in dict.fromkeys(found) if runs_multi_node(environment)]


@remembered
def environments_with(launch_template: Resource) -> list[Resource]:
    """The environments that launch from a launch template, each once."""
    users = dict.fromkeys(use.consumer for use in users_of(launch_template))
    return [user for user in users if user.type == COMPUTE_ENVIRONMENT]


@remembered
def launch_templates_of(environment: Resource) -> list[Resource]:
    """The launch templates of an environment, overrides included; those of elsewhere are noted as not judged."""
    base = environment.get("ComputeResources", "LaunchTemplate")
    found = list(dict.fromkeys(use.launch_template for use in uses_of(environment)))
    with base.judged_apart():
        if base.exists and not found:
            raise NotKnown("a launch template that is made elsewhere")
    return found
