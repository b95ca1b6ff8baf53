"""UC-LUS-009 to 011: between a Lustre file system and its clients."""

from __future__ import annotations

import pytest

from support.fabric import entry, group, launch_template, subnet
from support.policy import assert_finds, assert_not_judged, assert_passes
from support.storage import (
    UNKNOWN,
    all_traffic,
    lustre,
    own_ids,
    rule_for,
    security_group,
    tcp,
    template,
)

OWN, NODES = {"Fn::GetAtt": ["Own", "GroupId"]}, {"Fn::GetAtt": ["Nodes", "GroupId"]}
FILES = lustre(SecurityGroupIds=[OWN])
BY_SELF = rule_for("Own", tcp(988, 1023), peer="Own")
CLOSED = [tcp(1, CidrIp="127.0.0.1/32")]
VPC = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}}
RANGE = {"Fn::GetAtt": ["Vpc", "CidrBlock"]}


def ports(peer, *, last=1023):
    """Both ranges as resources of their own, from a peer."""
    return {
        f"{peer}988": rule_for("Own", tcp(988), peer=peer),
        f"{peer}1018": rule_for("Own", tcp(1018, last), peer=peer),
    }


def mounting(groups=(NODES,), **more):
    """A launch template that mounts the file system, and a fleet of it."""
    entries = [entry(0, 0, "interface", Groups=list(groups), InterfaceType=None)]
    return {
        "Lt": launch_template(entries, "p5.48xlarge", UserData={"Fn::Base64": {"Fn::Sub": "mount ${Files}"}}),
        "Fleet": group(({"Ref": "Near"},)),
        "Near": subnet(),
        "Nodes": security_group(),
        **more,
    }


OPEN = {
    "both ranges": {"Own": security_group(), **ports("Own"), **ports("Nodes"), "Nodes": security_group()},
    "a covering range": {
        "Own": security_group(tcp(900, 2000, SourceSecurityGroupId=NODES)),
        "S": BY_SELF,
        "Nodes": security_group(),
    },
    "all traffic": {"Own": security_group(), "S": rule_for("Own", {"IpProtocol": -1}, peer="Own")},
    "addresses of the VPC": {
        "Own": security_group(tcp(988, 1023, CidrIp=RANGE), VpcId={"Ref": "Vpc"}),
        "Vpc": VPC,
    },
    "the same addresses": {
        "Own": security_group(tcp(988, 1023, CidrIp="10.0.0.0/16"), VpcId={"Ref": "Vpc"}),
        "Vpc": VPC,
    },
    "the world": {"Own": security_group(tcp(988, 1023, CidrIp="0.0.0.0/0"))},
    "egress by rule": {
        "Own": security_group(SecurityGroupEgress=CLOSED),
        "S": BY_SELF,
        "E": rule_for("Own", tcp(988, 1023), way="Egress", peer="Own"),
    },
    "a client that can be seen": {"Own": security_group(), "S": BY_SELF, **ports("Nodes"), **mounting()},
    "a client in the same group": {"Own": security_group(), "S": BY_SELF, **mounting([OWN])},
}


@pytest.mark.parametrize("resources", OPEN.values(), ids=OPEN)
def test_open_ports(resources):
    assert_passes("UC-LUS-009", template(Files=FILES, **resources))


SHUT = {
    "988 only": (
        {"Own": security_group(tcp(988, SourceSecurityGroupId=NODES)), "Nodes": security_group()},
        "TCP 1018-1023 from Nodes",
    ),
    "the range of older guides": (
        {
            "Own": security_group(),
            "S": BY_SELF,
            "Nodes": security_group(),
            "A": rule_for("Own", tcp(988), peer="Nodes"),
            "B": rule_for("Own", tcp(1021, 1023), peer="Nodes"),
        },
        "no rule for TCP 1018-1023 from Nodes, which",
    ),
    "not itself": ({"Own": security_group(), **ports("Nodes"), "Nodes": security_group()}, "TCP 988 from itself"),
    "no rule at all": ({"Own": security_group()}, "TCP 988 from itself, TCP 1018-1023 from itself"),
    "an unknown source": ({"Own": security_group(tcp(988, CidrIp=UNKNOWN))}, "TCP 1018-1023 from itself"),
    "addresses": (
        {"Own": security_group(tcp(988, CidrIp="10.1.0.0/16")), "S": BY_SELF},
        "no rule for TCP 1018-1023 from 10.1.0.0/16",
    ),
    "udp": ({"Own": security_group({**tcp(988, 1023), "IpProtocol": "udp", "CidrIp": "0.0.0.0/0"})}, "from itself"),
    "egress": ({"Own": security_group(SecurityGroupEgress=CLOSED), "S": BY_SELF}, "TCP 988 to itself"),
    "a client that can be seen": ({"Own": security_group(), "S": BY_SELF, **mounting()}, "TCP 988 from Lt"),
}


@pytest.mark.parametrize(("resources", "place"), SHUT.values(), ids=SHUT)
def test_closed_ports(resources, place):
    found = template(Files=FILES, **resources)
    assert_finds("UC-LUS-009", found, place=place)
    assert own_ids(found) == {"UC-LUS-009"}


def test_a_shared_group_is_reported_once_and_at_the_group():
    found = template(Files=FILES, More=FILES, Own=security_group())
    assert_finds("UC-LUS-009", found, place="Own :")


OPEN_QUESTIONS = {
    "group of elsewhere": lustre(),
    "default group": lustre(SecurityGroupIds=None),
    "unknown group": lustre(SecurityGroupIds=[UNKNOWN]),
    "unknown list": lustre(SecurityGroupIds=UNKNOWN),
    "whether it serves efa": lustre({"EfaEnabled": UNKNOWN}, SecurityGroupIds=[OWN]),
}


@pytest.mark.parametrize("file_system", OPEN_QUESTIONS.values(), ids=OPEN_QUESTIONS)
def test_ports_that_cannot_be_known(file_system):
    assert_not_judged("UC-LUS-009", template(Files=file_system, Own=security_group()))


@pytest.mark.parametrize(
    "rule",
    [
        tcp(988, 1023, CidrIp=UNKNOWN),
        tcp(988, 1023, SourceSecurityGroupId=UNKNOWN),
        tcp(988, 1023, CidrIp="10.0.0.0/16"),
        tcp(988, 1023, SourcePrefixListId="pl-0123456789abcdef0"),
        {"IpProtocol": UNKNOWN, "CidrIp": "0.0.0.0/0"},
    ],
)
def test_rules_that_cannot_be_known(rule):
    assert_not_judged("UC-LUS-009", template(Files=FILES, Own=security_group(rule)))


def test_a_client_whose_groups_are_not_known():
    resources = mounting([UNKNOWN], Own=security_group(), S=BY_SELF)
    assert_not_judged("UC-LUS-009", template(Files=FILES, **resources))


def test_ports_under_one_condition():
    first = {"Fn::If": ["Wide", 900, 988]}
    last = {"Fn::If": ["Wide", 1100, 1023]}
    rule = rule_for("Own", {"IpProtocol": "tcp", "FromPort": first, "ToPort": last}, peer="Own")
    wide = {"Wide": {"Fn::Equals": [UNKNOWN, "wide"]}}
    assert_passes("UC-LUS-009", template(conditions=wide, Files=FILES, Own=security_group(), S=rule))


# EFA

SERVES = {"EfaEnabled": True, "MetadataConfiguration": {"Mode": "AUTOMATIC"}}


def fast(subnet="Near", **more):
    return lustre(SERVES, StorageCapacity=19200, SecurityGroupIds=[OWN], SubnetIds=[{"Ref": subnet}], **more)


def fabric(groups=(NODES,), **more):
    entries = [entry(0, 0, "efa", Groups=list(groups)), entry(1, 1, "efa-only", Groups=list(groups))]
    return mounting(
        **{
            "Lt": launch_template(entries, "p5.48xlarge", UserData={"Fn::Base64": {"Fn::Sub": "mount ${Files}"}}),
            **more,
        }
    )


SELF = all_traffic(("Own", "Own"))
MUTUAL = all_traffic(("Own", "Nodes"), ("Nodes", "Own"))


@pytest.mark.parametrize(
    "resources",
    [
        {**SELF, "Near": subnet()},
        {**SELF, **MUTUAL, **fabric()},
        {**SELF, **fabric([OWN])},
        {**SELF, **mounting()},  # without a fabric device it mounts over TCP
    ],
)
def test_efa_traffic_passes(resources):
    assert_passes("UC-LUS-010", template(Files=fast(), Own=security_group(), **resources))


@pytest.mark.parametrize(
    ("resources", "place"),
    [
        ({"S": BY_SELF, "Near": subnet()}, "no group of Files allows all traffic to and from itself"),
        ({"S": rule_for("Own", {"IpProtocol": "-1"}, peer="Own"), "Near": subnet()}, "itself"),
        ({**SELF, **ports("Nodes"), **fabric()}, "Files and Lt do not allow each other"),
        ({**SELF, **all_traffic(("Own", "Nodes")), **fabric()}, "Files and Lt"),
    ],
)
def test_efa_traffic_is_stopped(resources, place):
    found = template(Files=fast(), Own=security_group(), **resources)
    assert_finds("UC-LUS-010", found, place=place)
    assert own_ids(found) == {"UC-LUS-010"}


def test_efa_traffic_that_cannot_be_known():
    unknown = lustre(SERVES, StorageCapacity=19200, SecurityGroupIds=[UNKNOWN])
    assert_not_judged("UC-LUS-010", template(Files=unknown))
    assert_not_judged("UC-LUS-010", template(Files=fast(), Own=security_group(), **SELF, **fabric([UNKNOWN])))


FAR = {"Far": subnet("us-east-1b")}
ELSEWHERE = {"Far": subnet(CidrBlock="10.9.0.0/20")}


@pytest.mark.parametrize(
    ("far", "place"),
    [(FAR, "in us-east-1b, while Lt runs in us-east-1a"), (ELSEWHERE, "10.9.0.0/20, while Lt is in 10.0.0.0/20")],
)
def test_an_efa_file_system_apart_from_its_clients(far, place):
    found = template(Files=fast("Far"), Own=security_group(), **SELF, **MUTUAL, **fabric(), **far)
    assert_finds("UC-LUS-011", found, place=place)
    assert own_ids(found) == {"UC-LUS-011"}


def test_an_efa_file_system_beside_its_clients():
    more = {"Other": subnet(CidrBlock="10.0.16.0/20")}
    found = template(Files=fast("Other"), Own=security_group(), **SELF, **MUTUAL, **fabric(), **more)
    assert_passes("UC-LUS-011", found)


def test_a_client_over_tcp_may_be_apart():
    assert_passes("UC-LUS-011", template(Files=fast("Far"), Own=security_group(), **SELF, **mounting(), **FAR))


@pytest.mark.parametrize("near", [subnet(UNKNOWN), subnet(CidrBlock=UNKNOWN), subnet(CidrBlock="10.0/99")])
def test_a_place_that_cannot_be_known(near):
    far = {"Far": subnet()}
    found = template(Files=fast("Far"), Own=security_group(), **SELF, **MUTUAL, **fabric(Near=near), **far)
    assert_not_judged("UC-LUS-011", found)


def test_zones_under_one_condition():
    zone = {"Fn::If": ["First", "us-east-1a", "us-east-1b"]}
    first = {"First": {"Fn::Equals": [UNKNOWN, "first"]}}
    resources = fabric(Near=subnet(zone), Far=subnet(zone))
    found = template(conditions=first, Files=fast("Far"), Own=security_group(), **SELF, **MUTUAL, **resources)
    assert_passes("UC-LUS-011", found)
