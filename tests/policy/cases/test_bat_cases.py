"""Fault cases C31 to C35 as templates of others: AWS Batch."""

from __future__ import annotations

import pytest

from support.orchestrators import ids
from support.policy import assert_finds

ENVIRONMENT = """
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        UserData:
          Fn::Base64: |
            {user_data}
        NetworkInterfaces:
          - {{NetworkCardIndex: 0, DeviceIndex: 0, InterfaceType: efa, Groups: [sg-0123456789abcdef0]}}
          - {{NetworkCardIndex: 1, DeviceIndex: 1, InterfaceType: efa, Groups: [sg-0123456789abcdef0]}}
          - {{NetworkCardIndex: 2, DeviceIndex: 1, InterfaceType: efa, Groups: [sg-0123456789abcdef0]}}
          - {{NetworkCardIndex: 3, DeviceIndex: 1, InterfaceType: efa, Groups: [sg-0123456789abcdef0]}}
  Environment:
    Type: AWS::Batch::ComputeEnvironment
    Properties:
      Type: MANAGED
      ComputeResources:
        Type: {kind}
        AllocationStrategy: BEST_FIT_PROGRESSIVE
        MaxvCpus: 384
        InstanceRole: arn:aws:iam::111122223333:instance-profile/batch
        PlacementGroup: training
        InstanceTypes: {types}
        Subnets: [subnet-0123456789abcdef0]
        {groups}
        LaunchTemplate:
          LaunchTemplateId: !Ref Template
          Version: !GetAtt Template.LatestVersionNumber
  Queue:
    Type: AWS::Batch::JobQueue
    Properties:
      Priority: 1
      JobStateTimeLimitActions: [{{State: RUNNABLE, Action: CANCEL, MaxTimeSeconds: 3600, Reason: waited}}]
      ComputeEnvironmentOrder: [{{Order: 1, ComputeEnvironment: !Ref Environment}}]
"""
JOB = """
  Job:
    Type: AWS::Batch::JobDefinition
    Properties:
      Type: multinode
      Timeout: {{AttemptDurationSeconds: 86400}}
      NodeProperties:
        NumNodes: {nodes}
        MainNode: {main}
        NodeRangeProperties:
          - TargetNodes: "{target}"
            Container:
              Image: 111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1
              InstanceType: p4d.24xlarge
              ResourceRequirements: [{{Type: VCPU, Value: "90"}}{gpu}]
              {ulimits}
              LinuxParameters:
                SharedMemorySize: 65536
                Devices: [{devices}]
"""
MIME = """MIME-Version: 1.0
            Content-Type: multipart/mixed; boundary="==BOUNDARY=="

            --==BOUNDARY==
            Content-Type: text/x-shellscript

            #!/bin/bash
            echo ready
            --==BOUNDARY==--"""
DEVICES = ", ".join(f"{{HostPath: /dev/infiniband/uverbs{number}}}" for number in range(4))
ULIMITS = "Ulimits: [{Name: memlock, SoftLimit: -1, HardLimit: -1}]"
GPU = ', {Type: GPU, Value: "8"}'


def environment(user_data=MIME, kind="EC2", types="[p4d.24xlarge]", groups=""):
    return ENVIRONMENT.format(user_data=user_data, kind=kind, types=types, groups=groups)


def job(target="0:", nodes=4, main=0, *, devices=DEVICES, ulimits=ULIMITS, gpu=GPU):
    return JOB.format(target=target, nodes=nodes, main=main, devices=devices, ulimits=ulimits, gpu=gpu)


def made(*parts):
    return f"Resources:{''.join(parts)}"


def test_the_right_app_is_clean():
    assert ids("BAT", made(environment(), job())) == set()


def test_c31_groups_beside_interfaces():
    found = made(environment(groups="SecurityGroupIds: [sg-0123456789abcdef0]"))
    assert_finds(
        "UC-BAT-001", found, place="Environment ComputeResources.SecurityGroupIds: a list of 1 beside the inter"
    )
    assert ids("BAT", found) == {"UC-BAT-001"}


def test_c32_user_data_that_is_a_script():
    found = made(environment(user_data="#!/bin/bash\n            echo ready"))
    assert_finds("UC-BAT-002", found, place="Template LaunchTemplateData.UserData: it begins with '#!/bin/bash'")
    assert ids("BAT", found) == {"UC-BAT-002"}


@pytest.mark.parametrize(
    ("target", "nodes", "main", "place"),
    [
        ("1:3", 3, 1, "Job NodeProperties.NodeRangeProperties: no range holds node 0 of 3"),
        ("0:1", 4, 3, "no range holds nodes 2 to 3 of 4"),
        ("0:", 4, 4, "Job NodeProperties.MainNode: node 4 is the main one"),
    ],
)
def test_c33_ranges_with_a_gap(target, nodes, main, place):
    found = made(job(target, nodes, main))
    assert_finds("UC-BAT-003", found, place=place)
    assert ids("BAT", found) == {"UC-BAT-003"}


@pytest.mark.parametrize("target", ["0:", "0:3"])
def test_c33_ranges_that_hold_every_node(target):
    assert ids("BAT", made(job(target))) == set()


def test_c34_multi_node_jobs_on_spot():
    found = made(environment(kind="SPOT"), job())
    assert_finds(
        "UC-BAT-005", found, place="Job Type: multinode, and every queue leads to SPOT only: it waits for ever"
    )
    assert ids("BAT", found) == {"UC-BAT-005"}


def test_c34_optimal_beside_an_accelerated_type():
    found = made(environment(types="[p4d.24xlarge, optimal]"), job())
    assert_finds("UC-BAT-008", found, place="ComputeResources.InstanceTypes[1]: optimal beside p4d.24xlarge")
    assert ids("BAT", found) == {"UC-BAT-008"}


@pytest.mark.parametrize(
    ("more", "place"),
    [
        (
            {"devices": "{HostPath: /dev/infiniband/uverbs0}"},
            "LinuxParameters.Devices: 1 of the 4 EFA devices of",
        ),
        ({"ulimits": ""}, "Container.Ulimits: no entry for memlock, EFA needs locked memory without limit"),
        ({"gpu": ""}, "Container.ResourceRequirements: no GPU of the 8 of p4d.24xlarge"),
    ],
)
def test_c35_a_container_without_what_it_needs(more, place):
    found = made(environment(), job(**more))
    assert_finds("UC-BAT-006", found, place=place)
    assert ids("BAT", found) == {"UC-BAT-006"}
