"""UC-NIC-006 to 009, UC-NIC-012: addresses, groups and end of life of interface entries."""

from __future__ import annotations

import pytest

from support.fabric import entry, group, launch_template, min_ip, node_group, own_ids, template
from support.policy import assert_finds, assert_not_judged, assert_passes

P4D = min_ip(range(4))
SG = "sg-0123456789abcdef0"


def fleet(interfaces, **data):
    return template(Lt=launch_template(interfaces, "p4d.24xlarge", **data), Nodes=group())


def changed(at, **more):
    """The right list with one entry changed."""
    listed = [dict(item) for item in P4D]
    listed[at] |= more
    return [{key: value for key, value in item.items() if value is not None} for item in listed]


@pytest.mark.parametrize(
    ("rule", "interfaces", "place"),
    [
        ("UC-NIC-006", changed(0, AssociatePublicIpAddress=True), "NetworkInterfaces[0].AssociatePublicIpAddress: "),
        ("UC-NIC-006", changed(2, AssociatePublicIpAddress="true"), "in a list of 5 interfaces"),
        ("UC-NIC-007", changed(2, Ipv4PrefixCount=1), "NetworkInterfaces[2]: Ipv4PrefixCount on efa-only"),
        ("UC-NIC-007", changed(2, PrivateIpAddress="10.0.0.9"), "PrivateIpAddress on efa-only"),
        ("UC-NIC-007", changed(2, Ipv6Addresses=[{"Ipv6Address": "2001:db8::1"}]), "Ipv6Addresses on efa-only"),
        ("UC-NIC-009", changed(1, Groups=None), "NetworkInterfaces[1]: no security group"),
        ("UC-NIC-009", changed(0, Groups=[]), "NetworkInterfaces[0].Groups: no security group"),
        ("UC-NIC-009", changed(1, Groups=[f"sg-{at:017x}" for at in range(6)]), "6 security groups"),
        ("UC-NIC-012", changed(1, DeleteOnTermination=None), "NetworkInterfaces[1]: DeleteOnTermination is absent"),
        ("UC-NIC-012", changed(1, DeleteOnTermination=False), "NetworkInterfaces[1].DeleteOnTermination: "),
        ("UC-NIC-012", changed(0, DeleteOnTermination=False), "NetworkInterfaces[0].DeleteOnTermination: "),
    ],
)
def test_faults_are_found_alone(rule, interfaces, place):
    assert_finds(rule, fleet(interfaces), place=place)
    assert own_ids(fleet(interfaces)) == {rule}


@pytest.mark.parametrize(
    ("rule", "interfaces"),
    [
        ("UC-NIC-006", P4D),
        ("UC-NIC-006", changed(0, AssociatePublicIpAddress=False)),
        ("UC-NIC-006", [entry(0, 0, "interface", AssociatePublicIpAddress=True)]),
        # What AWS samples and ParallelCluster write.
        ("UC-NIC-007", changed(2, AssociatePublicIpAddress=False)),
        ("UC-NIC-007", changed(2, Ipv4PrefixCount=0, PrivateIpAddresses=[])),
        ("UC-NIC-007", changed(0, Ipv4PrefixCount=4)),
        ("UC-NIC-009", changed(1, Groups=[SG, {"Ref": "Group"}])),
        ("UC-NIC-009", changed(1, NetworkInterfaceId="eni-0123456789abcdef0", Groups=None)),
        # The default group of the VPC: what a launch template without a list uses as well.
        ("UC-NIC-009", [{"DeviceIndex": 0, "AssociatePublicIpAddress": True}]),
        ("UC-NIC-012", changed(0, DeleteOnTermination=None)),
        ("UC-NIC-012", [{"DeviceIndex": 0}]),
    ],
)
def test_what_is_right_passes(rule, interfaces):
    parameters = {"Group": {"Type": "AWS::EC2::SecurityGroup::Id"}}
    assert_passes(rule, {**fleet(interfaces), "Parameters": parameters})


@pytest.mark.parametrize(
    ("rule", "interfaces"),
    [
        ("UC-NIC-006", changed(0, AssociatePublicIpAddress={"Ref": "Unknown"})),
        ("UC-NIC-007", changed(1, Ipv4PrefixCount={"Ref": "Unknown"})),
        ("UC-NIC-009", changed(1, Groups={"Fn::Split": [",", {"Fn::ImportValue": "groups"}]})),
        ("UC-NIC-009", {"Ref": "Unknown"}),
        ("UC-NIC-012", changed(1, DeleteOnTermination={"Ref": "Unknown"})),
        ("UC-NIC-008", {"Fn::Transform": {"Name": "Macro"}}),
    ],
)
def test_what_is_not_known_is_not_judged(rule, interfaces):
    parameters = {"Unknown": {"Type": "String"}}
    found = {**fleet(interfaces, SecurityGroupIds=[SG] if rule == "UC-NIC-008" else []), "Parameters": parameters}
    assert_not_judged(rule, found)


def test_efa_only_alone_with_a_public_address():
    found = fleet([entry(0, 0, "efa-only", AssociatePublicIpAddress=True)])
    assert_finds("UC-NIC-007", found, place="AssociatePublicIpAddress on efa-only")


# UC-NIC-008


@pytest.mark.parametrize("name", ["SecurityGroupIds", "SecurityGroups"])
def test_groups_in_two_places(name):
    found = fleet(P4D, **{name: [SG]})
    assert_finds("UC-NIC-008", found, place=f"Lt LaunchTemplateData.{name}: security groups beside the interface list")
    assert own_ids(found) == {"UC-NIC-008"}


@pytest.mark.parametrize("data", [{}, {"SecurityGroupIds": []}, {"SecurityGroupIds": {"Ref": "AWS::NoValue"}}])
def test_groups_in_one_place(data):
    assert_passes("UC-NIC-008", fleet(P4D, **data))


def test_groups_without_a_list():
    assert_passes("UC-NIC-008", template(Lt=launch_template(None, "p4d.24xlarge", SecurityGroupIds=[SG])))


def test_groups_and_list_under_opposite_conditions():
    none = {"Ref": "AWS::NoValue"}
    parameters = {"Efa": {"Type": "String", "Default": "no"}}
    conditions = {"HasEfa": {"Fn::Equals": [{"Ref": "Efa"}, "yes"]}}
    interfaces = {"Fn::If": ["HasEfa", P4D, none]}

    def made(groups):
        return template(parameters, conditions, Lt=launch_template(interfaces, "p4d.24xlarge", SecurityGroupIds=groups))

    assert_passes("UC-NIC-008", made({"Fn::If": ["HasEfa", none, [SG]]}))
    assert own_ids(made({"Fn::If": ["HasEfa", [SG], none]})) == {"UC-NIC-008"}


# UC-NIC-009 in node groups


def test_eks_adds_its_group_where_none_is_named():
    interfaces = [{key: value for key, value in item.items() if key != "Groups"} for item in P4D]
    listed = launch_template(interfaces, "p4d.24xlarge")
    assert own_ids(template(Lt=listed)) == {"UC-NIC-009"}
    assert_passes("UC-NIC-009", template(Lt=listed, Nodes=node_group()))
    assert own_ids(template(Lt=listed, Nodes=node_group(), Other=group())) == {"UC-NIC-009"}
