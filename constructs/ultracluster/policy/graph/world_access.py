"""Rules of security groups that let the whole world in."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ultracluster.facts.exposure import Ports, bearer_types
from ultracluster.policy.graph.security_groups import SECURITY_GROUP, protocol_and_ports, rule_entries
from ultracluster.policy.mentions import names_in
from ultracluster.policy.states import NotKnown, Reference, Text
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = [
    "HOLDERS",
    "INGRESS",
    "Door",
    "bearers",
    "doors",
    "first_door",
    "is_exported",
    "is_on_file_systems",
    "is_on_load_balancers",
    "takes_no_login",
]

INGRESS = "AWS::EC2::SecurityGroupIngress"
HOLDERS = (SECURITY_GROUP, INGRESS)
"""What `doors` reads: groups, and rules for groups that are made elsewhere."""

_RULES = frozenset({SECURITY_GROUP, INGRESS, "AWS::EC2::SecurityGroupEgress"})
_LENGTH = re.compile(r"/(\d+)$")


@dataclass(frozen=True, slots=True)
class Door:
    """One rule that lets everybody in, or whose addresses are not known.

    Attributes:
        where: its address range.
        protocol: tcp, udp, -1 and so on.
        first: first port.
        last: last port.
        doubt: why it is not known whether everybody comes in; empty when everybody does.
    """

    where: Value
    protocol: str
    first: int
    last: int
    doubt: str = ""

    @property
    def is_for_all_traffic(self) -> bool:
        """Whether it is for every protocol."""
        return self.protocol == "-1"

    @property
    def shown(self) -> str:
        """Protocol and ports, for a message."""
        if self.is_for_all_traffic:
            return "all traffic"
        ports = f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.protocol.upper()} {ports}"

    def reaches(self, ports: Iterable[Ports]) -> Ports | None:
        """The first of these ports that it opens, all traffic left out."""
        return next((each for each in ports if each.meet(self.protocol, self.first, self.last)), None)


@remembered
def doors(holder: Resource) -> list[Door]:
    """The rules of a group, or of one rule that stands apart, that let everybody in or may do so.

    A rule that belongs to a group of the assembly is read with the group, not by itself.
    """
    if holder.type == SECURITY_GROUP:
        entries: Iterable[Value] = rule_entries(holder, "ingress")
    else:
        state = holder.get("GroupId").state
        is_read_elsewhere = isinstance(state, Reference) and state.type == SECURITY_GROUP
        entries = () if is_read_elsewhere else (holder.properties,)
    found: list[Door] = []
    with holder.properties.judged_apart():
        for entry in entries:
            found.extend(_doors(entry))
    return found


def _doors(entry: Value) -> Iterator[Door]:
    for key in ("CidrIp", "CidrIpv6"):
        with entry.judged_apart():
            if not entry[key].exists:
                continue
            doubt = ""
            try:
                if not _is_world(entry[key]):
                    continue
            except NotKnown as found:
                doubt = found.reason
            yield Door(entry[key], *protocol_and_ports(entry), doubt)


def _is_world(value: Value) -> bool:
    state = value.state
    if isinstance(state, Reference):
        return False  # the range of a VPC or subnet, the address of an instance
    if isinstance(state, Text) and isinstance(state.parts[-1], str):
        length = _LENGTH.search(state.parts[-1])
        if length is not None and int(length.group(1)):
            return False
    try:
        return ipaddress.ip_network(value.text(), strict=False).prefixlen == 0
    except ValueError:
        raise NotKnown(f"the addresses {value.shown}") from None


def first_door(holder: Resource, matches: Callable[[Door], bool]) -> Door | None:
    """The first rule that lets everybody in and is of the wanted kind.

    Raises:
        NotKnown: there is none for certain, and there may be one.
    """
    doubt = ""
    for door in doors(holder):
        if matches(door):
            if not door.doubt:
                return door
            doubt = door.doubt
    if doubt:
        raise NotKnown(doubt)
    return None


@remembered
def bearers(group: Resource) -> list[Resource]:
    """What names a group apart from rules of groups: it carries the group, as far as can be seen."""
    return [each for each in group.referrers() if each.type not in _RULES]


@remembered
def is_exported(group: Resource) -> bool:
    """Whether an output of its template names a group: somebody outside of the assembly may carry it."""
    return group.logical_id in names_in([group.template.model.section("Outputs")])


def is_on_load_balancers(holder: Resource) -> bool:
    """Whether a group is on load balancers alone."""
    return holder.type == SECURITY_GROUP and _is_only_on(holder, bearer_types("load_balancers"))


def is_on_file_systems(holder: Resource) -> bool:
    """Whether a group is on file systems alone."""
    types = bearer_types("file_systems")
    return holder.type == SECURITY_GROUP and not is_exported(holder) and _is_only_on(holder, types)


def takes_no_login(holder: Resource) -> bool:
    """Whether nobody can log in to whatever carries a group."""
    types = bearer_types("load_balancers") | bearer_types("file_systems") | bearer_types("without_login")
    return is_on_load_balancers(holder) or (
        holder.type == SECURITY_GROUP and not is_exported(holder) and _is_only_on(holder, types)
    )


def _is_only_on(group: Resource, types: frozenset[str]) -> bool:
    carried = bearers(group)
    return bool(carried) and all(each.type in types for each in carried)
