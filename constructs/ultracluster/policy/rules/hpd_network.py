"""Rules on the network of SageMaker HyperPod: security groups with EFA, own networks of instance groups."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ultracluster.facts.hyperpod import hyperpod_facts
from ultracluster.policy.graph.hyperpod import CLUSTER, InstanceGroup, instance_groups, is_slurm
from ultracluster.policy.graph.security_groups import (
    GroupRule,
    allows_itself,
    egress,
    has_default_egress,
    security_group,
)
from ultracluster.policy.graph.zones import same, zone_of
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource


def _fabric_groups(cluster: Resource) -> Iterator[InstanceGroup]:
    """Instance groups with EFA; those of which it is not known are noted."""
    for group in instance_groups(cluster):
        with group.value.judged_apart():
            if group.has_fabric:
                yield group


def _attached(cluster: Resource) -> list[Value]:
    """Security groups of instance groups with EFA, each once."""
    found: dict[object, Value] = {}
    for group in _fabric_groups(cluster):
        with group.value.judged_apart():
            for value in group.network["SecurityGroupIds"].items():
                found.setdefault(value.symbol(), value)
    return list(found.values())


@rule("UC-HPD-001", on=CLUSTER)
def every_group_lets_the_fabric_through(cluster: Resource) -> Iterator[Problem]:
    """Every security group of nodes with EFA allows all traffic to and from itself."""
    for value in _attached(cluster):
        with value.judged_apart():
            if not allows_itself(_readable(value)):
                message = (
                    f"{value.shown} does not allow all traffic to and from itself: the EFA check of the nodes fails"
                )
                yield Problem(value, message)


def _readable(value: Value) -> Resource:
    found = security_group(value)
    if found is None:
        raise NotKnown(f"the rules of security group {value.shown}")
    return found


@rule("UC-HPD-002", on=CLUSTER)
def no_open_egress(cluster: Resource) -> Iterator[Problem]:
    """Security groups of nodes with EFA do not let everything out."""
    for value in _attached(cluster):
        with value.judged_apart():
            group = _readable(value)
            if has_default_egress(group):
                message = "no egress is written, so all traffic to 0.0.0.0/0 goes out, and the EFA check may fail on it"
                yield Problem(group, f"{message} ({cluster})")
                continue
            found = _to_the_world(group)
            if found is not None:
                yield Problem(
                    found.where, f"{found.peer.cidr} on nodes of {cluster} with EFA, whose check may fail on it"
                )


def _to_the_world(group: Resource) -> GroupRule | None:
    return next((found for found in egress(group) if found.peer.is_world), None)


@rule("UC-HPD-006", on=CLUSTER)
def networks_of_groups(cluster: Resource) -> Iterator[Problem]:
    """The own network of an instance group is within the limits, and in one zone where the group has EFA."""
    for group in instance_groups(cluster):
        override = group.value["OverrideVpcConfig"]
        with override.judged_apart():
            if override.exists:
                yield from _within_limits(override, cluster)
    for group in _fabric_groups(cluster):
        override = group.value["OverrideVpcConfig"]
        with override.judged_apart():
            if override.exists:
                yield from _zones(override["Subnets"].items())


def _within_limits(override: Value, cluster: Resource) -> Iterator[Problem]:
    facts = hyperpod_facts()
    if not cluster.get("VpcConfig").exists and is_slurm(cluster):
        message = "an own network, and the cluster has none: with Slurm the cluster needs a VpcConfig too"
        yield Problem(override, message)
    for name, most in (("Subnets", facts.most_subnets), ("SecurityGroupIds", facts.most_groups)):
        with override.judged_apart():
            if len(override[name].items()) > most:
                yield Problem(override[name], f"{override[name].shown}, HyperPod takes {most}")


def _zones(subnets: list[Value]) -> Iterator[Problem]:
    if len({value.symbol() for value in subnets}) < 2:  # noqa: PLR2004 - one subnet has one zone
        return
    for one, other in combinations(subnets, 2):
        first, second = zone_of(one), zone_of(other)
        if not same(first, second):
            yield Problem(other, f"{first} and {second} for nodes with EFA, whose traffic does not leave a zone")
            return
