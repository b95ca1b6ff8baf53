"""Roles that nodes have."""

from __future__ import annotations

from ultracluster.facts.permissions import permission_list
from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.fleets import NODE_GROUP
from ultracluster.policy.graph.networks import HYPERPOD
from ultracluster.policy.graph.roles import PROFILE, ROLE, managed_policies
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = ["is_node_role"]


@remembered
def is_node_role(role: Resource) -> bool:
    """Whether instances have a role: by an instance profile, a node group of EKS, or HyperPod.

    Raises:
        NotKnown: it is not known to be one, and something that names it is not known.
    """
    if any_known(role.referrers(PROFILE, NODE_GROUP, HYPERPOD), lambda user: _has(user, role)):
        return True
    return any(name in permission_list("hyperpod_policies") for _, name in managed_policies(role))


def _has(user: Resource, role: Resource) -> bool:
    return any_known(_roles(user), lambda value: value.resource(ROLE) == role)


def _roles(user: Resource) -> list[Value]:
    if user.type == PROFILE:
        return user.get("Roles").items()
    if user.type == NODE_GROUP:
        return [user.get("NodeRole")]
    return [group["ExecutionRole"] for group in user.get("InstanceGroups").items()]
