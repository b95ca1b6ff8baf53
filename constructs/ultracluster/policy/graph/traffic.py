"""Whether ports are open between two sides when rules, groups or addresses are known in part only.

A rule with an unknown source still tells its ports: where no rule at all opens a port, it is closed for certain.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from ultracluster.policy.graph.security_groups import (
    PEER_KEYS,
    SECURITY_GROUP,
    Direction,
    has_default_egress,
    protocol_and_ports,
    rule_entries,
    security_group,
)
from ultracluster.policy.graph.zones import SUBNET
from ultracluster.policy.states import NotKnown, Reference
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

__all__ = ["Opening", "Rules", "Side", "closed_ports", "rules_of", "side_of"]

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Ports = tuple[int, int]
_VPC = "AWS::EC2::VPC"
_WORLD = {"0.0.0.0/0", "::/0"}


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the traffic.

    Attributes:
        name: how it is called in a finding.
        groups: groups of the assembly that it carries.
        marks: symbols of what else may name it: unknown groups, the address range of its VPC.
        networks: its addresses; None when they are not known.
        is_partial: whether it carries more groups than those.
    """

    name: str
    groups: frozenset[Resource] = frozenset()
    marks: frozenset[Hashable] = frozenset()
    networks: tuple[Network, ...] | None = None
    is_partial: bool = False


@dataclass(frozen=True, slots=True)
class Opening:
    """One rule.

    Attributes:
        ports: first and last port.
        group: the group of the assembly that it is for.
        cidr: the address range that it is for.
        mark: symbol of what it is for, whatever that is.
        shown: what it is for, in words.
    """

    ports: Ports
    group: Resource | None
    cidr: Network | None
    mark: Hashable
    shown: str

    def is_for(self, side: Side) -> bool | None:
        """Whether it is for a side; None when that cannot be told."""
        if self.group is not None:
            return True if self.group in side.groups else (None if side.is_partial else False)
        if self.mark in side.marks:
            return True
        if self.cidr is None:
            return None
        return True if str(self.cidr) in _WORLD else _holds(self.cidr, side.networks)

    @property
    def side(self) -> Side | None:
        """What it is for, as a side; None for the world."""
        if self.group is not None:
            return Side(str(self.group), frozenset({self.group}), _vpc_marks([self.group]))
        if self.cidr is not None and str(self.cidr) in _WORLD:
            return None
        networks = (self.cidr,) if self.cidr is not None else None
        return Side(self.shown, marks=frozenset({self.mark}), networks=networks)


@dataclass(slots=True)
class Rules:
    """The rules of all groups of one side, for one direction and TCP.

    Attributes:
        openings: rules that can be read.
        is_open: whether everything goes out by default.
        doubts: why there may be more rules.
    """

    openings: list[Opening] = field(default_factory=list)
    is_open: bool = False
    doubts: list[str] = field(default_factory=list)


def _holds(network: Network, parts: tuple[Network, ...] | None) -> bool | None:
    if parts is None:
        return None
    if all(_within(part, network) for part in parts):
        return True
    return None if any(part.version == network.version and part.overlaps(network) for part in parts) else False


def _within(part: Network, network: Network) -> bool:
    if isinstance(network, ipaddress.IPv4Network):
        return isinstance(part, ipaddress.IPv4Network) and part.subnet_of(network)
    return isinstance(part, ipaddress.IPv6Network) and part.subnet_of(network)


def rules_of(groups: Iterable[Value], direction: Direction) -> Rules:
    """The rules of some groups together."""
    rules = Rules()
    for value in groups:
        try:
            group = security_group(value)
            if group is None:
                rules.doubts.append(f"the rules of {value.shown}")
                continue
            rules.is_open |= direction == "egress" and has_default_egress(group)
            for entry in rule_entries(group, direction):
                _read(rules, entry, direction)
        except NotKnown as doubt:
            rules.doubts.append(doubt.reason)
    return rules


def _read(rules: Rules, entry: Value, direction: Direction) -> None:
    try:
        protocol, *ports = protocol_and_ports(entry)
    except NotKnown as doubt:
        rules.doubts.append(doubt.reason)
        return
    if protocol in {"-1", "tcp"}:
        rules.openings.append(_opening((ports[0], ports[1]), entry, direction))


def _opening(ports: Ports, entry: Value, direction: Direction) -> Opening:
    group_key, prefix_key = PEER_KEYS[direction]
    written = next((entry[key] for key in ("CidrIp", "CidrIpv6", group_key) if entry[key].exists), entry[prefix_key])
    is_group = written.label[-1] == group_key
    group = _group(written) if is_group else None
    cidr = None if is_group or not written.exists else _network(written)
    return Opening(ports, group, cidr, written.symbol(), written.shown)


def _group(value: Value) -> Resource | None:
    """The group of the assembly that a value names; None for whatever else it may name."""
    state = value.state
    is_group = isinstance(state, Reference) and state.type == SECURITY_GROUP
    return Resource(state.target, value.world) if is_group and isinstance(state, Reference) else None


def _network(value: Value) -> Network | None:
    """An address range, also one that is read from a VPC or subnet of the assembly."""
    state = value.state
    if isinstance(state, Reference) and state.attribute == "CidrBlock":
        value = Resource(state.target, value.world).get("CidrBlock")
    try:
        return ipaddress.ip_network(value.text(), strict=False)
    except (NotKnown, ValueError):
        return None


def side_of(name: str, groups: list[Value], subnets: list[Value] | None) -> Side:
    """A side that carries some groups and stands in some subnets.

    Args:
        name: how it is called in a finding.
        groups: its groups, known or not.
        subnets: its subnets; None when they are not known.
    """
    known = [group for value in groups if (group := _group(value)) is not None]
    marks = frozenset(value.symbol() for value in groups) | _vpc_marks([*known, *_subnets(subnets or [])])
    networks = _networks(subnets) if subnets else None
    return Side(name, frozenset(known), marks, networks, is_partial=len(known) < len(groups))


def _subnets(values: list[Value]) -> list[Resource]:
    states = ((value.state, value.world) for value in values)
    return [
        Resource(state.target, world)
        for state, world in states
        if isinstance(state, Reference) and state.type == SUBNET
    ]


def _networks(subnets: list[Value]) -> tuple[Network, ...] | None:
    found = []
    for value in subnets:
        state = value.state
        subnet = Resource(state.target, value.world) if isinstance(state, Reference) else None
        network = _network(subnet.get("CidrBlock")) if subnet is not None and subnet.type == SUBNET else None
        if network is None:
            return None
        found.append(network)
    return tuple(found)


def _vpc_marks(residents: Iterable[Resource]) -> frozenset[Hashable]:
    """What the address range of the VPC may be called: it holds the groups and subnets of the VPC."""
    marks: set[Hashable] = set()
    for resident in residents:
        state = resident.get("VpcId").state
        if isinstance(state, Reference) and state.type == _VPC:
            marks.add(("reference", id(state.target), "CidrBlock"))
            marks.add(Resource(state.target, resident.world).get("CidrBlock").symbol())
    return frozenset(marks)


def closed_ports(rules: Rules, ports: Iterable[Ports], side: Side) -> list[Ports]:
    """The ranges that the rules certainly do not open for a side.

    Raises:
        NotKnown: no range is closed for certain, and one may be.
    """
    if rules.is_open:
        return []
    answers = [(opening.ports, opening.is_for(side)) for opening in rules.openings]
    certain = [span for span, answer in answers if answer]
    possible = [span for span, answer in answers if answer is not False]
    missing = [wanted for wanted in ports if not _covers(certain, wanted)]
    closed = [] if rules.doubts else [wanted for wanted in missing if not _covers(possible, wanted)]
    if missing and not closed:
        raise NotKnown(rules.doubts[0] if rules.doubts else f"whether the rules are for {side.name}")
    return closed


def _covers(spans: list[Ports], wanted: Ports) -> bool:
    reached, last = wanted
    for first, end in sorted(spans):
        if first > reached:
            break
        reached = max(reached, end + 1)
    return reached > last
