"""The list of network interfaces of a launch template in the form that the plan checks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from ultracluster.plan.interface_rules import NetworkInterfaceEntry
from ultracluster.plan.network_interfaces import InterfaceKind
from ultracluster.policy.graph.security_groups import allows_all_both_ways, allows_itself, security_group
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

__all__ = ["LISTED", "interface_entries", "requested_efa"]

LISTED = "NetworkInterfaces"
_KINDS: dict[str, InterfaceKind] = {"interface": "interface", "efa": "efa", "efa-only": "efa-only"}
_ADDRESSES = (
    "Ipv4PrefixCount",
    "Ipv4Prefixes",
    "Ipv6AddressCount",
    "Ipv6Addresses",
    "Ipv6PrefixCount",
    "Ipv6Prefixes",
    "PrivateIpAddress",
    "PrivateIpAddresses",
    "SecondaryPrivateIpAddressCount",
)


def interface_entries(listed: Value, *, with_groups: bool = False) -> tuple[NetworkInterfaceEntry, ...]:
    """The entries of a list.

    Args:
        listed: LaunchTemplateData.NetworkInterfaces.
        with_groups: also whether the groups of each entry let EFA through.

    Raises:
        NotKnown: the list, or the card, device or type of an entry is not known.
    """
    return tuple(_entry(entry, with_groups=with_groups) for entry in listed.items())


def _entry(entry: Value, *, with_groups: bool) -> NetworkInterfaceEntry:
    kind = entry["InterfaceType"].text("interface")
    if kind not in _KINDS:
        raise NotKnown(f"InterfaceType {kind}")
    groups = _groups(entry)
    return NetworkInterfaceEntry(
        card=entry["NetworkCardIndex"].integer(None),
        device=entry["DeviceIndex"].integer(),
        kind=_KINDS[kind],
        group_count=None if groups is None else len(groups),
        allows_efa=_lets_efa_through(groups) if with_groups and groups is not None and kind != "interface" else None,
        associate_public_ip=_public(entry["AssociatePublicIpAddress"]),
        address_properties=tuple(name for name in _ADDRESSES if entry[name].exists),
    )


def _groups(entry: Value) -> list[Value] | None:
    groups = entry["Groups"]
    if entry["NetworkInterfaceId"].exists or not groups.known:
        return None
    return groups.items()


def _public(value: Value) -> bool | None:
    return value.boolean(None) if value.known else None


def _lets_efa_through(groups: list[Value]) -> bool | None:
    """Whether a group allows all traffic to and from itself; None when that cannot be told."""
    found: list[Resource] = []
    doubtful = False
    for value in groups:
        try:
            group = security_group(value)
            if group is None:
                doubtful = True
            elif allows_itself(group):
                return True
            else:
                found.append(group)
        except NotKnown:
            doubtful = True
    if doubtful or _pair_is_open(found):
        return None
    return False


def _pair_is_open(groups: list[Resource]) -> bool:
    """Two groups of one entry that allow each other all traffic may do as well; nobody has said."""
    try:
        return any(allows_all_both_ways(one, other) for one, other in combinations(groups, 2))
    except NotKnown:
        return True


def requested_efa(template: Resource, entries: Sequence[NetworkInterfaceEntry]) -> int | None:
    """How many EFA devices are meant: as many as the type has (None), unless the template says otherwise.

    A list without any is a fleet without EFA. A construct of this library that was asked for fewer notes the number in
    the metadata of the launch template.
    """
    noted = template.attribute("Metadata").get("ultracluster", "efa_interfaces").integer(None)
    return noted if noted is not None or any(entry.has_efa for entry in entries) else 0
