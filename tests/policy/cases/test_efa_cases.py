"""Fault cases C09, C10 and C17 as templates of others: security groups and zones of a fabric."""

from __future__ import annotations

import pytest

from support.fabric import own_ids
from support.policy import assert_finds
from ultracluster.policy.check import check_template

GROUPS = """
Resources:
  Efa:
    Type: AWS::EC2::SecurityGroup
    Properties: {{GroupDescription: fabric, VpcId: vpc-0123456789abcdef0{inline}}}
  EfaIn:
    Type: AWS::EC2::SecurityGroupIngress
    Properties: {{GroupId: !Ref Efa, IpProtocol: "-1", SourceSecurityGroupId: !Ref Efa}}
  Cluster:
    Type: AWS::EC2::SecurityGroup
    Properties: {{GroupDescription: cluster, VpcId: vpc-0123456789abcdef0}}
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceType: g6e.8xlarge
        NetworkInterfaces:
          - {{DeviceIndex: 0, InterfaceType: efa, DeleteOnTermination: true, Groups: [{groups}]}}
"""
OUT = """
  EfaOut:
    Type: AWS::EC2::SecurityGroupEgress
    Properties: {GroupId: !GetAtt Efa.GroupId, IpProtocol: -1, DestinationSecurityGroupId: !GetAtt Efa.GroupId}
"""


def test_c09_the_fabric_group_is_made_and_never_attached():
    apart = GROUPS.format(groups="!Ref Cluster", inline="") + OUT
    assert_finds("UC-EFA-005", apart, place="Template LaunchTemplateData.NetworkInterfaces[0].Groups: no group")
    assert_finds("UC-EFA-006", apart, place="Efa : it allows all traffic to and from itself")
    assert own_ids(apart) == {"UC-EFA-005", "UC-EFA-006"}
    attached = apart.replace("[!Ref Cluster]", "[!Ref Cluster, !GetAtt Efa.GroupId]")
    assert not own_ids(attached)


def test_c10_open_egress_is_no_egress_to_itself():
    """What the CDK writes for a group that allows all outbound traffic: the self rule is dropped."""
    world = ', SecurityGroupEgress: [{CidrIp: 0.0.0.0/0, IpProtocol: "-1", Description: Allow all outbound traffic}]'
    swallowed = GROUPS.format(groups="!GetAtt Efa.GroupId", inline=world)
    assert_finds("UC-EFA-005", swallowed, place="NetworkInterfaces[0].Groups: ")
    assert own_ids(swallowed) == {"UC-EFA-005"}
    assert not own_ids(swallowed + OUT)


ZONES = """
Resources:
  One: {{Type: AWS::EC2::Subnet, Properties: {{VpcId: vpc-0123456789abcdef0, AvailabilityZone: us-east-1a}}}}
  Two: {{Type: AWS::EC2::Subnet, Properties: {{VpcId: vpc-0123456789abcdef0, AvailabilityZone: us-east-1b}}}}
  Near: {{Type: AWS::EC2::PlacementGroup, Properties: {{Strategy: cluster}}}}
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceType: g6e.8xlarge
        Placement: {{GroupName: !Ref Near}}
        NetworkInterfaces:
          - {{DeviceIndex: 0, InterfaceType: {kind}, DeleteOnTermination: true, Groups: [sg-0123456789abcdef0]}}
  Nodes:
    Type: AWS::EKS::Nodegroup
    Properties:
      ClusterName: train
      NodeRole: arn:aws:iam::111122223333:role/node
      Subnets: [{subnets}]
      LaunchTemplate: {{Id: !Ref Template, Version: "1"}}
"""


@pytest.mark.parametrize(("kind", "rule_id"), [("efa", "UC-EFA-007"), ("interface", "UC-PLC-001")])
def test_c17_a_cluster_placement_group_across_zones(kind, rule_id):
    across = ZONES.format(kind=kind, subnets="!Ref One, !Ref Two")
    assert_finds(rule_id, across, place="Nodes Subnets[1]: us-east-1a and us-east-1b")
    # The report names the fault once.
    reported = check_template(across).findings
    assert [found.rule_id for found in reported if found.property_path == "Subnets[1]"] == [rule_id]
    assert not own_ids(ZONES.format(kind=kind, subnets="!Ref One"))
