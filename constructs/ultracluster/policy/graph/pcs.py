"""AWS PCS: clusters with their node groups and queues."""

from __future__ import annotations

from ultracluster.policy.graph.fleets import PCS_NODE_GROUP
from ultracluster.policy.graph.launch_templates import named_launch_template
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = [
    "CLUSTER",
    "PCS_NODE_GROUP",
    "QUEUE",
    "cluster_of",
    "launch_template_of",
    "members_of",
    "node_groups_in",
    "node_types",
    "slurm_setting",
    "slurm_version",
    "version_number",
]

CLUSTER = "AWS::PCS::Cluster"
QUEUE = "AWS::PCS::Queue"


@remembered
def cluster_of(member: Resource) -> Resource:
    """The cluster of a node group or queue.

    Raises:
        NotKnown: it is made elsewhere.
    """
    found = member.get("ClusterId").resource(CLUSTER)
    if found is None:
        raise NotKnown("a cluster that is made elsewhere")
    return found


@remembered
def members_of(cluster: Resource) -> list[Resource]:
    """The node groups and queues of the assembly that belong to a cluster."""
    return [member for member in cluster.referrers(PCS_NODE_GROUP, QUEUE) if _belongs(member, cluster)]


def _belongs(member: Resource, cluster: Resource) -> bool:
    try:
        return cluster_of(member) == cluster
    except NotKnown:
        return False  # it names the cluster elsewhere


@remembered
def launch_template_of(group: Resource) -> Resource | None:
    """The launch template of a node group; None when it names none.

    Raises:
        NotKnown: it is made elsewhere.
    """
    specification = group.get("CustomLaunchTemplate")
    if not specification.exists:
        return None
    found = named_launch_template(specification)
    if found is None:
        raise NotKnown("a launch template that is made elsewhere")
    return found


@remembered
def node_types(group: Resource) -> list[Value]:
    """The instance types of a node group."""
    entries = group.get("InstanceConfigs").items()
    return [entry["InstanceType"] for entry in entries if entry["InstanceType"].exists]


@remembered
def node_groups_in(queue: Resource) -> list[Resource]:
    """The node groups of a queue.

    Raises:
        NotKnown: one of them is made elsewhere.
    """
    found: list[Resource] = []
    for entry in queue.get("ComputeNodeGroupConfigurations").items():
        group = entry["ComputeNodeGroupId"].resource(PCS_NODE_GROUP)
        if group is None:
            raise NotKnown("a node group that is made elsewhere")
        found.append(group)
    return found


def slurm_version(cluster: Resource) -> Value:
    """Scheduler.Version."""
    return cluster.get("Scheduler", "Version")


def version_number(text: str) -> tuple[int, ...]:
    """A Slurm version (`25.11`) as numbers that can be compared.

    Raises:
        NotKnown: it is no version.
    """
    try:
        return tuple(int(part) for part in text.split("."))
    except ValueError:
        raise NotKnown(f"the Slurm version {text}") from None


def slurm_setting(resource: Resource, name: str) -> Value | None:
    """The entry of SlurmCustomSettings with a name; None without one.

    Raises:
        NotKnown: there is none for certain, and a name is not known.
    """
    doubt: NotKnown | None = None
    for entry in resource.get("SlurmConfiguration", "SlurmCustomSettings").items():
        try:
            if entry["ParameterName"].text("") == name:
                return entry
        except NotKnown as found:
            doubt = found
    if doubt is not None:
        raise doubt
    return None
