"""Fault cases C15 and C49 as templates of others: AWS PCS."""

from __future__ import annotations

import pytest

from support.orchestrators import ids
from support.policy import assert_finds

TEMPLATE = """
Resources:
  Pcs:
    Type: AWS::PCS::Cluster
    Properties:
      Size: SMALL
      Scheduler: {{Type: SLURM, Version: "{version}"}}
      Networking: {{SubnetIds: [subnet-0123456789abcdef0], SecurityGroupIds: [sg-0123456789abcdef0]}}
      SlurmConfiguration: {{Accounting: {{Mode: STANDARD}}}}
  Reservation:
    Type: AWS::EC2::CapacityReservation
    Properties:
      InstanceType: p5.48xlarge
      InstancePlatform: Linux/UNIX
      InstanceCount: 4
      AvailabilityZone: us-east-1a
      InstanceMatchCriteria: targeted
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceType: p5.48xlarge
        {market}
        CapacityReservationSpecification:
          CapacityReservationTarget: {{CapacityReservationId: {reservation}}}
        UserData:
          Fn::Base64: !Sub |
            MIME-Version: 1.0
            Content-Type: multipart/mixed; boundary="==BOUNDARY=="

            --==BOUNDARY==
            Content-Type: text/x-shellscript

            #!/bin/bash
            export PATH=/opt/aws/pcs/scheduler/slurm-25.11/bin:$PATH
            sinfo --cluster ${{Pcs.Id}}
            --==BOUNDARY==--
  Nodes:
    Type: AWS::PCS::ComputeNodeGroup
    Properties:
      ClusterId: !GetAtt Pcs.Id
      SubnetIds: [subnet-0123456789abcdef0]
      IamInstanceProfileArn: arn:aws:iam::111122223333:instance-profile/AWSPCS-node
      InstanceConfigs: [{{InstanceType: p5.48xlarge}}]
      ScalingConfiguration: {{MinInstanceCount: 0, MaxInstanceCount: 4}}
      PurchaseOption: {option}
      CustomLaunchTemplate:
        TemplateId: !Ref Template
        Version: !GetAtt Template.LatestVersionNumber
"""
BLOCK = "InstanceMarketOptions: {MarketType: capacity-block}"


def made(option="ONDEMAND", market="", reservation="!Ref Reservation", version="25.11"):
    return TEMPLATE.format(option=option, market=market, reservation=reservation, version=version)


@pytest.mark.parametrize("market", [BLOCK, ""])
def test_c15_a_reservation_bought_as_a_block(market):
    found = made("CAPACITY_BLOCK", market)
    assert_finds(
        "UC-PCS-002", found, place="Nodes PurchaseOption: CAPACITY_BLOCK, and the target Reservation is an On-D"
    )
    assert ids("PCS", found) == {"UC-PCS-002"}


def test_c15_a_block_bought_on_demand():
    found = made("ONDEMAND", BLOCK, "cr-0123456789abcdef0")
    assert_finds(
        "UC-PCS-002", found, place="Nodes PurchaseOption: ONDEMAND, and launch template Template has market type"
    )
    assert ids("PCS", found) == {"UC-PCS-002"}


@pytest.mark.parametrize(
    ("option", "market", "reservation"),
    [("ONDEMAND", "", "!Ref Reservation"), ("CAPACITY_BLOCK", BLOCK, "cr-0123456789abcdef0")],
)
def test_c15_each_kind_as_it_is(option, market, reservation):
    assert ids("PCS", made(option, market, reservation)) == set()


def test_c49_two_versions_of_slurm():
    found = made(version="25.05")
    assert_finds("UC-PCS-008", found, place="Pcs Scheduler.Version: 25.05, and Template is set up for Slurm 25.11")
    assert ids("PCS", found) == {"UC-PCS-008"}
