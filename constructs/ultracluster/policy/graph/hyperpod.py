"""SageMaker HyperPod: the instance groups of a cluster, their types and networks."""

from __future__ import annotations

from dataclasses import dataclass

from ultracluster.facts.hyperpod import hyperpod_facts
from ultracluster.facts.instances import InstanceType, catalog
from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = ["CLUSTER", "InstanceGroup", "catalogued", "instance_groups", "is_slurm"]

CLUSTER = "AWS::SageMaker::Cluster"
_LISTS = ("InstanceGroups", "RestrictedInstanceGroups")


@dataclass(frozen=True, slots=True)
class InstanceGroup:
    """One instance group of a cluster.

    Attributes:
        cluster: the cluster.
        value: its entry.
    """

    cluster: Resource
    value: Value

    @property
    def types(self) -> list[Value]:
        """Its instance types, in order of priority.

        Raises:
            NotKnown: the list is not known.
        """
        single = self.value["InstanceType"]
        return [single] if single.exists else self.value.get("InstanceRequirements", "InstanceTypes").items()

    @property
    def network(self) -> Value:
        """Its own VpcConfig, else that of the cluster, which may be absent."""
        own = self.value["OverrideVpcConfig"]
        return own if own.exists else self.cluster.get("VpcConfig")

    @property
    def has_fabric(self) -> bool:
        """Whether its nodes have EFA.

        Raises:
            NotKnown: no type is known to have it, and one is not known.
        """
        if self.value.get("NetworkInterface", "InterfaceType").exists:
            return True
        return any_known(self.types, lambda kind: _facts(kind).supports_efa)


def catalogued(kind: Value) -> InstanceType | None:
    """The facts of a type, with or without `ml.`; None for one outside the catalogue."""
    return catalog().get(kind.text().removeprefix(hyperpod_facts().type_prefix))


def _facts(kind: Value) -> InstanceType:
    found = catalogued(kind)
    if found is None:
        raise NotKnown(f"{kind.shown} is not in the catalogue")
    return found


@remembered
def instance_groups(cluster: Resource) -> list[InstanceGroup]:
    """All instance groups of a cluster, restricted ones included.

    Raises:
        NotKnown: a list of them is not known.
    """
    return [InstanceGroup(cluster, entry) for name in _LISTS for entry in cluster.get(name).items()]


@remembered
def is_slurm(cluster: Resource) -> bool:
    """Whether Slurm is the orchestrator, which it is when none is named.

    Raises:
        NotKnown: the orchestrator is not known.
    """
    orchestrator = cluster.get("Orchestrator")
    return not orchestrator.exists or (orchestrator["Slurm"].exists and not orchestrator["Eks"].exists)
