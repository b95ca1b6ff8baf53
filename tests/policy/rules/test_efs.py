"""UC-EFS-001 to 003, 005 and 006: EFS file systems."""

from __future__ import annotations

import pytest

from support.fabric import entry, group, launch_template, subnet
from support.policy import assert_finds, assert_not_judged, assert_passes
from support.storage import UNKNOWN, own_ids, rule_for, security_group, tcp, template

NODES, DOOR = {"Fn::GetAtt": ["Nodes", "GroupId"]}, {"Fn::GetAtt": ["Door", "GroupId"]}
NFS = {"Nfs": rule_for("Door", tcp(2049), peer="Nodes")}
SHUT = [tcp(1, CidrIp="127.0.0.1/32")]


def efs(**properties):
    written = {"Encrypted": True, "ThroughputMode": "elastic", **properties}
    return {
        "Type": "AWS::EFS::FileSystem",
        "Properties": {key: value for key, value in written.items() if value is not None},
    }


def target(subnet="A", groups=(DOOR,), file_system="Home"):
    where = {"Ref": subnet} if isinstance(subnet, str) else subnet
    properties = {"FileSystemId": {"Ref": file_system}, "SubnetId": where, "SecurityGroups": list(groups)}
    return {"Type": "AWS::EFS::MountTarget", "Properties": properties}


def mounting(subnets=("A",), groups=(NODES,)):
    """A launch template that mounts the file system, and a fleet of it."""
    data = {"Fn::Base64": {"Fn::Sub": "#!/bin/bash\nmount -t efs -o tls ${Home}:/ /home/shared"}}
    where = tuple({"Ref": each} if isinstance(each, str) else each for each in subnets)
    return {
        "Lt": launch_template([entry(0, 0, "interface", Groups=list(groups))], UserData=data),
        "Fleet": group(where),
        "Nodes": security_group(),
    }


ZONES = {"A": subnet("us-east-1a"), "B": subnet("us-east-1b", CidrBlock="10.0.16.0/20")}
BASE = {"Home": efs(), "T": target(), "Door": security_group(), **NFS, **ZONES, **mounting()}


def whole(**more):
    return template(**{**BASE, **more})


PASSING = {
    "one zone": whole(),
    "two zones": whole(T2=target("B"), **mounting(("A", "B"))),
    "One Zone in its zone": whole(Home=efs(AvailabilityZoneName="us-east-1a")),
    "by addresses": whole(Door=security_group(tcp(2049, CidrIp="10.0.0.0/16")), Nfs=ZONES["A"]),
    "all traffic": whole(Nfs=rule_for("Door", {"IpProtocol": "-1"}, peer="Nodes")),
    "egress by rule": whole(
        Nodes=security_group(SecurityGroupEgress=SHUT), Out=rule_for("Nodes", tcp(2049), way="Egress", peer="Door")
    ),
    "nobody mounts it": template(Home=efs(), T=target(), Door=security_group(), **ZONES),
    "bursting": whole(Home=efs(ThroughputMode=None)),
    "provisioned": whole(Home=efs(ThroughputMode="provisioned", ProvisionedThroughputInMibps=1024.5)),
    "max io": whole(Home=efs(ThroughputMode="bursting", PerformanceMode="maxIO")),
    "encrypted by text": whole(Home=efs(Encrypted="true")),
}


@pytest.mark.parametrize("found", PASSING.values(), ids=PASSING)
def test_what_is_right(found):
    for rule_id in ("UC-EFS-001", "UC-EFS-002", "UC-EFS-003", "UC-EFS-005", "UC-EFS-006"):
        assert_passes(rule_id, found)


FAULTS = {
    "One Zone and another": (
        "UC-EFS-001",
        whole(Home=efs(AvailabilityZoneName="us-east-1a"), **mounting(("A", "B"))),
        "AvailabilityZoneName: One Zone in us-east-1a, while Lt, which mounts it, runs in us-east-1b",
    ),
    "no target": ("UC-EFS-002", whole(**mounting(("A", "B"))), "Home : no mount target in us-east-1b, where Lt"),
    "no rule": ("UC-EFS-003", whole(Nfs=ZONES["A"]), "Door : no rule for TCP 2049 from Lt"),
    "another port": ("UC-EFS-003", whole(Nfs=rule_for("Door", tcp(2048), peer="Nodes")), "TCP 2049 from Lt"),
    "another group": (
        "UC-EFS-003",
        whole(Nfs=rule_for("Door", tcp(2049), peer="Other"), Other=security_group()),
        "TCP 2049 from Lt",
    ),
    "other addresses": (
        "UC-EFS-003",
        whole(Door=security_group(tcp(2049, CidrIp="10.9.0.0/16")), Nfs=ZONES["A"]),
        "TCP 2049 from Lt",
    ),
    "no way out": ("UC-EFS-003", whole(Nodes=security_group(SecurityGroupEgress=SHUT)), "TCP 2049 out of Lt"),
    "not encrypted": ("UC-EFS-005", whole(Home=efs(Encrypted=False)), "Encrypted: false"),
    "encryption left out": ("UC-EFS-005", whole(Home=efs(Encrypted=None)), "Encrypted: absent"),
    "no throughput": (
        "UC-EFS-006",
        whole(Home=efs(ThroughputMode="provisioned")),
        "ProvisionedThroughputInMibps: is miss",
    ),
    "too much": (
        "UC-EFS-006",
        whole(Home=efs(ThroughputMode="provisioned", ProvisionedThroughputInMibps=4000)),
        "4000 MiB/s is out of range",
    ),
    "throughput without its mode": ("UC-EFS-006", whole(Home=efs(ProvisionedThroughputInMibps=100)), "not elastic"),
    "max io on One Zone": (
        "UC-EFS-006",
        whole(Home=efs(AvailabilityZoneName="us-east-1a", PerformanceMode="maxIO", ThroughputMode=None)),
        "PerformanceMode: maxIO does not go with a One Zone",
    ),
    "max io and elastic": ("UC-EFS-006", whole(Home=efs(PerformanceMode="maxIO")), "elastic"),
    "no such mode": ("UC-EFS-006", whole(Home=efs(ThroughputMode="fast")), "ThroughputMode: 'fast'"),
}


@pytest.mark.parametrize(("rule_id", "found", "place"), FAULTS.values(), ids=FAULTS)
def test_what_is_wrong(rule_id, found, place):
    assert_finds(rule_id, found, place=place)
    assert own_ids(found) == {rule_id}


UNKNOWNS = {
    "UC-EFS-001": [
        whole(Home=efs(AvailabilityZoneName=UNKNOWN)),
        whole(Home=efs(AvailabilityZoneName="us-east-1a"), **mounting((UNKNOWN,))),
    ],
    "UC-EFS-002": [
        whole(**mounting(("A", UNKNOWN))),
        whole(T=target(UNKNOWN), **mounting(("A",))),
        template(Home=efs(), **ZONES, **mounting()),
    ],
    "UC-EFS-003": [
        whole(T=target(groups=(UNKNOWN,))),
        whole(T=target(groups=())),
        whole(**mounting(groups=(UNKNOWN,))),
        whole(Nfs=ZONES["A"], Door=security_group(tcp(2049, CidrIp=UNKNOWN))),
    ],
    "UC-EFS-005": [whole(Home=efs(Encrypted=UNKNOWN))],
    "UC-EFS-006": [whole(Home=efs(ThroughputMode=UNKNOWN))],
}


@pytest.mark.parametrize(
    ("rule_id", "found"), [(rule_id, found) for rule_id, group in UNKNOWNS.items() for found in group]
)
def test_what_cannot_be_known(rule_id, found):
    assert_not_judged(rule_id, found)


def test_a_target_is_missing_in_an_app():
    assert_finds("UC-EFS-002", template(Home=efs(), **ZONES, **mounting()), is_app=True, place="us-east-1a")


def test_a_target_in_the_same_unknown_subnet():
    assert_passes("UC-EFS-002", whole(T=target(UNKNOWN), **mounting((UNKNOWN,))))


FIRST = {"First": {"Fn::Equals": [UNKNOWN, "first"]}}


def test_two_properties_under_one_condition():
    mode = {"Fn::If": ["First", "provisioned", "elastic"]}
    rate = {"Fn::If": ["First", 100, {"Ref": "AWS::NoValue"}]}
    found = template(conditions=FIRST, Home=efs(ThroughputMode=mode, ProvisionedThroughputInMibps=rate))
    assert_passes("UC-EFS-006", found)


def test_zones_under_one_condition():
    where = {"Fn::If": ["First", {"Ref": "A"}, {"Ref": "B"}]}
    found = template(conditions=FIRST, **{**BASE, "T": target(where), **mounting((where,))})
    assert_passes("UC-EFS-002", found)
    zone = {"Fn::If": ["First", "us-east-1a", "us-east-1b"]}
    one = template(conditions=FIRST, **{**BASE, "Home": efs(AvailabilityZoneName=zone), **mounting((where,))})
    assert_passes("UC-EFS-001", one)
