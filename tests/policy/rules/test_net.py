"""UC-NET-001, 003, 005: public subnets, DNS, made-up zones."""

from __future__ import annotations

import pytest

from support.networks import (
    NOTHING,
    UNKNOWN,
    fleet,
    hyperpod,
    launch_template,
    made,
    network,
    only,
    own_ids,
    routed,
    subnet,
    template,
    vpc,
)
from support.policy import assert_not_judged, assert_passes, judged
from ultracluster.findings import Severity

MANY = launch_template("sg-0123456789abcdef0", entries=2)
ONE = launch_template("sg-0123456789abcdef0")
LOGIN = launch_template("sg-0123456789abcdef0", InstanceType="m7i.large")
INSTANCE = made("AWS::EC2::Instance", InstanceType="p5.48xlarge", SubnetId={"Ref": "Public"})
NODE_GROUP = made("AWS::EKS::Nodegroup", Subnets=[{"Ref": "Public"}], InstanceTypes=["p5.48xlarge"], NodeRole="x")
CASES = {"Case": {"Fn::Equals": [UNKNOWN, "public"]}}


def both(name):
    return {"Fn::If": ["Case", {"Ref": name}, {"Ref": "Private"}]}


@pytest.mark.parametrize(
    "resources",
    [
        {"Lt": MANY, "Fleet": fleet("Private")},
        {"Pod": hyperpod("Private")},
        {"Lt": LOGIN, "Fleet": fleet("Public")},
        {"Box": INSTANCE},
        {"Lt": MANY, "Fleet": fleet("Public"), "PublicRoute": made("AWS::EC2::InternetGateway")},
        # IPv6 leaves by the gateway, IPv4 does not.
        {
            "Lt": MANY,
            "Fleet": fleet("Public"),
            "PublicRoute": made(
                "AWS::EC2::Route",
                RouteTableId={"Ref": "PublicTable"},
                DestinationIpv6CidrBlock="::/0",
                GatewayId={"Ref": "Igw"},
            ),
        },
    ],
    ids=["private", "hyperpod", "login", "instance", "no route", "ipv6"],
)
def test_nodes_that_stand_well(resources):
    assert_passes("UC-NET-001", template(**network(**resources)))


@pytest.mark.parametrize(
    ("resources", "place"),
    [
        ({"Lt": MANY, "Fleet": fleet("Public")}, "Fleet VPCZoneIdentifier[0]: !Ref Public is public (PublicRoute)"),
        ({"Lt": MANY, "Fleet": fleet("Private", "Public")}, "Fleet VPCZoneIdentifier[1]"),
        ({"Pod": hyperpod("Public")}, "Pod VpcConfig.Subnets[0]"),
        (
            {"Pod": hyperpod("Private", OverrideVpcConfig={"Subnets": [{"Ref": "Public"}]})},
            "OverrideVpcConfig.Subnets[0]",
        ),
        (
            {
                "Box": made(
                    "AWS::EC2::Instance",
                    SubnetId={"Ref": "Public"},
                    NetworkInterfaces=[{"DeviceIndex": 0}, {"DeviceIndex": 1}],
                )
            },
            "Box SubnetId",
        ),
        ({"Lt": MANY, "Fleet": fleet("Public"), **routed("Public", "igw-0123456789abcdef0")}, "(PublicRoute)"),
    ],
    ids=["fleet", "one of two", "hyperpod", "override", "instance", "literal gateway"],
)
def test_nodes_without_a_way_out(resources, place):
    found = template(**network(**resources))
    only("UC-NET-001", found, place=place)
    assert [fault.severity for fault in judged(found).judged.faults if fault.rule_id == "UC-NET-001"] == [None]


@pytest.mark.parametrize("resources", [{"Lt": ONE, "Fleet": fleet("Public")}, {"Nodes": NODE_GROUP}])
def test_accelerators_with_one_interface_are_a_warning(resources):
    found = template(**network(**resources))
    only("UC-NET-001", found, place="can be reached from the internet")
    severities = {fault.severity for fault in judged(found).judged.faults if fault.rule_id == "UC-NET-001"}
    assert severities == {Severity.WARNING}


@pytest.mark.parametrize(
    "resources",
    [
        {"Lt": MANY, "Fleet": fleet()},
        {"Lt": MANY, "Fleet": fleet(UNKNOWN)},
        {"Lt": MANY, "Fleet": fleet("Lonely"), "Lonely": subnet()},
        {"Lt": MANY, "Fleet": fleet("Public"), **routed("Public", UNKNOWN)},
        {"Lt": launch_template(NetworkInterfaces=UNKNOWN), "Fleet": fleet("Public")},
    ],
    ids=["elsewhere", "unknown", "main table", "gateway", "interfaces"],
)
def test_subnets_that_cannot_be_known(resources):
    assert_not_judged("UC-NET-001", template(**network(**resources)))


def test_public_and_several_interfaces_under_one_condition():
    interfaces = {"Fn::If": ["Case", [{"DeviceIndex": 0}], [{"DeviceIndex": 0}, {"DeviceIndex": 1}]]}
    data = launch_template(NetworkInterfaces=interfaces, InstanceType="m7i.large")
    assert_passes("UC-NET-001", template(conditions=CASES, **network(Lt=data, Fleet=fleet(both("Public")))))


# DNS

FILES = made("AWS::FSx::FileSystem", FileSystemType="LUSTRE", SubnetIds=[{"Ref": "Near"}])
PRIVATE_NAMES = made(
    "AWS::EC2::VPCEndpoint",
    VpcId={"Ref": "Vpc"},
    VpcEndpointType="Interface",
    ServiceName="com.amazonaws.us-east-1.logs",
    PrivateDnsEnabled=True,
    SecurityGroupIds=["sg-0123456789abcdef0"],
)
EKS = made("AWS::EKS::Cluster", ResourcesVpcConfig={"SubnetIds": [{"Ref": "Near"}]})
USERS = {
    "files": FILES,
    "home": made("AWS::EFS::MountTarget", SubnetId={"Ref": "Near"}, FileSystemId="fs-1", SecurityGroups=["sg-1"]),
    "eks": EKS,
    "pcs": made("AWS::PCS::Cluster", Networking={"SubnetIds": [{"Ref": "Near"}]}),
    "hyperpod": hyperpod("Near"),
    "endpoint": PRIVATE_NAMES,
}


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
def test_names_that_are_not_resolved(user):
    silent = vpc(EnableDnsHostnames=None)
    only("UC-NET-003", template(Vpc=silent, Near=subnet(), User=user), place="EnableDnsHostnames is off by default")
    off = vpc(EnableDnsHostnames="false")
    only("UC-NET-003", template(Vpc=off, Near=subnet(), User=user), place="Vpc EnableDnsHostnames: false, while User")
    deaf = vpc(EnableDnsSupport=False)
    only("UC-NET-003", template(Vpc=deaf, Near=subnet(), User=user), place="Vpc EnableDnsSupport: false")


@pytest.mark.parametrize(
    "resources",
    [
        {"Vpc": vpc(), "User": FILES},
        {"Vpc": vpc(EnableDnsHostnames=None)},
        {"Vpc": vpc(EnableDnsHostnames=None), "Fleet": fleet("Near"), "Lt": LOGIN},
        {"Vpc": vpc(EnableDnsHostnames=None), "User": {**PRIVATE_NAMES, "Properties": {"VpcId": {"Ref": "Vpc"}}}},
    ],
    ids=["on", "nobody", "fleet", "gateway endpoint"],
)
def test_names_that_nobody_needs_or_that_are_resolved(resources):
    assert_passes("UC-NET-003", template(Near=subnet(), **resources))


def test_dns_that_cannot_be_known():
    assert_not_judged("UC-NET-003", template(Vpc=vpc(EnableDnsHostnames=UNKNOWN), Near=subnet(), User=FILES))


def test_dns_and_its_user_under_one_condition():
    names = {"Fn::If": ["Case", False, True]}
    user = {**FILES, "Properties": {"SubnetIds": {"Fn::If": ["Case", ["subnet-1"], [{"Ref": "Near"}]]}}}
    user["Condition"] = "Not"
    conditions = {**CASES, "Not": {"Fn::Not": [{"Condition": "Case"}]}}
    found = template(conditions=conditions, Vpc=vpc(EnableDnsHostnames=names), Near=subnet(), User=user)
    assert "UC-NET-003" not in own_ids(found)


# Zones

ZONES = {
    "subnet": (lambda zone: subnet("vpc-1", AvailabilityZone=zone), "Resource AvailabilityZone"),
    "volume": (lambda zone: made("AWS::EC2::Volume", AvailabilityZone=zone), "Resource AvailabilityZone"),
    "home": (lambda zone: made("AWS::EFS::FileSystem", AvailabilityZoneName=zone), "AvailabilityZoneName"),
    "fleet": (
        lambda zone: fleet(VPCZoneIdentifier=None, AvailabilityZones=["us-east-1a", zone], LaunchTemplate=None),
        "AvailabilityZones[1]",
    ),
    "launch template": (
        lambda zone: launch_template(Placement={"AvailabilityZone": zone}),
        "LaunchTemplateData.Placement.AvailabilityZone",
    ),
}


@pytest.mark.parametrize(("resource", "place"), ZONES.values(), ids=ZONES)
def test_zones(resource, place):
    only("UC-NET-005", template(Resource=resource("dummy1a")), place=place)
    picked = {"Fn::Select": [0, {"Fn::GetAZs": ""}]}
    for zone in ("us-east-1a", picked, NOTHING):
        assert_passes("UC-NET-005", template(Resource=resource(zone)))
    assert_not_judged("UC-NET-005", template(Resource=resource(UNKNOWN)))


def test_a_made_up_zone_by_default():
    parameters = {"Zone": {"Type": "String", "Default": "dummy1b"}}
    only("UC-NET-005", template(parameters, Near=subnet("vpc-1", AvailabilityZone={"Ref": "Zone"})), place="dummy1b")


def test_all_zones_of_the_region():
    assert_passes("UC-NET-005", template(Fleet=fleet(AvailabilityZones={"Fn::GetAZs": ""}, LaunchTemplate=None)))
