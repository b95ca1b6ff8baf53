"""Rules on clusters of AWS PCS: budget, names, subnet, Slurm version, accounting, ports."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ultracluster.facts.pcs import pcs_facts
from ultracluster.plan.zones import local_zone_group, region_of_zone
from ultracluster.policy.graph.attached_groups import attached_groups
from ultracluster.policy.graph.interfaces import interface_list
from ultracluster.policy.graph.pcs import (
    CLUSTER,
    PCS_NODE_GROUP,
    QUEUE,
    cluster_of,
    launch_template_of,
    members_of,
    slurm_setting,
)
from ultracluster.policy.graph.security_groups import allows_itself, security_group
from ultracluster.policy.graph.traffic import closed_ports, rules_of, side_of
from ultracluster.policy.graph.zones import SUBNET, zone_of
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_WAVELENGTH = "-wlz-"


@rule("UC-PCS-004", on=CLUSTER)
def nodes_fit_the_size(cluster: Resource) -> Iterator[Problem]:
    """The node groups of a cluster are together no larger than its size."""
    size = cluster.get("Size")
    if not size.exists:
        return
    most = pcs_facts().cluster_nodes.get(size.text())
    if most is None:
        raise NotKnown(f"how many nodes size {size.shown} has")
    total = 0
    for group in members_of(cluster):
        if group.type == PCS_NODE_GROUP:
            count = group.get("ScalingConfiguration", "MaxInstanceCount")
            with count.judged_apart():
                total += max(0, count.integer())
    if total > most:
        yield Problem(size, f"{size.shown} holds {most} nodes, and its node groups may grow to {total}")


@rule("UC-PCS-005", on=(CLUSTER, PCS_NODE_GROUP, QUEUE))
def names_and_numbers(resource: Resource) -> Iterator[Problem]:
    """Names have the right form, and a cluster does not have too many node groups and queues."""
    facts = pcs_facts()
    name = resource.get("Name")
    with name.judged_apart():
        if name.exists:
            shortest, longest = facts.cluster_name_length if resource.type == CLUSTER else facts.group_name_length
            text = name.text()
            if not shortest <= len(text) <= longest:
                yield Problem(name, f"{name.shown} has {len(text)} characters, PCS takes {shortest} to {longest}")
            elif not facts.name_pattern.fullmatch(text):
                yield Problem(
                    name, f"{name.shown} is not a letter with letters, digits and hyphens, or begins with pcs_"
                )
    if resource.type == CLUSTER:
        yield from _numbers(resource)


def _numbers(cluster: Resource) -> Iterator[Problem]:
    facts = pcs_facts()
    kinds = [member.type for member in members_of(cluster)]
    for kind, most, what in (
        (PCS_NODE_GROUP, facts.node_groups_per_cluster, "node groups"),
        (QUEUE, facts.queues_per_cluster, "queues"),
    ):
        if kinds.count(kind) > most:
            yield Problem(cluster, f"{kinds.count(kind)} {what}, the default quota of a cluster is {most}")


@rule("UC-PCS-006", on=PCS_NODE_GROUP)
def scheduler_and_nodes_talk(group: Resource) -> Iterator[Problem]:
    """The Slurm ports are open between the scheduler and the nodes."""
    launch_template = launch_template_of(group)
    if launch_template is None:
        return
    cluster = cluster_of(group)
    ours = _groups(cluster.get("Networking", "SecurityGroupIds").items(), str(cluster))
    theirs = _groups(_node_groups(launch_template), str(launch_template))
    shared = {value.symbol(): value for value in ours}
    if any(_allows_itself(shared[value.symbol()]) for value in theirs if value.symbol() in shared):
        return
    closed = [*_closed_at_the_scheduler(cluster, ours, theirs), *_closed_at_the_nodes(cluster, ours, theirs)]
    if closed:
        yield Problem(theirs[0], f"no rule for {', '.join(closed)}, between scheduler and nodes of {cluster}")


def _groups(values: list[Value], of: str) -> list[Value]:
    if not values:
        raise NotKnown(f"the groups of {of}, which names none")
    return values


def _node_groups(launch_template: Resource) -> list[Value]:
    """The groups of the interfaces that have an address."""
    found = interface_list(launch_template)
    if found is None:
        return attached_groups(launch_template)
    read: dict[str, Value] = {}
    for entry in found.values:
        if entry["InterfaceType"].text("") != "efa-only":
            groups = entry["Groups"]
            read.setdefault(repr(groups.written), groups)  # most of dozens of entries carry the same
    return list({value.symbol(): value for groups in read.values() for value in groups.items()}.values())


def _allows_itself(value: Value) -> bool:
    found = security_group(value)
    if found is None:
        raise NotKnown(f"the rules of security group {value.shown}")
    return allows_itself(found)


def _closed_at_the_scheduler(cluster: Resource, ours: list[Value], theirs: list[Value]) -> list[str]:
    port = pcs_facts().controller_port
    closed = closed_ports(rules_of(ours, "ingress"), [(port, port)], side_of("the nodes", theirs, None))
    return [f"TCP {port} into {cluster}"] if closed else []


def _closed_at_the_nodes(cluster: Resource, ours: list[Value], theirs: list[Value]) -> list[str]:
    port = pcs_facts().node_port
    subnets = cluster.get("Networking", "SubnetIds")
    scheduler = side_of("the scheduler", ours, subnets.items() if subnets.is_list else None)
    closed = closed_ports(rules_of(theirs, "ingress"), [(port, port)], scheduler)
    told = [f"TCP {port} into the nodes"] if closed else []
    span = _srun_ports(cluster)
    if span and closed_ports(rules_of(theirs, "ingress"), [span], side_of("the nodes", theirs, None)):
        told.append(f"TCP {span[0]}-{span[1]} among the nodes")
    return told


def _srun_ports(cluster: Resource) -> tuple[int, int] | None:
    """SrunPortRange; None where it is left to the service."""
    setting = slurm_setting(cluster, "SrunPortRange")
    match = re.fullmatch(r"(\d+)-(\d+)", setting["ParameterValue"].text()) if setting is not None else None
    return (int(match.group(1)), int(match.group(2))) if match else None


@rule("UC-PCS-007", on=CLUSTER)
def one_ordinary_subnet(cluster: Resource) -> Iterator[Problem]:
    """The scheduler stands in one subnet of an ordinary zone."""
    subnets = cluster.get("Networking", "SubnetIds")
    listed = subnets.items()
    if len(listed) != 1:
        yield Problem(subnets, f"{len(listed)} subnets, PCS takes one for the scheduler")
    for value in listed:
        with value.judged_apart():
            place = _unusual_place(value)
            if place:
                yield Problem(value, f"{value.shown} lies {place}, where PCS does not run the scheduler")


def _unusual_place(subnet: Value) -> str:
    found = subnet.resource(SUBNET)
    if found is not None and found.get("OutpostArn").exists:
        return "on an Outpost"
    zone = zone_of(subnet)
    if zone.name is None:
        return ""  # picked from a list of Availability Zones
    if _WAVELENGTH in zone.name:
        return f"in the Wavelength Zone {zone.name}"
    is_local = region_of_zone(zone.name) is not None and local_zone_group(zone.name) is not None
    return f"in the Local Zone {zone.name}" if is_local else ""


@rule("UC-PCS-012", on=CLUSTER)
def accounting_is_decided(cluster: Resource) -> Iterator[Problem]:
    """A cluster says whether Slurm keeps accounts, and for how long."""
    accounting = cluster.get("SlurmConfiguration", "Accounting")
    mode, days = accounting["Mode"], accounting["DefaultPurgeTimeInDays"]
    if not mode.exists:
        yield Problem(mode, "absent (NONE), so nobody can tell later who used what")
    elif days.exists and days.integer() == 0:
        yield Problem(
            days, "0 days, PCS takes 1 to 10000, or -1 to keep records for ever", "set -1, or a number of days"
        )
