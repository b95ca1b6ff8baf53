"""Fault cases C38 to C41 and C43 as templates of others: images and volumes."""

from __future__ import annotations

import pytest

from support.policy import assert_finds, judged
from support.storage import own_ids
from ultracluster.policy.compare import compare
from ultracluster.policy.document import read_document
from ultracluster.policy.load import Loaded, assembly_of

RECIPE = """
Resources:
  Recipe:
    Type: AWS::ImageBuilder::ImageRecipe
    Properties:
      Name: node
      Version: {version}
      ParentImage: {parent}
      Components: [{{ComponentArn: !GetAtt Tools.Arn}}]
  Tools:
    Type: AWS::ImageBuilder::Component
    Properties:
      Name: tools
      Version: {component}
      Platform: Linux
      Data: |
        phases:
          - name: build
            steps:
              - name: Install
                action: ExecuteBash
                inputs: {{commands: ["{script}"]}}
"""


def update(**changes):
    first = {"version": "1.0.0", "parent": "ami-0123456789abcdef0", "component": "1.0.0", "script": "echo one"}

    def loaded(values):
        return Loaded([assembly_of([read_document("template.yaml", RECIPE.format(**values).encode())])])

    found = compare(loaded(first), loaded(first | changes))
    return {(fault.rule_id, fault.resource.logical_id) for fault in found if fault.rule_id == "UC-IMG-001"}


def test_c38_another_content_under_the_same_version():
    assert update() == set()
    assert update(parent="ami-0fedcba9876543210") == {("UC-IMG-001", "Recipe")}
    assert update(parent="ami-0fedcba9876543210", version="1.0.1") == set()
    assert update(script="echo two") == {("UC-IMG-001", "Tools")}
    assert update(script="echo two", component="1.0.1") == {("UC-IMG-001", "Recipe")}
    assert update(script="echo two", component="1.0.1", version="1.0.1") == set()


BUILD = """
Resources:
  Recipe:
    Type: AWS::ImageBuilder::ImageRecipe
    Properties:
      Name: node
      Version: 1.0.0
      ParentImage: !Sub arn:${{AWS::Partition}}:imagebuilder:${{AWS::Region}}:aws:image/amazon-linux-2023-x86/x.x.x
      BlockDeviceMappings: [{{DeviceName: /dev/xvda, Ebs: {{VolumeSize: {size}, VolumeType: gp3, Encrypted: true}}}}]
      Components:
        - ComponentArn: !Sub arn:${{AWS::Partition}}:imagebuilder:${{AWS::Region}}:aws:component/update-linux/x.x.x
        - ComponentArn: !GetAtt Drivers.Arn
  Drivers:
    Type: AWS::ImageBuilder::Component
    Properties:
      Name: drivers
      Version: 1.0.0
      Platform: Linux
      Data: |
        phases:
          - name: build
            steps:
{reboot}
              - name: Efa
                action: ExecuteBash
                inputs: {{commands: ["cd aws-efa-installer && ./efa_installer.sh -y"]}}
{tests}
"""
REBOOT = "              - {name: Reboot, action: Reboot}"
TESTS = """
          - name: test
            steps:
              - name: Look
                action: ExecuteBash
                inputs: {commands: ["fi_info -p efa"]}
"""


def test_c39_a_driver_for_the_old_kernel():
    found = BUILD.format(size=100, reboot="", tests=TESTS)
    assert_finds("UC-IMG-002", found, place="Components[1].ComponentArn: the EFA driver is installed after the kernel")
    assert own_ids(found) == {"UC-IMG-002"}
    assert own_ids(BUILD.format(size=100, reboot=REBOOT, tests=TESTS)) == set()


def test_c39_nothing_is_tested_on_a_small_volume():
    found = BUILD.format(size=30, reboot=REBOOT, tests="")
    assert_finds("UC-IMG-003", found, place="no test phase looks for the EFA driver")
    assert_finds("UC-IMG-007", found, place="30 GiB fill up")
    assert own_ids(found) == {"UC-IMG-003", "UC-IMG-007"}


VOLUME = """
Parameters:
  Image: {{Type: 'AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>', Default: {image}}}
Resources:
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        ImageId: !Ref Image
        BlockDeviceMappings: [{{DeviceName: {name}, Ebs: {{VolumeSize: 500, VolumeType: gp3, Encrypted: true{more}}}}}]
"""
DLAMI = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-{}/v1/ami-id"
UBUNTU, AMAZON = DLAMI.format("ubuntu-22.04"), DLAMI.format("amazon-linux-2023")


@pytest.mark.parametrize(
    ("image", "name", "right"), [(UBUNTU, "/dev/xvda", "/dev/sda1"), (AMAZON, "/dev/sda1", "/dev/xvda")]
)
def test_c40_the_root_under_another_name(image, name, right):
    found = VOLUME.format(image=image, name=name, more="")
    assert_finds("UC-IMG-006", found, place=f"BlockDeviceMappings[0].DeviceName: {name} is not the root of")
    assert own_ids(found) == {"UC-IMG-006"}
    assert own_ids(VOLUME.format(image=image, name=right, more="")) == set()


@pytest.mark.parametrize("more", [", Throughput: 1000, Iops: 3000", ", Throughput: 1000"])
def test_c41_throughput_without_iops(more):
    found = VOLUME.format(image=AMAZON, name="/dev/xvda", more=more)
    assert_finds("UC-IMG-008", found, place="Ebs.Throughput: 1000 MiB/s with 3000 IOPS")
    assert own_ids(found) == {"UC-IMG-008"}


@pytest.mark.parametrize("more", [", Throughput: 1000, Iops: 4000", ", Throughput: 750"])
def test_c41_throughput_that_the_iops_carry(more):
    assert own_ids(VOLUME.format(image=AMAZON, name="/dev/xvda", more=more)) == set()


OPEN = """
Resources:
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceType: g5.48xlarge
        BlockDeviceMappings:
          - {{DeviceName: /dev/xvda, Ebs: {{VolumeSize: 500, VolumeType: gp3, Encrypted: {encrypted}}}}}
          - {{DeviceName: /dev/sdb, VirtualName: ephemeral0}}
"""
SPECIFICATION = "{LaunchTemplateId: !Ref Template, Version: !GetAtt Template.LatestVersionNumber}"
GROUP = "AWS::AutoScaling::AutoScalingGroup, Properties: {MinSize: '0', MaxSize: '1', "
USERS = {
    "a group": f"{GROUP}LaunchTemplate: {SPECIFICATION}}}",
    "a mixed policy": f"{GROUP}MixedInstancesPolicy: {{LaunchTemplate: "
    f"{{LaunchTemplateSpecification: {SPECIFICATION}}}}}}}",
    "a fleet": "AWS::EC2::EC2Fleet, Properties: {LaunchTemplateConfigs: "
    f"[{{LaunchTemplateSpecification: {SPECIFICATION}}}]}}",
    "nobody": "AWS::CloudFormation::WaitConditionHandle",
}


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
def test_c43_an_open_volume_whoever_uses_it(user):
    users = f"  User: {{Type: {user}}}\n"
    found = OPEN.format(encrypted="false") + users
    assert_finds("UC-IMG-009", found, place="Template LaunchTemplateData.BlockDeviceMappings[0].Ebs.Encrypted: false")
    assert own_ids(found) == {"UC-IMG-009"}
    clean = OPEN.format(encrypted="true") + users
    assert own_ids(clean) == set()
    assert "UC-IMG-009" not in judged(clean).not_judged
