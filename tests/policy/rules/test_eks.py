"""UC-EKS-001 to 003, 008, 009 and 021: what a managed node group and its launch template say."""

from __future__ import annotations

import pytest

from support.fabric import entry, min_ip
from support.orchestrators import (
    NONE,
    P5,
    either,
    ids,
    launch_template,
    nodes,
    parameter,
    resource,
    switch,
    template,
)
from support.orchestrators import (
    node_pair as pair,
)
from support.policy import assert_finds, assert_not_judged, assert_passes, judged

TARGET = {"CapacityReservationTarget": {"CapacityReservationId": "cr-0123456789abcdef0"}}
BLOCK = {"InstanceMarketOptions": {"MarketType": "capacity-block"}, "CapacityReservationSpecification": TARGET}


def test_a_plain_pair_is_clean():
    assert ids("EKS", pair()) == set()
    assert ids("EKS", pair({"InstanceType": P5, "NetworkInterfaces": min_ip(range(32), Groups=None)})) == set()


# UC-EKS-001

SUBNET = "subnet-0123456789abcdef0"


def with_subnets(count=1, **more):
    entries = [entry(card, 0 if card == 0 else 1, Groups=None) for card in range(32)]
    for each in entries[:count]:
        each["SubnetId"] = SUBNET
    return {"InstanceType": P5, "NetworkInterfaces": entries, **more}


@pytest.mark.parametrize(("count", "said"), [(1, "Nodes"), (3, "Nodes (2 more like it)")])
def test_subnet_in_the_launch_template(count, said):
    found = pair(with_subnets(count))
    assert judged(found).of("UC-EKS-001") == [
        f"Lt LaunchTemplateData.NetworkInterfaces[0].SubnetId: {SUBNET} in the launch template of node group {said}"
    ]
    assert ids("EKS", found) == {"UC-EKS-001"}


def test_a_launch_template_that_two_groups_share_is_told_once():
    found = template(Lt=launch_template(**with_subnets()), Nodes=nodes(), More=nodes())
    assert len(judged(found).of("UC-EKS-001")) == 1


def test_subnets_of_other_consumers_may_stand_there():
    group = resource("AutoScaling::AutoScalingGroup", MinSize="0", MaxSize="1", LaunchTemplate={})
    group["Properties"]["LaunchTemplate"] = {"LaunchTemplateId": {"Ref": "Lt"}, "Version": "1"}
    assert_passes("UC-EKS-001", template(Lt=launch_template(**with_subnets()), Asg=group))
    assert_passes("UC-EKS-001", template(Lt=launch_template(**with_subnets())))


def test_unknown_interfaces_are_not_judged():
    found = pair({"InstanceType": P5, "NetworkInterfaces": {"Fn::GetAtt": ["Maker", "List"]}})
    found["Resources"]["Maker"] = resource("CloudFormation::CustomResource", ServiceToken="arn")
    assert_not_judged("UC-EKS-001", found)


def test_subnet_and_consumer_under_one_condition():
    parameters, conditions = switch()
    entries = [entry(0, 0, SubnetId=either("Big", SUBNET, NONE), Groups=None)]
    data = {"InstanceType": "g6e.8xlarge", "NetworkInterfaces": entries}
    found = pair(data, parameters, conditions)
    found["Resources"]["Nodes"]["Condition"] = "Big"
    assert ids("EKS", found) == {"UC-EKS-001"}
    conditions["Small"] = {"Fn::Not": [{"Condition": "Big"}]}
    found["Resources"]["Nodes"]["Condition"] = "Small"
    assert_passes("UC-EKS-001", found)


# UC-EKS-002


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (
            {"IamInstanceProfile": {"Arn": "arn:aws:iam::111122223333:instance-profile/node"}},
            "Lt LaunchTemplateData.IamInstanceProfile: an object in the launch template of node group Nodes",
        ),
        ({"HibernationOptions": {"Configured": True}}, "LaunchTemplateData.HibernationOptions: an object"),
        ({"InstanceInitiatedShutdownBehavior": "terminate"}, "LaunchTemplateData.InstanceInitiatedShutdownBehavior: "),
        (
            {"InstanceMarketOptions": {"MarketType": "spot"}},
            "LaunchTemplateData.InstanceMarketOptions.MarketType: spot",
        ),
    ],
)
def test_settings_that_eks_keeps_for_itself(data, place):
    found = pair({"InstanceType": P5, **data})
    assert_finds("UC-EKS-002", found, place=place)
    assert ids("EKS", found) == {"UC-EKS-002"}


def test_settings_outside_eks():
    data = {"InstanceType": P5, "IamInstanceProfile": {"Name": "node"}}
    assert_passes("UC-EKS-002", template(Lt=launch_template(**data)))
    assert_passes("UC-EKS-002", pair({"InstanceType": P5, "MetadataOptions": {"HttpTokens": "required"}}))


def test_settings_that_are_not_known():
    market = {"InstanceMarketOptions": {"MarketType": {"Ref": "Market"}}}
    assert_not_judged("UC-EKS-002", pair({"InstanceType": P5, **market}, {"Market": parameter()}))


# UC-EKS-003


def test_type_in_both_places():
    found = pair(InstanceTypes=[P5])
    assert judged(found).of("UC-EKS-003") == [f"Nodes InstanceTypes: instance types beside {P5} in launch template Lt"]
    assert ids("EKS", found) == {"UC-EKS-003"}


@pytest.mark.parametrize("types", [[P5], []])
def test_type_in_one_place(types):
    data = {} if types else {"InstanceType": P5}
    assert_passes("UC-EKS-003", pair(data, InstanceTypes=types))
    assert_passes("UC-EKS-003", template(Nodes=nodes(LaunchTemplate=None, InstanceTypes=[P5])))


def test_type_of_a_launch_template_of_elsewhere():
    found = pair(InstanceTypes=[P5], LaunchTemplate={"Id": "lt-0123456789abcdef0", "Version": "1"})
    assert_not_judged("UC-EKS-003", found)


@pytest.mark.parametrize(("other", "expected"), [(NONE, set()), ([P5], {"UC-EKS-003"})])
def test_type_in_both_places_under_one_condition(other, expected):
    parameters, conditions = switch()
    data = {"InstanceType": either("Big", P5, NONE)}
    found = pair(data, parameters, conditions, InstanceTypes=either("Big", other, [P5]))
    assert {"UC-EKS-003"} & ids("EKS", found) == expected


# UC-EKS-008


@pytest.mark.parametrize(
    ("data", "group", "place"),
    [
        ({}, {"DiskSize": 100}, "Nodes DiskSize: 100 beside a launch template"),
        ({}, {"RemoteAccess": {"Ec2SshKey": "ops"}}, "Nodes RemoteAccess: an object beside a launch template"),
        (
            {"ImageId": "ami-0123456789abcdef0", "UserData": "L2V0Yy9la3MvYm9vdHN0cmFwLnNoIHRyYWlu"},
            {"AmiType": "AL2023_x86_64_NVIDIA"},
            "Nodes AmiType: AL2023_x86_64_NVIDIA beside the image of launch template Lt",
        ),
        (
            {"ImageId": "ami-0123456789abcdef0", "UserData": "L2V0Yy9la3MvYm9vdHN0cmFwLnNoIHRyYWlu"},
            {"AmiType": "CUSTOM", "Version": "1.34"},
            "Nodes Version: 1.34 beside the image",
        ),
        (
            {"ImageId": "ami-0123456789abcdef0", "UserData": "L2V0Yy9la3MvYm9vdHN0cmFwLnNoIHRyYWlu"},
            {"AmiType": None, "ReleaseVersion": "1.34.2-20261101"},
            "Nodes ReleaseVersion: ",
        ),
    ],
)
def test_settings_given_twice(data, group, place):
    found = pair({"InstanceType": P5, **data}, **group)
    assert_finds("UC-EKS-008", found, place=place)
    assert ids("EKS", found) == {"UC-EKS-008"}


def test_settings_given_once():
    without = {"LaunchTemplate": None, "InstanceTypes": [P5], "DiskSize": 300, "Version": "1.34"}
    assert_passes("UC-EKS-008", template(Nodes=nodes(**without)))
    assert_passes("UC-EKS-008", pair(Version="1.34", ReleaseVersion="1.34.2-20261101"))
    image = {"InstanceType": P5, "ImageId": "ami-0123456789abcdef0"}
    assert_passes("UC-EKS-008", pair(image, AmiType="CUSTOM"))


def test_a_disk_size_beside_any_launch_template():
    elsewhere = {"Id": "lt-0123456789abcdef0", "Version": "1"}
    assert_finds("UC-EKS-008", template(Nodes=nodes(LaunchTemplate=elsewhere, AmiType=None, DiskSize=100)))
    assert_not_judged("UC-EKS-008", template(Nodes=nodes(LaunchTemplate=elsewhere)))


@pytest.mark.parametrize(("version", "expected"), [(NONE, set()), ("1.34", {"UC-EKS-008"})])
def test_version_and_image_under_one_condition(version, expected):
    parameters, conditions = switch()
    data = {"InstanceType": P5, "ImageId": either("Big", "ami-0123456789abcdef0", NONE)}
    group = {"AmiType": either("Big", NONE, "AL2023_x86_64_NVIDIA"), "Version": either("Big", version, "1.34")}
    found = pair(data, parameters, conditions, **group)
    assert {"UC-EKS-008"} & ids("EKS", found) == expected


# UC-EKS-009


@pytest.mark.parametrize(
    ("data", "option", "place"),
    [
        ({}, "CAPACITY_BLOCK", "Nodes CapacityType: CAPACITY_BLOCK, and launch template Lt has market type absent"),
        (
            {"InstanceMarketOptions": BLOCK["InstanceMarketOptions"]},
            "CAPACITY_BLOCK",
            "Lt LaunchTemplateData.InstanceMarketOptions.MarketType: capacity-block without CapacityReservationTarget",
        ),
        (
            BLOCK,
            None,
            "Nodes CapacityType: absent (ON_DEMAND) with launch template Lt, which draws on a Capacity Block",
        ),
        (BLOCK, "ON_DEMAND", "Nodes CapacityType: ON_DEMAND with launch template Lt"),
        (BLOCK, "SPOT", "Nodes CapacityType: SPOT with launch template Lt"),
    ],
)
def test_a_block_in_part(data, option, place):
    found = pair({"InstanceType": P5, **data}, CapacityType=option)
    assert_finds("UC-EKS-009", found, place=place)
    assert ids("EKS", found) == {"UC-EKS-009"}


def test_a_block_without_its_type():
    found = pair(BLOCK, CapacityType="CAPACITY_BLOCK", InstanceTypes=[P5])
    assert_finds("UC-EKS-009", found, place="Lt LaunchTemplateData.InstanceType: absent in the launch template of a")
    assert "UC-EKS-021" not in ids("EKS", found)


def test_a_block_without_a_launch_template():
    found = template(Nodes=nodes(LaunchTemplate=None, InstanceTypes=[P5], CapacityType="CAPACITY_BLOCK"))
    assert_finds("UC-EKS-009", found, place="CAPACITY_BLOCK without a launch template")
    assert ids("EKS", found) == {"UC-EKS-009"}


@pytest.mark.parametrize(("data", "option"), [(BLOCK, "CAPACITY_BLOCK"), ({}, "ON_DEMAND"), ({}, None), ({}, "SPOT")])
def test_a_block_in_full_or_none(data, option):
    assert_passes("UC-EKS-009", pair({"InstanceType": P5, **data}, CapacityType=option))


@pytest.mark.parametrize("option", [{"Ref": "Option"}, "CAPACITY_BLOCK"])
def test_a_block_that_is_not_known(option):
    elsewhere = {"Id": "lt-0123456789abcdef0", "Version": "1"}
    found = template({"Option": parameter()}, Nodes=nodes(LaunchTemplate=elsewhere, CapacityType=option))
    assert_not_judged("UC-EKS-009", found)


@pytest.mark.parametrize(("option", "expected"), [("CAPACITY_BLOCK", set()), ("ON_DEMAND", {"UC-EKS-009"})])
def test_a_block_under_one_condition(option, expected):
    parameters, conditions = switch()
    other = "ON_DEMAND" if option == "CAPACITY_BLOCK" else "CAPACITY_BLOCK"
    data = {"InstanceType": P5, **{key: either("Big", value, NONE) for key, value in BLOCK.items()}}
    found = pair(data, parameters, conditions, CapacityType=either("Big", option, other))
    assert {"UC-EKS-009"} & ids("EKS", found) == expected


# UC-EKS-021


@pytest.mark.parametrize(
    ("data", "group"),
    [
        ({}, {"AmiType": "AL2023_x86_64_NVIDIA"}),
        ({}, {"AmiType": "AL2023_x86_64_NEURON"}),
        ({"NetworkInterfaces": [entry(0, 0, Groups=None)]}, {"AmiType": None}),
        ({"NetworkInterfaces": [entry(0, 0, Groups=None)]}, {"InstanceTypes": [], "AmiType": None}),
    ],
)
def test_no_type_at_all(data, group):
    found = pair(data, **group)
    assert_finds("UC-EKS-021", found, place="Nodes InstanceTypes: no instance type here or in the launch template, so")
    assert ids("EKS", found) == {"UC-EKS-021"}


def test_no_type_without_a_launch_template():
    assert_finds("UC-EKS-021", template(Nodes=nodes(LaunchTemplate=None)), place="t3.medium")


def test_no_type_on_a_plain_group():
    plain = {"AmiType": "AL2023_x86_64_STANDARD"}
    assert_passes("UC-EKS-021", template(Nodes=nodes(LaunchTemplate=None, **plain)))
    assert_passes("UC-EKS-021", pair({"BlockDeviceMappings": []}, **plain))
    assert_passes("UC-EKS-021", pair())


def test_type_of_elsewhere():
    assert_not_judged("UC-EKS-021", template(Nodes=nodes(LaunchTemplate={"Name": "of-another-team"})))


@pytest.mark.parametrize(("swapped", "expected"), [(False, set()), (True, {"UC-EKS-021"})])
def test_type_and_image_under_one_condition(swapped, expected):
    parameters, conditions = switch()
    names = ("AL2023_x86_64_NVIDIA", "AL2023_x86_64_STANDARD")
    image = either("Big", *(names if not swapped else reversed(names)))
    data = {"InstanceType": either("Big", P5, NONE)}
    found = pair(data, parameters, conditions, AmiType=image)
    assert {"UC-EKS-021"} & ids("EKS", found) == expected
