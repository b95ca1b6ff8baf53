"""RULE-EFA over the interface list of a synthesized launch template, written anew from the rule and the per-card facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ultracluster.facts.instances import InstanceType

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
    cards = {card.index: card for card in facts.network_cards}
    per_card: Counter[int] = Counter()
    for entry, (card, device) in zip(entries, places, strict=True):
        limit = cards[card].max_interfaces
        if limit is not None and device >= limit:
            faults.append(f"device {device} on card {card} of {limit}")
        if kind(entry) not in cards[card].interface_types:
            faults.append(f"{kind(entry)} on card {card}")
        if kind(entry) == "efa-only" and ADDRESS_PROPERTIES & set(entry):
            faults.append(f"address on {card}/{device}")
        if not entry.get("Groups"):
            faults.append(f"no groups on {card}/{device}")
        per_card[card] += kind(entry) != "interface"
    faults += [f"{count} fabric devices on card {card}" for card, count in per_card.items() if count > 1]
    wanted = facts.max_efa_interfaces if efa is None else efa
    if wanted is not None and sum(per_card.values()) != wanted:
        faults.append(f"{sum(per_card.values())} fabric devices, {wanted} wanted")
    if {"SecurityGroupIds", "SecurityGroups"} & set(data):
        faults.append("groups beside the list")
    return faults


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
