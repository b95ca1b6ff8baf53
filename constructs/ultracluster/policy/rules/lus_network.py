"""Rules between a Lustre file system and its clients: ports, EFA traffic, zone and addresses."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network

from ultracluster.facts.lustre import lustre_facts
from ultracluster.plan.lustre_clients import shares_block
from ultracluster.policy.graph.attached_groups import attached_groups, clients_of, subnets_around
from ultracluster.policy.graph.file_systems import FILE_SYSTEM
from ultracluster.policy.graph.interfaces import has_fabric, interface_list
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE
from ultracluster.policy.graph.lustre import lustre_of
from ultracluster.policy.graph.security_groups import allows_all_both_ways, allows_itself, security_group
from ultracluster.policy.graph.traffic import Rules, Side, closed_ports, rules_of, side_of
from ultracluster.policy.graph.zones import SUBNET, same, zone_of
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource


@rule("UC-LUS-009", on=FILE_SYSTEM)
def ports_are_open(file_system: Resource) -> Iterator[Problem]:
    """The Lustre ports are open between the servers, and between them and each client that can be seen."""
    lustre = lustre_of(file_system)
    if lustre is None or lustre.serves_efa:
        return  # all traffic of an EFA-enabled one is judged by UC-LUS-010
    groups = _groups(file_system)
    ports = lustre_facts().ports
    rules = rules_of(groups, "ingress"), rules_of(groups, "egress")
    own = side_of("itself", groups, file_system.get("SubnetIds").items())
    closed: list[str] = []
    for side in (own, *_clients(file_system, rules[0], own)):
        for way, each in zip(("from", "to"), rules, strict=True):
            with groups[0].judged_apart():
                spans = (
                    f"{first}" if first == last else f"{first}-{last}"
                    for first, last in closed_ports(each, ports, side)
                )
                closed.extend(f"TCP {span} {way} {side.name}" for span in spans)
    if closed:
        only = security_group(groups[0]) if len(groups) == 1 else None
        where: Value | Resource = only or file_system.get("SecurityGroupIds")
        yield Problem(where, f"no rule for {', '.join(closed)}, which servers and clients of {file_system} need")


def _groups(file_system: Resource) -> list[Value]:
    groups = file_system.get("SecurityGroupIds").items()
    if not groups:
        raise NotKnown("without SecurityGroupIds the default group of the VPC is attached")
    return groups


def _clients(file_system: Resource, incoming: Rules, own: Side) -> Iterator[Side]:
    """Whoever a rule lets in on the first Lustre port, and whatever names the file system to mount it."""
    first, last = lustre_facts().ports[0]
    for opening in incoming.openings:
        side = opening.side
        is_lustre = opening.ports[0] <= first and last <= opening.ports[1]
        if is_lustre and side is not None and not side.groups & own.groups:
            yield side
    for client in clients_of(file_system):
        with file_system.properties.judged_apart():
            groups = attached_groups(client)
            if not groups:
                raise NotKnown(f"the groups of {client}")
            yield side_of(str(client), groups, subnets_around(client))


@rule("UC-LUS-010", on=FILE_SYSTEM)
def efa_traffic_passes(file_system: Resource) -> Iterator[Problem]:
    """The group of an EFA-enabled file system exchanges all traffic with itself and with its EFA clients."""
    lustre = lustre_of(file_system)
    if lustre is None or not lustre.serves_efa:
        return
    groups = _groups(file_system)
    where = file_system.get("SecurityGroupIds")
    with where.judged_apart():
        if not _any_pair(groups, groups):
            yield Problem(where, f"no group of {file_system} allows all traffic to and from itself, which EFA needs")
    for client in _efa_clients(file_system):
        with where.judged_apart():
            if not _any_pair(groups, _fabric_groups(client)):
                yield Problem(where, f"{file_system} and {client} do not allow each other all traffic by group")


def _efa_clients(file_system: Resource) -> Iterator[Resource]:
    for client in clients_of(file_system):
        with file_system.properties.judged_apart():
            if client.type == LAUNCH_TEMPLATE and has_fabric(client):
                yield client


def _fabric_groups(client: Resource) -> list[Value]:
    found = interface_list(client)
    return [group for entry in (found.fabric if found is not None else ()) for group in entry["Groups"].items()]


def _any_pair(ours: list[Value], theirs: list[Value]) -> bool:
    """Whether some group of ours and some group of theirs exchange all traffic.

    Raises:
        NotKnown: none is known to, and one may.
    """
    doubt: NotKnown | None = None
    for one, other in ((one, other) for one in ours for other in theirs):
        try:
            if _exchange_all(one, other):
                return True
        except NotKnown as found:
            doubt = found
    if doubt is not None:
        raise doubt
    return False


def _exchange_all(one: Value, other: Value) -> bool:
    first, second = security_group(one), security_group(other)
    if first is None or second is None:
        raise NotKnown(f"the rules of {(one if first is None else other).shown}")
    return allows_itself(first) if first == second else allows_all_both_ways(first, second)


@rule("UC-LUS-011", on=FILE_SYSTEM)
def beside_its_efa_clients(file_system: Resource) -> Iterator[Problem]:
    """An EFA-enabled file system shares zone and address block with its EFA clients."""
    lustre = lustre_of(file_system)
    if lustre is None or not lustre.serves_efa:
        return
    for own in file_system.get("SubnetIds").items()[:1]:
        for client in _efa_clients(file_system):
            with own.judged_apart():
                yield from _apart(own, client)


def _apart(own: Value, client: Resource) -> Iterator[Problem]:
    for subnet in subnets_around(client):
        with own.judged_apart():
            one, other = zone_of(own), zone_of(subnet)
            if not same(one, other):
                yield Problem(own, f"in {one}, while {client} runs in {other}: EFA does not leave its zone")
                return
        with own.judged_apart():
            block, addresses = _block(own), _block(subnet)
            if not shares_block(block, addresses):
                length = lustre_facts().efa_same_prefix_length
                message = f"{block}, while {client} is in {addresses}: EFA to Lustre stays within one /{length}"
                yield Problem(own, message, f"use subnets of the same /{length}")
                return


def _block(subnet: Value) -> str:
    found = subnet.resource(SUBNET)
    if found is None:
        raise NotKnown(f"the addresses of {subnet.shown}")
    text = found.get("CidrBlock").text()
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        raise NotKnown(f"the addresses {text}") from None
