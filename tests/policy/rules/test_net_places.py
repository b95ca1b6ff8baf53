"""UC-NET-004, 009, 013, 014: endpoints, and what has to stand in one VPC."""

from __future__ import annotations

import pytest

from support.networks import (
    UNKNOWN,
    fleet,
    group,
    group_id,
    hyperpod,
    launch_template,
    made,
    network,
    only,
    own_ids,
    routed,
    subnet,
    tcp,
    template,
    vpc,
)
from support.policy import assert_not_judged, assert_passes

CASES = {"Case": {"Fn::Equals": [UNKNOWN, "yes"]}}
CONDITION = {"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "*"}]}
S3 = {"Fn::Sub": "com.amazonaws.${AWS::Region}.s3"}
NAT = {"NatGatewayId": "nat-0123456789abcdef0"}


def gateway(*tables, **properties):
    """An S3 gateway endpoint with some route tables."""
    written = {
        "VpcId": {"Ref": "Vpc"},
        "ServiceName": S3,
        "PolicyDocument": CONDITION,
        "RouteTableIds": [{"Ref": f"{table}Table"} for table in tables],
        **properties,
    }
    return made("AWS::EC2::VPCEndpoint", **written)


BUDGET = made("AWS::Budgets::Budget")
SECOND = {"Second": subnet(CidrBlock="10.0.32.0/20"), **routed("Second", **NAT)}
ISOLATED = {"Second": subnet(CidrBlock="10.0.32.0/20"), **routed("Second")}


@pytest.mark.parametrize(
    "resources",
    [
        {"S3": gateway("Private")},
        {"S3": gateway("Private", "Second"), **SECOND},
        {"S3": gateway("Private"), "More": gateway("Second"), **SECOND},
        {"S3": gateway("Private"), **ISOLATED},
        {"S3": gateway("Private"), "Spare": made("AWS::EC2::RouteTable", VpcId={"Ref": "Vpc"})},
        {},
    ],
    ids=["one", "two", "two endpoints", "isolated", "unused", "no endpoint in a lone template"],
)
def test_route_tables_of_the_s3_endpoint(resources):
    assert_passes("UC-NET-004", template(**network(**resources)))


@pytest.mark.parametrize(
    ("resources", "place"),
    [
        ({"S3": gateway("Private"), **SECOND}, "S3 RouteTableIds: private route table SecondTable is left out"),
        ({"S3": gateway("Public")}, "PrivateTable is left out"),
        ({"S3": gateway(RouteTableIds=None)}, "S3 : private route table PrivateTable"),
        (
            {
                "S3": gateway("Private"),
                **ISOLATED,
                "Lt": launch_template(InstanceType="m7i.large"),
                "F": fleet("Second"),
            },
            "SecondTable",
        ),
    ],
    ids=["one of two", "public only", "none", "of a fleet"],
)
def test_route_tables_that_are_left_out(resources, place):
    only("UC-NET-004", template(**network(**resources)), place=place)


def test_no_endpoint_in_an_app_with_a_fleet():
    resources = network(Lt=launch_template(), Fleet=fleet("Private"), Budget=BUDGET)
    only("UC-NET-004", template(**resources), place="takes the way of route table PrivateTable", is_app=True)
    assert_passes("UC-NET-004", template(**network(Budget=BUDGET)), is_app=True)
    assert_passes("UC-NET-004", template(**network(Lt=launch_template(), Fleet=fleet("Public"))), is_app=True)


@pytest.mark.parametrize("more", [{"RouteTableIds": UNKNOWN}, {"ServiceName": UNKNOWN}])
def test_an_endpoint_that_cannot_be_known(more):
    assert_not_judged("UC-NET-004", template(**network(S3=gateway(**more))))


def test_route_tables_under_one_condition():
    table = {"Fn::If": ["Case", {"Ref": "SecondTable"}, {"Ref": "PrivateTable"}]}
    second = {name: {**body, "Condition": "Case"} for name, body in SECOND.items()}
    resources = network(S3=gateway(RouteTableIds=[{"Ref": "PrivateTable"}, table]), **second)
    assert_passes("UC-NET-004", template(conditions=CASES, **resources))


# File systems

FILES = made("AWS::FSx::FileSystem", FileSystemType="LUSTRE", SubnetIds=[{"Ref": "Far"}])
MOUNTS = {"Fn::Base64": {"Fn::Sub": "#!/bin/bash\nmount -t lustre ${Files.DNSName}@tcp:/x /fsx\n"}}
FAR = {"Other": vpc(CidrBlock="10.9.0.0/16"), "Far": subnet("Other")}
HOME = {
    "Home": made("AWS::EFS::FileSystem"),
    "Files": made("AWS::EFS::MountTarget", FileSystemId={"Ref": "Home"}, SubnetId={"Ref": "Far"}),
    "More": made("AWS::EFS::MountTarget", FileSystemId={"Ref": "Home"}, SubnetId={"Ref": "Far"}),
}
PEERING = made("AWS::EC2::VPCPeeringConnection", VpcId={"Ref": "Vpc"}, PeerVpcId={"Ref": "Other"})


def attached(name):
    return made("AWS::EC2::TransitGatewayAttachment", VpcId={"Ref": name}, SubnetIds=[], TransitGatewayId="tgw-1")


def mounting(script=MOUNTS):
    return network(Lt=launch_template(UserData=script), Fleet=fleet("Private"))


def test_a_file_system_in_another_vpc():
    found = template(**mounting(), **FAR, Files=FILES)
    only("UC-NET-009", found, place="Files SubnetIds: in !Ref Other, while Lt, which names it, runs in !Ref Vpc")
    script = {"Fn::Base64": {"Fn::Sub": "#!/bin/bash\nmount -t efs ${Home} /home\n"}}
    only("UC-NET-009", template(**mounting(script), **FAR, **HOME), place="Files SubnetId: in !Ref Other")


def test_a_file_system_that_stands_alone():
    found = template(**mounting(None), **FAR, Files=FILES)
    only("UC-NET-009", found, place="where nothing computes, while Fleet runs in !Ref Vpc")
    beside = {**FILES, "Properties": {**FILES["Properties"], "SubnetIds": [{"Ref": "Private"}]}}
    assert_passes("UC-NET-009", template(**mounting(), Files=beside))
    used = made("AWS::Lambda::Function", VpcConfig={"SubnetIds": [{"Ref": "Far"}]})
    assert_passes("UC-NET-009", template(**mounting(None), **FAR, Files=FILES, Used=used))
    exported = template(**mounting(None), **FAR, Files=FILES)
    assert_passes("UC-NET-009", {**exported, "Outputs": {"Far": {"Value": {"Ref": "Far"}}}})


@pytest.mark.parametrize("links", [{"Peering": PEERING}, {"One": attached("Vpc"), "Two": attached("Other")}])
def test_vpcs_that_are_joined(links):
    assert_passes("UC-NET-009", template(**mounting(), **FAR, Files=FILES, **links))


@pytest.mark.parametrize("place", ["subnet-0123456789abcdef0", UNKNOWN])
def test_a_file_system_in_subnets_of_elsewhere(place):
    elsewhere = {**FILES, "Properties": {**FILES["Properties"], "SubnetIds": [place]}}
    assert_passes("UC-NET-009", template(**mounting(), Files=elsewhere))


def test_a_vpc_that_cannot_be_known():
    unknown = {"Far": subnet(UNKNOWN), "Near": subnet({"Ref": "Also"}), "Lt": launch_template(UserData=MOUNTS)}
    parameters = {"Also": {"Type": "AWS::EC2::VPC::Id"}}
    assert_not_judged("UC-NET-009", template(parameters, **unknown, Fleet=fleet("Near"), Files=FILES))


def test_a_file_system_and_its_client_under_one_condition():
    def either(one, other):
        return {"Fn::If": ["Case", {"Ref": one}, {"Ref": other}]}

    files = {**FILES, "Properties": {**FILES["Properties"], "SubnetIds": [either("Far", "Private")]}}
    resources = network(Lt=launch_template(UserData=MOUNTS), Fleet=fleet(either("Far", "Private")))
    assert_passes("UC-NET-009", template(conditions=CASES, **resources, **FAR, Files=files))


# Groups

DEFAULT = group(VpcId=None)
OTHERS = group(VpcId={"Ref": "Other"})


def users(name):
    value = group_id(name)
    return {
        "fleet": {"Lt": launch_template(value), "Fleet": fleet("Private")},
        "hyperpod": {"Pod": hyperpod("Private", groups=(value,))},
        "files": {"F": made("AWS::FSx::FileSystem", SubnetIds=[{"Ref": "Private"}], SecurityGroupIds=[value])},
        "target": {"T": made("AWS::EFS::MountTarget", SubnetId={"Ref": "Private"}, SecurityGroups=[value])},
        "instance": {"I": made("AWS::EC2::Instance", SubnetId={"Ref": "Private"}, SecurityGroupIds=[value])},
        "endpoint": {
            "E": made(
                "AWS::EC2::VPCEndpoint",
                VpcId={"Ref": "Vpc"},
                VpcEndpointType="Interface",
                ServiceName="com.amazonaws.us-east-1.cassandra",
                SecurityGroupIds=[value],
            )
        },
    }


@pytest.mark.parametrize("kind", users(""))
def test_groups_of_the_vpc(kind):
    resources = network(Group=group(), Other=vpc(), Default=DEFAULT, Others=OTHERS)
    assert_passes("UC-NET-013", template(**resources, **users("Group")[kind]))
    place = "Others lies in !Ref Other, the subnets of"
    only("UC-NET-013", template(**resources, **users("Others")[kind]), place=place)
    only(
        "UC-NET-013", template(**resources, **users("Default")[kind]), place="Default lies without VpcId in the default"
    )


def test_a_group_of_two_fleets_is_reported_once():
    resources = network(Default=DEFAULT, Lt=launch_template(group_id("Default"), group_id("Default"), entries=2))
    found = template(**resources, Fleet=fleet("Private"))
    only("UC-NET-013", found, place="Lt LaunchTemplateData.NetworkInterfaces[0].Groups[0]")


@pytest.mark.parametrize("value", ["sg-0123456789abcdef0", UNKNOWN])
def test_groups_and_subnets_of_elsewhere(value):
    assert_passes("UC-NET-013", template(**network(Lt=launch_template(value), Fleet=fleet("Private"))))
    assert_passes("UC-NET-013", template(Lt=launch_template(group_id("Default")), Fleet=fleet(), Default=DEFAULT))


@pytest.mark.parametrize("own", [{"Ref": "Also"}, None, "vpc-0123456789abcdef0"])
def test_vpcs_that_cannot_be_compared(own):
    parameters = {"Also": {"Type": "AWS::EC2::VPC::Id"}}
    resources = {"Near": subnet(UNKNOWN), "Group": group(VpcId=own), "Lt": launch_template(group_id("Group"))}
    assert_not_judged("UC-NET-013", template(parameters, **resources, Fleet=fleet("Near")))


def test_one_parameter_for_both():
    resources = {"Near": subnet(UNKNOWN), "Group": group(VpcId=UNKNOWN), "Lt": launch_template(group_id("Group"))}
    assert_passes("UC-NET-013", template(**resources, Fleet=fleet("Near")))
    literal = {"Near": subnet("vpc-1"), "Group": group(VpcId="vpc-2"), "Lt": launch_template(group_id("Group"))}
    only("UC-NET-013", template(**literal, Fleet=fleet("Near")), place="Group lies in vpc-2")


def test_vpcs_under_one_condition():
    either = {"Fn::If": ["Case", {"Ref": "Vpc"}, {"Ref": "Other"}]}
    resources = {"Vpc": vpc(), "Other": vpc(), "Near": subnet(either), "Group": group(VpcId=either)}
    found = template(conditions=CASES, **resources, Lt=launch_template(group_id("Group")), Fleet=fleet("Near"))
    assert_passes("UC-NET-013", found)


# Endpoints

RANGE = {"Fn::GetAtt": ["Vpc", "CidrBlock"]}
NODES = {"Nodes": group(), "Lt": launch_template(group_id("Nodes")), "Fleet": fleet("Private")}


def endpoint(*groups, service="logs", **properties):
    written = {
        "VpcId": {"Ref": "Vpc"},
        "VpcEndpointType": "Interface",
        "ServiceName": {"Fn::Sub": "com.amazonaws.${AWS::Region}." + service},
        "SecurityGroupIds": [group_id(name) for name in groups] or None,
        **properties,
    }
    return made("AWS::EC2::VPCEndpoint", **written)


OPEN = {
    "group": tcp(443, SourceSecurityGroupId=group_id("Nodes")),
    "subnet": tcp(443, CidrIp="10.0.0.0/20"),
    "vpc": tcp(443, CidrIp="10.0.0.0/16"),
    "vpc by reference": tcp(443, CidrIp=RANGE),
    "all ports": tcp(0, 65535, CidrIp=RANGE),
    "all traffic": {"IpProtocol": -1, "CidrIp": RANGE},
}


@pytest.mark.parametrize("rule", OPEN.values(), ids=OPEN)
def test_endpoints_that_nodes_reach(rule):
    assert_passes("UC-NET-014", template(**network(**NODES), E=endpoint("Own"), Own=group(rule)))


@pytest.mark.parametrize(
    ("rules", "place"),
    [
        ([], "Own : no rule lets Fleet reach endpoint E on TCP 443"),
        ([tcp(80, CidrIp=RANGE)], "no rule lets Fleet"),
        ([tcp(443, CidrIp="192.168.0.0/16")], "no rule lets Fleet"),
        ([tcp(443, SourceSecurityGroupId=group_id("Own"))], "no rule lets Fleet"),
    ],
    ids=["none", "other port", "other range", "itself"],
)
def test_endpoints_that_nodes_do_not_reach(rules, place):
    found = template(**network(**NODES), E=endpoint("Own"), Own=group(*rules))
    only("UC-NET-014", found, place=place)


def test_an_endpoint_that_lets_nobody_in():
    only("UC-NET-014", template(**network(), E=endpoint("Own"), Own=group()), place="no rule lets anybody reach")
    assert_passes("UC-NET-014", template(**network(), E=endpoint("Own"), Own=group(tcp(443, CidrIp=RANGE))))


def test_two_groups_that_share_the_work():
    found = template(**network(**NODES), E=endpoint("Own", "More"), Own=group(), More=group(tcp(443, CidrIp=RANGE)))
    assert_passes("UC-NET-014", found)
    only(
        "UC-NET-014", template(**network(**NODES), E=endpoint("Own", "Own2"), Own=group(), Own2=group()), place="E Sec"
    )


def test_the_default_group():
    found = template(**network(**NODES), E=endpoint())
    only(
        "UC-NET-014",
        found,
        place="E : without SecurityGroupIds it has the default group of Vpc, which does not let Fleet",
    )
    default = {"Fn::GetAtt": ["Vpc", "DefaultSecurityGroup"]}
    inside = {**NODES, "Lt": launch_template(default)}
    assert_passes("UC-NET-014", template(**network(**inside), E=endpoint()))
    restricted = made("Custom::VpcRestrictDefaultSG", DefaultSecurityGroupId=default)
    only("UC-NET-014", template(**network(**inside), E=endpoint(), R=restricted), place="which is closed")
    opened = made("AWS::EC2::SecurityGroupIngress", GroupId=default, **tcp(443, CidrIp=RANGE))
    assert_not_judged("UC-NET-014", template(**network(**NODES), E=endpoint(), Opened=opened))


@pytest.mark.parametrize(
    "found",
    [
        endpoint(service="cassandra", SecurityGroupIds=[group_id("Own")]),
        endpoint("Own", ServiceName="vendor.example"),
        gateway("Private"),
    ],
)
def test_endpoints_that_are_not_called_over_https(found):
    assert_passes("UC-NET-014", template(**network(**NODES), E=found, Own=group()))


@pytest.mark.parametrize(
    "resources",
    [
        {"E": endpoint(SecurityGroupIds=["sg-0123456789abcdef0"])},
        {"E": endpoint(SecurityGroupIds=UNKNOWN)},
        {"E": endpoint("Own"), "Own": group(tcp(443, CidrIp=UNKNOWN))},
        {"E": endpoint("Own"), "Own": group(tcp(443, SourceSecurityGroupId=UNKNOWN))},
    ],
)
def test_endpoints_whose_rules_cannot_be_known(resources):
    assert_not_judged("UC-NET-014", template(**network(**NODES), **resources))


FROM_NODES = group(tcp(443, SourceSecurityGroupId=group_id("Nodes")))
ELSEWHERE = {"LaunchTemplateId": "lt-0123456789abcdef0", "Version": "1"}


@pytest.mark.parametrize(
    "nodes",
    [
        fleet("Private", LaunchTemplate=ELSEWHERE),
        fleet("Private", LaunchTemplate=None, LaunchConfigurationName={"Ref": "Unknown"}),
        made("AWS::EKS::Nodegroup", Subnets=[{"Ref": "Private"}], NodeRole="x", InstanceTypes=["m7i.large"]),
    ],
    ids=["launch template of elsewhere", "launch configuration", "group of the EKS cluster"],
)
def test_nodes_whose_groups_cannot_be_known(nodes):
    resources = network(Nodes=group(), Fleet=nodes, E=endpoint("Own"))
    assert_not_judged("UC-NET-014", template(**resources, Own=FROM_NODES))
    assert_passes("UC-NET-014", template(**resources, Own=group(tcp(443, CidrIp=RANGE))))
    only("UC-NET-014", template(**resources, Own=group()), place="no rule lets Fleet reach")


def test_ports_and_endpoints_under_one_condition():
    rule = tcp({"Fn::If": ["Case", 443, 80]}, {"Fn::If": ["Case", 443, 80]}, CidrIp=RANGE)
    found = template(conditions=CASES, **network(**NODES), E={**endpoint("Own"), "Condition": "Case"}, Own=group(rule))
    assert "UC-NET-014" not in own_ids(found)
