"""Fault cases C08, C36 and C37 as templates of others: Amazon EKS."""

from __future__ import annotations

import pytest

from support.orchestrators import ids
from support.policy import assert_finds

TEMPLATE = """
Resources:
  Cluster:
    Type: AWS::EKS::Cluster
    Properties:
      RoleArn: arn:aws:iam::111122223333:role/eks
      ResourcesVpcConfig:
        SubnetIds: [subnet-0123456789abcdef0, subnet-0123456789abcdef1]
        EndpointPublicAccess: false
        EndpointPrivateAccess: true
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData: {data}
  Workers:
    Type: AWS::EKS::Nodegroup
    Properties:
      ClusterName: !Ref Cluster
      NodeRole: arn:aws:iam::111122223333:role/node
      Subnets: [subnet-0123456789abcdef0]
      NodeRepairConfig: {{Enabled: true}}
      UpdateConfig: {{UpdateStrategy: MINIMAL}}
      LaunchTemplate:
        Id: !Ref Template
        Version: !GetAtt Template.LatestVersionNumber
      {group}
"""
NVIDIA, NEURON = "AmiType: AL2023_x86_64_NVIDIA", "AmiType: AL2023_x86_64_NEURON"
TYPED = "{{InstanceType: {}}}"


def made(data, group):
    return TEMPLATE.format(data=data, group=group)


def p4de(subnet):
    cards = (f"{{NetworkCardIndex: {card}, DeviceIndex: {card}, InterfaceType: efa{subnet}}}" for card in range(4))
    return f"{{InstanceType: p4de.24xlarge, NetworkInterfaces: [{', '.join(cards)}]}}"


def test_c08_a_subnet_inside_the_template_of_a_node_group():
    found = made(p4de(", SubnetId: subnet-0123456789abcdef0"), NVIDIA)
    assert_finds(
        "UC-EKS-001", found, place="Template LaunchTemplateData.NetworkInterfaces[0].SubnetId: subnet-01234567"
    )
    assert ids("EKS", found) == {"UC-EKS-001"}


def test_c08_the_subnet_on_the_node_group():
    assert ids("EKS", made(p4de(""), NVIDIA)) == set()


def test_c36_trainium_with_the_image_of_gpus():
    found = made(TYPED.format("trn2.48xlarge"), NVIDIA)
    assert_finds(
        "UC-EKS-004", found, place="Workers AmiType: AL2023_x86_64_NVIDIA on trn2.48xlarge, which needs the Neuron"
    )
    assert ids("EKS", found) == {"UC-EKS-004"}


@pytest.mark.parametrize("name", ["trn2.48xlarge", "p5.48xlarge"])
def test_c36_no_image_at_all(name):
    found = made(TYPED.format(name), "Labels: {}")
    assert_finds("UC-EKS-005", found, place=f"Workers AmiType: absent for {name}")
    assert ids("EKS", found) == {"UC-EKS-005"}


def test_c36_two_vendors_in_one_group():
    found = made("{EbsOptimized: true}", f"InstanceTypes: [p5.48xlarge, trn1.32xlarge]\n      {NVIDIA}")
    assert_finds("UC-EKS-006", found, place="Workers InstanceTypes[1]: trn1.32xlarge beside p5.48xlarge")
    assert ids("EKS", found) == {"UC-EKS-006"}


@pytest.mark.parametrize(
    ("name", "image"),
    [("trn2.48xlarge", NEURON), ("p5.48xlarge", NVIDIA), ("p5.48xlarge", "AmiType: BOTTLEROCKET_x86_64_NVIDIA")],
)
def test_c36_the_right_image(name, image):
    assert ids("EKS", made(TYPED.format(name), image)) == set()


def test_c37_the_type_in_both_places():
    found = made(TYPED.format("p5.48xlarge"), f"InstanceTypes: [p5.48xlarge]\n      {NVIDIA}")
    assert_finds(
        "UC-EKS-003", found, place="Workers InstanceTypes: instance types beside p5.48xlarge in launch template"
    )
    assert ids("EKS", found) == {"UC-EKS-003"}


def test_c37_the_type_in_no_place():
    found = made("{EbsOptimized: true}", NVIDIA)
    assert_finds(
        "UC-EKS-021", found, place="Workers InstanceTypes: no instance type here or in the launch template, so"
    )
    assert ids("EKS", found) == {"UC-EKS-021"}


def test_c37_the_type_in_one_place():
    assert ids("EKS", made(TYPED.format("p5.48xlarge"), NVIDIA)) == set()
