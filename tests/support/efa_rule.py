"""RULE-EFA over the interface list of a launch template, written anew from the rule and the per-card facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ultracluster.facts.instances import InstanceType, NetworkCard

ADDRESS_PROPERTIES = {
    "AssociatePublicIpAddress",
    "Ipv4PrefixCount",
    "Ipv4Prefixes",
    "Ipv6AddressCount",
    "Ipv6Addresses",
    "Ipv6PrefixCount",
    "Ipv6Prefixes",
    "PrivateIpAddress",
    "PrivateIpAddresses",
    "SecondaryPrivateIpAddressCount",
}


def kind(entry: Mapping[str, Any]) -> str:
    """The interface type of an entry; EC2's default is a plain interface."""
    return str(entry.get("InterfaceType", "interface"))


def efa_entries(entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The fabric devices of a list."""
    return [entry for entry in entries if kind(entry) in {"efa", "efa-only"}]


def efa_faults(facts: InstanceType, data: Mapping[str, Any], *, efa: int | None = None) -> list[str]:
    """Everything that RULE-EFA has against the list of a launch template.

    Args:
        facts: the instance type.
        data: `LaunchTemplateData`.
        efa: fabric devices asked for; all that the type has by default.
    """
    entries = data["NetworkInterfaces"]
    places = [(entry["NetworkCardIndex"], entry["DeviceIndex"]) for entry in entries]
    primary = [entry for entry, place in zip(entries, places, strict=True) if place == (0, 0)]
    faults = [f"{place} twice" for place, count in Counter(places).items() if count > 1]
    if [kind(entry) for entry in primary] not in (["interface"], ["efa"]):
        faults.append(f"primary entries {primary}")
    for entry, (card, device) in zip(entries, places, strict=True):
        faults += [f"{fault} on {card}/{device}" for fault in _entry_faults(facts.network_cards[card], device, entry)]
    per_card = Counter(entry["NetworkCardIndex"] for entry in efa_entries(entries))
    faults += [f"{count} fabric devices on card {card}" for card, count in per_card.items() if count > 1]
    wanted = facts.max_efa_interfaces if efa is None else efa
    if wanted is not None and per_card.total() != wanted:
        faults.append(f"{per_card.total()} fabric devices, {wanted} wanted")
    if {"SecurityGroupIds", "SecurityGroups"} & set(data):
        faults.append("groups beside the list")
    return faults


def _entry_faults(card: NetworkCard, device: int, entry: Mapping[str, Any]) -> Iterator[str]:
    if card.max_interfaces is not None and device >= card.max_interfaces:
        yield f"device of {card.max_interfaces}"
    if kind(entry) not in card.interface_types:
        yield kind(entry)
    if kind(entry) == "efa-only" and ADDRESS_PROPERTIES & set(entry):
        yield "address"
    if not entry.get("Groups"):
        yield "no groups"


def self_rules(template: Mapping[str, Any], group: Mapping[str, Any]) -> set[str]:
    """Which self rules (`Ingress`, `Egress`) a group has for all traffic, as resources of their own."""
    found = set()
    for body in template["Resources"].values():
        properties = body.get("Properties", {})
        if properties.get("IpProtocol") != "-1" or properties.get("GroupId") != group:
            continue
        if body["Type"] == "AWS::EC2::SecurityGroupIngress" and properties.get("SourceSecurityGroupId") == group:
            found.add("Ingress")
        if body["Type"] == "AWS::EC2::SecurityGroupEgress" and properties.get("DestinationSecurityGroupId") == group:
            found.add("Egress")
    return found
