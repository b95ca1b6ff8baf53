"""What a security group allows: its inline rules together with the separate ingress and egress resources."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = [
    "PEER_KEYS",
    "SECURITY_GROUP",
    "Direction",
    "GroupRule",
    "Peer",
    "allows_all",
    "allows_all_both_ways",
    "allows_itself",
    "allows_ports",
    "egress",
    "has_default_egress",
    "ingress",
    "protocol_and_ports",
    "rule_entries",
    "security_group",
]

SECURITY_GROUP = "AWS::EC2::SecurityGroup"
_INGRESS, _EGRESS = "AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress"
_ALL_PORTS = (0, 65535)
_NUMBERS = {"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6"}
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Direction = Literal["ingress", "egress"]
PEER_KEYS = {
    "ingress": ("SourceSecurityGroupId", "SourcePrefixListId"),
    "egress": ("DestinationSecurityGroupId", "DestinationPrefixListId"),
}
"""Where a rule names a group or a prefix list."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The other side of a rule; exactly one attribute is given.

    Attributes:
        group: a security group of the assembly.
        cidr: an address range, IPv4 or IPv6.
        other: anything else: a literal group id, a prefix list.
    """

    group: Resource | None = None
    cidr: str | None = None
    other: str | None = None

    @property
    def is_world(self) -> bool:
        """Whether it is every address."""
        return self.cidr in {"0.0.0.0/0", "::/0"}


@dataclass(frozen=True, slots=True)
class GroupRule:
    """One rule of a security group.

    Attributes:
        where: the rule as it is written: an inline entry, or the properties of its own resource.
        protocol: tcp, udp, icmp, icmpv6 or -1.
        first: first port; 0 for all.
        last: last port.
        peer: the other side.
    """

    where: Value
    protocol: str
    first: int
    last: int
    peer: Peer

    @property
    def is_all_traffic(self) -> bool:
        """Whether it allows every protocol and port."""
        return self.protocol == "-1"

    def holds(self, first: int, last: int, protocol: str = "tcp") -> bool:
        """Whether it covers a range of ports."""
        return self.is_all_traffic or (self.protocol == protocol and self.first <= first and last <= self.last)

    def meets(self, first: int, last: int, protocol: str = "tcp") -> bool:
        """Whether it covers any port of a range."""
        return self.is_all_traffic or (self.protocol == protocol and self.first <= last and first <= self.last)


def security_group(value: Value) -> Resource | None:
    """The group that a value names (Ref, GroupId and Id are the same); None for a literal id of elsewhere.

    Raises:
        NotKnown: what it names is not known.
    """
    return value.resource(SECURITY_GROUP)


@remembered
def ingress(group: Resource) -> list[GroupRule]:
    """All rules for what comes in.

    Raises:
        NotKnown: one of them cannot be read.
    """
    return list(_rules(group, "ingress"))


@remembered
def egress(group: Resource) -> list[GroupRule]:
    """All rules for what goes out, apart from the default one; ask `has_default_egress` too.

    Raises:
        NotKnown: one of them cannot be read.
    """
    return list(_rules(group, "egress"))


@remembered
def has_default_egress(group: Resource) -> bool:
    """Whether the group keeps the open egress that it is made with: no inline egress is written."""
    return not group.get("SecurityGroupEgress").items()


def _rules(group: Resource, direction: Direction) -> Iterator[GroupRule]:
    for entry in rule_entries(group, direction):
        yield _rule(entry, direction)


def rule_entries(group: Resource, direction: Direction) -> Iterator[Value]:
    """The rules as they are written, inline and separate.

    The separate ones come first: where the inline list is not known, they may still decide.

    Raises:
        NotKnown: the inline list is not known.
    """
    inline, kind = ("SecurityGroupIngress", _INGRESS) if direction == "ingress" else ("SecurityGroupEgress", _EGRESS)
    for resource in group.referrers(kind):
        if resource.get("GroupId").resource(SECURITY_GROUP) == group:
            yield resource.properties
    yield from group.get(inline).items()


def _rule(entry: Value, direction: Direction) -> GroupRule:
    return GroupRule(entry, *protocol_and_ports(entry), _peer(entry, direction))


def protocol_and_ports(entry: Value) -> tuple[str, int, int]:
    """Protocol, first and last port of a rule.

    Raises:
        NotKnown: one of them is not known.
    """
    text = entry["IpProtocol"].text().lower()
    protocol = _NUMBERS.get(text, text)
    first, last = entry["FromPort"].integer(-1), entry["ToPort"].integer(-1)
    whole = protocol == "-1" or first == -1
    return protocol, *(_ALL_PORTS if whole else (first, last if last != -1 else first))


def _peer(entry: Value, direction: Direction) -> Peer:
    group_key, prefix_key = PEER_KEYS[direction]
    for key in ("CidrIp", "CidrIpv6"):
        if entry[key].exists:
            return Peer(cidr=entry[key].text())
    value = entry[group_key]
    if value.exists:
        found = security_group(value)
        return Peer(group=found) if found is not None else Peer(other=value.text())
    return Peer(other=entry[prefix_key].shown)


def allows_all(group: Resource, peer: Resource, direction: Direction) -> bool:
    """Whether a rule of the group allows all traffic from (or to) another group by its id.

    An open CIDR is no such rule: EFA traffic does not pass by address.

    Raises:
        NotKnown: no rule does, and one of them cannot be read.
    """
    return any(rule.peer.group == peer for rule in _all_traffic(group, direction))


def _all_traffic(group: Resource, direction: Direction) -> Iterator[GroupRule]:
    """The rules for all traffic, a doubt about one of them at the end: a rule that is known may decide without it."""
    doubts: list[NotKnown] = []
    entries = rule_entries(group, direction)
    while True:
        try:
            entry = next(entries, None)
            if entry is None:
                break
            if entry["IpProtocol"].text() == "-1":
                yield _rule(entry, direction)
        except NotKnown as doubt:
            doubts.append(doubt)
    if doubts:
        raise doubts[0]


def allows_all_both_ways(group: Resource, peer: Resource) -> bool:
    """Whether both groups allow each other all traffic in both directions by id.

    Raises:
        NotKnown: as `allows_all`.
    """
    pairs = ((group, peer), (peer, group))
    return all(allows_all(one, other, way) for one, other in pairs for way in ("ingress", "egress"))


@remembered
def allows_itself(group: Resource) -> bool:
    """Whether the group allows all traffic to and from itself by its id, as EFA needs it.

    Raises:
        NotKnown: as `allows_all`.
    """
    return allows_all(group, group, "ingress") and allows_all(group, group, "egress")


def allows_ports(
    rules: Iterable[GroupRule],
    first: int,
    last: int,
    *,
    peer: Resource | None = None,
    cidrs: Iterable[str] = (),
    protocol: str = "tcp",
) -> bool:
    """Whether rules together cover a range of ports for a peer.

    Args:
        rules: `ingress(group)` or `egress(group)`.
        first: first port.
        last: last port.
        peer: the group of the other side.
        cidrs: address ranges of the other side; a rule counts when its range holds one of them.
        protocol: tcp or udp.
    """
    wanted = [ipaddress.ip_network(cidr, strict=False) for cidr in cidrs]
    spans = sorted(
        (rule.first, rule.last)
        for rule in rules
        if rule.meets(first, last, protocol) and _is_for(rule.peer, peer, wanted)
    )
    reached = first
    for start, end in spans:
        if start > reached:
            return False
        reached = max(reached, end + 1)
    return reached > last


def _is_for(found: Peer, peer: Resource | None, cidrs: list[Network]) -> bool:
    if found.group is not None:
        return found.group == peer
    if found.cidr is None:
        return False
    try:
        network = ipaddress.ip_network(found.cidr, strict=False)
    except ValueError:
        return False
    return any(_holds(network, cidr) for cidr in cidrs) or (found.is_world and not cidrs)


def _holds(network: Network, part: Network) -> bool:
    if isinstance(network, ipaddress.IPv4Network):
        return isinstance(part, ipaddress.IPv4Network) and part.subnet_of(network)
    return isinstance(part, ipaddress.IPv6Network) and part.subnet_of(network)
