"""Fault cases C11 and C50 as templates of others: SageMaker HyperPod."""

from __future__ import annotations

import pytest

from support.orchestrators import ids
from support.policy import assert_finds

TEMPLATE = """
Resources:
  A:
    Type: AWS::EC2::SecurityGroup
    Properties:
      GroupDescription: fabric
      SecurityGroupEgress: [{{IpProtocol: tcp, FromPort: 443, ToPort: 443, CidrIp: 10.0.0.0/16}}]
  AIn:
    Type: AWS::EC2::SecurityGroupIngress
    Properties: {{GroupId: !Ref A, IpProtocol: "-1", SourceSecurityGroupId: !Ref A}}
  AOut:
    Type: AWS::EC2::SecurityGroupEgress
    Properties: {{GroupId: !Ref A, IpProtocol: "-1", DestinationSecurityGroupId: !Ref A}}
  B:
    Type: AWS::EC2::SecurityGroup
    Properties:
      GroupDescription: endpoints
      SecurityGroupIngress: [{{IpProtocol: tcp, FromPort: 443, ToPort: 443, CidrIp: 10.0.0.0/16}}]
      SecurityGroupEgress: [{{IpProtocol: tcp, FromPort: 443, ToPort: 443, CidrIp: 10.0.0.0/16}}]
  Cluster:
    Type: AWS::SageMaker::Cluster
    Properties:
      NodeRecovery: Automatic
      Orchestrator: {{Eks: {{ClusterArn: "arn:aws:eks:us-east-1:111122223333:cluster/train"}}}}
      VpcConfig: {{SecurityGroupIds: {groups}, Subnets: [subnet-0123456789abcdef0]}}
      InstanceGroups: [{instances}]
"""
GROUP = """{{InstanceGroupName: {name}, InstanceType: {kind}, InstanceCount: 4{plan},
        ExecutionRole: "arn:aws:iam::111122223333:role/train"}}"""
PLAN = ', TrainingPlanArn: "arn:aws:sagemaker:us-east-1:111122223333:training-plan/{}"'


def made(*instances, groups="[!Ref A]"):
    return TEMPLATE.format(groups=groups, instances=", ".join(instances or (instance(),)))


def instance(kind="ml.p5.48xlarge", plan="", name="workers"):
    return GROUP.format(name=name, kind=kind, plan=PLAN.format(plan) if plan else "")


@pytest.mark.parametrize("kind", ["ml.trn1.32xlarge", "ml.p4d.24xlarge", "ml.p5.48xlarge"])
def test_c11_the_second_group_has_no_self_rules(kind):
    found = made(instance(kind), groups="[!Ref A, !Ref B]")
    assert_finds(
        "UC-HPD-001", found, place="Cluster VpcConfig.SecurityGroupIds[1]: !Ref B does not allow all traffic to"
    )
    assert ids("HPD", found) == {"UC-HPD-001"}


def test_c11_one_group_with_self_rules():
    assert ids("HPD", made()) == set()


def test_c50_each_group_has_its_own_plan():
    found = made(instance(plan="one", name="a"), instance("ml.p6-b200.48xlarge", "two", "b"), instance(name="c"))
    assert ids("HPD", found) == set()


def test_c50_one_plan_for_two_types():
    found = made(instance(plan="one", name="a"), instance("ml.p6-b200.48xlarge", "one", "b"))
    assert_finds("UC-HPD-004", found, place="for ml.p6-b200.48xlarge, and for ml.p5.48xlarge too: a plan has one type")
    assert ids("HPD", found) == {"UC-HPD-004"}
