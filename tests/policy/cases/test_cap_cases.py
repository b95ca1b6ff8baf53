"""Fault cases C14 to C16 as templates of others: placement and market type of reserved capacity."""

from __future__ import annotations

import pytest

from support.fabric import own_ids
from support.policy import assert_finds

FLEET = """
Parameters:
  ReservationId: {{Type: String}}
Resources:
  Near: {{Type: AWS::EC2::PlacementGroup, Properties: {{Strategy: cluster}}}}
  Reservation:
    Type: AWS::EC2::CapacityReservation
    Properties:
      AvailabilityZone: us-east-1a
      InstanceCount: 16
      InstancePlatform: Linux/UNIX
      InstanceType: p5.48xlarge
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceType: p5.48xlarge
{data}
  Nodes:
    Type: AWS::PCS::ComputeNodeGroup
    Properties:
      ClusterId: pcs_0123456789
      CustomLaunchTemplate: {{TemplateId: !Ref Template, Version: "1"}}
      SubnetIds: [subnet-0123456789abcdef0]
      IamInstanceProfileArn: arn:aws:iam::111122223333:instance-profile/AWSPCS-node
      InstanceConfigs: [{{InstanceType: p5.48xlarge}}]
      ScalingConfiguration: {{MinInstanceCount: 0, MaxInstanceCount: 16}}
"""
TARGET = "CapacityReservationSpecification: {{CapacityReservationTarget: {{CapacityReservationId: {id}}}}}"
BLOCK = "InstanceMarketOptions: {MarketType: capacity-block}"
PLACED = "Placement: {GroupName: !Ref Near}"


def fleet(*data: str) -> str:
    return FLEET.format(data="\n".join(f"        {line}" for line in data))


def target(value: str) -> str:
    return TARGET.format(id=value)


@pytest.mark.parametrize("reserved", ["!Ref Reservation", "!Ref ReservationId", "cr-0123456789abcdef0"])
def test_c14_a_placement_group_forced_on_reserved_capacity(reserved):
    forced = fleet(target(reserved), PLACED)
    assert_finds("UC-PLC-003", forced, place="Template LaunchTemplateData.Placement.GroupName: placement group Near")
    assert own_ids(forced) == {"UC-PLC-003"}
    assert not own_ids(fleet(target(reserved)))
    # A group that exists already is used as it is, where the reservation may lie in it.
    named = own_ids(fleet(target(reserved), "Placement: {GroupName: reserved}"))
    assert named == ({"UC-PLC-003"} if reserved == "!Ref Reservation" else set())


def test_c15_a_reservation_treated_as_a_block():
    treated = fleet(target("!Ref Reservation"), BLOCK)
    assert_finds("UC-CAP-003", treated, place="InstanceMarketOptions.MarketType: capacity-block with Reservation")
    assert own_ids(treated) == {"UC-CAP-003"}


def test_c15_a_block_with_a_placement_group():
    grouped = fleet(target("!Ref ReservationId"), BLOCK, PLACED)
    assert_finds("UC-PLC-002", grouped, place="placement group Near with a Capacity Block, which takes none")
    assert own_ids(grouped) == {"UC-PLC-002"}
    assert not own_ids(fleet(target("!Ref ReservationId"), BLOCK))


def test_c16_a_block_without_its_reservation():
    assert_finds("UC-CAP-002", fleet(BLOCK), place="InstanceMarketOptions.MarketType: a Capacity Block without its id")
    assert own_ids(fleet(BLOCK)) == {"UC-CAP-002"}


def test_c16_a_block_with_spot_options():
    both = "InstanceMarketOptions: {MarketType: capacity-block, SpotOptions: {SpotInstanceType: one-time}}"
    found = fleet(target("!Ref ReservationId"), both)
    assert_finds("UC-SPT-012", found, place="SpotOptions with market type capacity-block")
    assert own_ids(found) == {"UC-SPT-012"}
