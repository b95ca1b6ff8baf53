"""Fault cases C01 to C08 and C12 as templates of others: interface lists."""

from __future__ import annotations

import pytest

from support.fabric import own_ids
from support.policy import assert_finds

HEAD = """
Resources:
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceType: {type}
        NetworkInterfaces:
"""
NODES = """
  Nodes:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties:
      MinSize: 0
      MaxSize: 2
      VPCZoneIdentifier: [subnet-0123456789abcdef0]
      LaunchTemplate: {LaunchTemplateId: !Ref Template, Version: !GetAtt Template.LatestVersionNumber}
"""
ENTRY = (
    "          - {{{place}InterfaceType: {kind}, Groups: [sg-0123456789abcdef0], DeleteOnTermination: true{more}}}\n"
)


def entry(card: int | None, device: int, kind: str, more: str = "") -> str:
    index = "" if card is None else f"NetworkCardIndex: {card}, "
    return ENTRY.format(place=f"{index}DeviceIndex: {device}, ", kind=kind, more=more and f", {more}")


def fleet(instance_type: str, entries: list[str], tail: str = "") -> str:
    return HEAD.format(type=instance_type) + "".join(entries) + tail + NODES


def right(cards: range, first: int = 0) -> list[str]:
    """The list that AWS documents: an address on card 0, efa-only wherever the fabric is."""
    head = [entry(0, 0, "interface")] + ([entry(0, 1, "efa-only")] if first == 0 else [])
    return head + [entry(card, 0, "efa-only") for card in cards if card > 0]


def only(template: str, rule_id: str, place: str) -> None:
    assert_finds(rule_id, template, place=place)
    assert own_ids(template) == {rule_id}


def test_c01_device_index_counted_upwards():
    upwards = fleet("p5.48xlarge", [entry(at, at, "efa-only" if at else "efa") for at in range(32)])
    only(upwards, "UC-NIC-004", "NetworkInterfaces[2].DeviceIndex: device 2 does not exist on card 2 of p5.48xlarge")
    assert not own_ids(fleet("p5.48xlarge", right(range(32))))


def test_c02_p6_b300_built_like_a_p5():
    on_card_0 = [entry(0, 0, "efa"), *[entry(card, 0, "efa-only") for card in range(1, 17)]]
    only(fleet("p6-b300.48xlarge", on_card_0), "UC-EFA-004", "efa on card 0 of p6-b300.48xlarge")
    too_few = right(range(1, 16), first=1)
    only(fleet("p6-b300.48xlarge", too_few), "UC-EFA-002", "15 EFA devices on p6-b300.48xlarge, 16 are expected")
    assert not own_ids(fleet("p6-b300.48xlarge", right(range(1, 17), first=1)))


@pytest.mark.parametrize(("name", "limit"), [("trn2.48xlarge", 16), ("trn1.32xlarge", 8), ("trn1n.32xlarge", 16)])
def test_c03_half_the_fabric(name, limit):
    half = fleet(name, right(range(limit // 2)))
    only(half, "UC-EFA-002", f"{limit // 2} EFA devices on {name}, {limit} are expected")
    assert not own_ids(fleet(name, right(range(limit))))


def test_c04_several_cards_without_card_indexes():
    raw = fleet("p4d.24xlarge", [entry(None, at, "efa-only" if at else "efa") for at in range(4)])
    only(raw, "UC-NIC-005", "NetworkCardIndex is absent")


def test_c05_efa_only_as_the_primary_interface():
    everywhere = fleet("p5en.48xlarge", [entry(card, 0, "efa-only") for card in range(16)])
    only(everywhere, "UC-NIC-001", "NetworkInterfaces[0].InterfaceType: efa-only at card 0 device 0 has no address")


def test_c06_public_address_with_several_interfaces():
    primary = entry(0, 0, "interface", "AssociatePublicIpAddress: true")
    public = fleet("p4d.24xlarge", [primary, *right(range(4))[1:]])
    only(public, "UC-NIC-006", "NetworkInterfaces[0].AssociatePublicIpAddress: ")
    prefixed = [*right(range(3)), entry(3, 0, "efa-only", "Ipv4PrefixCount: 1")]
    only(fleet("p4d.24xlarge", prefixed), "UC-NIC-007", "NetworkInterfaces[4]: Ipv4PrefixCount on efa-only")


def test_c07_security_groups_in_two_places():
    beside = "        SecurityGroupIds: [sg-0123456789abcdef0]\n"
    only(fleet("p4d.24xlarge", right(range(4)), beside), "UC-NIC-008", "LaunchTemplateData.SecurityGroupIds: ")


def test_c08_subnets_inside_the_entries():
    listed = [entry(0, 0, "interface", "SubnetId: subnet-0123456789abcdef1"), *right(range(4))[1:]]
    only(fleet("p4de.24xlarge", listed), "UC-NIC-011", "NetworkInterfaces[0].SubnetId: ")


def test_c12_a_second_device_on_a_card_that_holds_one():
    pattern = [entry(0, 0, "interface"), *[entry(card, 1, "efa-only") for card in range(1, 17)]]
    only(fleet("p6e-gb200.36xlarge", pattern), "UC-NIC-004", "device 1 does not exist on card 1 of p6e-gb200.36xlarge")
    announced = fleet("p6e-gb300.36xlarge", right(range(1, 17), first=1))
    only(announced, "UC-NIC-016", "InstanceType: p6e-gb300.36xlarge is not in the catalogue")
