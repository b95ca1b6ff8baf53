"""Rules on the settings of interface entries: addresses, security groups, what stays when an instance ends."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.plan.interface_rules import (
    NetworkInterfaceEntry,
    check_interface_addresses,
    check_interface_groups,
)
from ultracluster.policy.graph.interfaces import InterfaceList, held_in, integer_in, interface_list
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, users_of
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_NODE_GROUP = "AWS::EKS::Nodegroup"
_PUBLIC = "AssociatePublicIpAddress"
# Properties that give an address when they are there, and those that give as many as they say.
_ADDRESSES = ("Ipv4Prefixes", "Ipv6Addresses", "Ipv6Prefixes", "PrivateIpAddress", "PrivateIpAddresses")
_ADDRESS_COUNTS = ("Ipv4PrefixCount", "Ipv6AddressCount", "Ipv6PrefixCount", "SecondaryPrivateIpAddressCount")


@rule("UC-NIC-006", "UC-NIC-007", on=LAUNCH_TEMPLATE)
def addresses(launch_template: Resource) -> Iterator[Problem]:
    """No public address in a list of several interfaces, no address at all on efa-only."""
    found = interface_list(launch_template)
    if found is None:
        return
    entries = [_addressed(found, at, entry) for at, entry in enumerate(found.values)]
    for one in check_interface_addresses(entries, subject=""):
        key = _PUBLIC if one.rule_id == "UC-NIC-006" else ""
        yield Problem(found.at(one.subject, key), one.message, one.fix, one.rule_id)


def _addressed(found: InterfaceList, at: int, entry: Value) -> NetworkInterfaceEntry:
    public: bool | None = None
    names: tuple[str, ...] = ()
    several = len(found.values) > 1
    with entry.judged_apart():
        names = tuple(_address_properties(entry, alone=not several))
        if names and entry["InterfaceType"].text("") != "efa-only":
            names = ()
    with entry.judged_apart():
        if several and held_in(entry, (_PUBLIC,)):
            public = entry[_PUBLIC].boolean(None)
    return NetworkInterfaceEntry(
        card=None,
        device=at,
        kind="efa-only" if names else "interface",
        associate_public_ip=public,
        address_properties=names,
    )


def _address_properties(entry: Value, *, alone: bool) -> Iterator[str]:
    for name in held_in(entry, (*_ADDRESSES, *_ADDRESS_COUNTS, _PUBLIC)):
        value = entry[name]
        if name in _ADDRESSES:
            is_address = _is_filled(value)
        elif name in _ADDRESS_COUNTS:
            is_address = value.integer(0) > 0
        else:
            # Beside other entries a public address is a fault of its own; AWS samples write false, which is tolerated.
            is_address = alone and value.boolean(False)
        if is_address:
            yield name


@rule("UC-NIC-008", on=LAUNCH_TEMPLATE)
def groups_in_one_place(launch_template: Resource) -> Iterator[Problem]:
    """No security groups beside an interface list."""
    data = launch_template.get("LaunchTemplateData")
    if _is_filled(data["NetworkInterfaces"]):
        entry = NetworkInterfaceEntry(card=None, device=0)
        for name in ("SecurityGroupIds", "SecurityGroups"):
            if _is_filled(data[name]):
                for one in check_interface_groups([entry], groups_beside_list=True, subject=""):
                    yield Problem(data[name], one.message, one.fix)
                return


def _is_filled(value: Value) -> bool:
    return value.exists and not (value.is_list and not value.items())


@rule("UC-NIC-009", on=LAUNCH_TEMPLATE)
def groups_of_every_entry(launch_template: Resource) -> Iterator[Problem]:
    """Every entry names one to five security groups."""
    found = interface_list(launch_template)
    if found is None:
        return
    counted: dict[str, int | None] = {}
    entries = []
    for at, entry in enumerate(found.values):
        # The same groups stand in most entries.
        key = _written_groups(entry)
        if key not in counted:
            counted[key] = _group_count(found, entry)
        entries.append(NetworkInterfaceEntry(card=None, device=at, group_count=counted[key]))
    for one in check_interface_groups(entries, subject=""):
        yield Problem(found.at(one.subject, "Groups"), one.message, one.fix)


def _written_groups(entry: Value) -> str:
    raw = entry.state
    return str([raw.get(key) for key in ("Groups", "NetworkInterfaceId")] if isinstance(raw, dict) else raw)


def _group_count(found: InterfaceList, entry: Value) -> int | None:
    """How many groups an entry names; None where that is not judged."""
    with entry.judged_apart():
        if entry["NetworkInterfaceId"].exists:
            return None
        groups = entry["Groups"]
        if groups.exists or _needs_groups(found):
            return len(groups.items())
    return None


def _needs_groups(found: InterfaceList) -> bool:
    """A single plain interface may well use the default group; in node groups EKS adds its own where none is named."""
    if found.is_plain:
        return False
    users = users_of(found.launch_template)
    return not users or any(use.consumer.type != _NODE_GROUP for use in users)


@rule("UC-NIC-012", on=LAUNCH_TEMPLATE)
def deleted_with_the_instance(launch_template: Resource) -> Iterator[Problem]:
    """Secondary interfaces say that they are deleted with the instance; the primary one does not say otherwise."""
    found = interface_list(launch_template)
    if found is None or len(found.values) == 1:
        return
    kept: list[Value] = []
    for entry in found.values:
        with entry.judged_apart():
            if not _is_deleted(entry) and not entry["NetworkInterfaceId"].exists:
                kept.append(entry)
    if kept:
        more = f" ({len(kept) - 1} more like it)" if len(kept) > 1 else ""
        written = kept[0]["DeleteOnTermination"]
        why = "so the interface outlives its instance"
        if not written.exists:
            why = "and EC2 does not document that it deletes a secondary interface then"
        yield Problem(written if written.exists else kept[0], f"DeleteOnTermination is {written.shown}, {why}{more}")


def _is_deleted(entry: Value) -> bool:
    raw = entry.state
    if isinstance(raw, dict) and raw.get("DeleteOnTermination") is True:
        return True
    written = entry["DeleteOnTermination"]
    if written.exists:
        return written.boolean()
    return integer_in(entry, "NetworkCardIndex", 0) == 0 and integer_in(entry, "DeviceIndex") == 0
