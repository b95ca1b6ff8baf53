"""UC-EFS-008: FSx for OpenZFS."""

from __future__ import annotations

import pytest

from support.fabric import entry, group, launch_template, subnet
from support.policy import assert_finds, assert_not_judged, assert_passes
from support.storage import UNKNOWN, own_ids, template
from ultracluster.facts.openzfs import openzfs_deployments

ONE, TWO = [{"Ref": "A"}], [{"Ref": "A"}, {"Ref": "B"}]
SUBNETS = {"A": subnet("us-east-1a"), "B": subnet("us-east-1b")}
TABLE = {"Type": "AWS::EC2::RouteTable", "Properties": {"VpcId": "vpc-0123456789abcdef0"}}


def zfs(kind="SINGLE_AZ_2", throughput=320, subnets=ONE, **settings):
    configuration = {"DeploymentType": kind, "ThroughputCapacity": throughput, **settings}
    properties = {
        "FileSystemType": "OPENZFS",
        "StorageCapacity": 256,
        "SubnetIds": subnets,
        "OpenZFSConfiguration": {key: value for key, value in configuration.items() if value is not None},
    }
    return {"Type": "AWS::FSx::FileSystem", "Properties": properties}


def multi(tables=({"Ref": "Table"},), preferred=ONE[0], **more):
    listed = list(tables) if isinstance(tables, tuple) else tables
    return zfs("MULTI_AZ_1", subnets=TWO, RouteTableIds=listed, PreferredSubnetId=preferred, **more)


def routed(where="A", table="Table"):
    properties = {"SubnetId": {"Ref": where}, "RouteTableId": {"Ref": table}}
    return {"Type": "AWS::EC2::SubnetRouteTableAssociation", "Properties": properties}


def mounting(where="C"):
    data = {"Fn::Base64": {"Fn::Sub": "mount ${Home.DNSName}"}}
    return {
        "Lt": launch_template([entry(0, 0, "interface")], UserData=data),
        "Fleet": group(({"Ref": where},)),
        "C": subnet("us-east-1a"),
    }


@pytest.mark.parametrize("kind", [name for name in openzfs_deployments() if name != "MULTI_AZ_1"])
def test_every_throughput_of_a_deployment(kind):
    facts = openzfs_deployments()[kind]
    for throughput in facts.throughput_mbps:
        assert_passes("UC-EFS-008", template(Home=zfs(kind, throughput), **SUBNETS))
    for throughput in {100, 12, *(value + 1 for value in facts.throughput_mbps)}:
        assert own_ids(template(Home=zfs(kind, throughput), **SUBNETS)) == {"UC-EFS-008"}


@pytest.mark.parametrize(
    "found",
    [
        template(Home=multi(), Table=TABLE, Ra=routed(), Rb=routed("B"), **SUBNETS),
        template(Home=multi(None), **SUBNETS),
        template(Home=multi(), Table=TABLE, **SUBNETS, **mounting(), Rc=routed("C")),
        template(
            Home=multi(({"Fn::GetAtt": ["Table", "RouteTableId"]},)),
            Table=TABLE,
            **SUBNETS,
            **mounting(),
            Rc=routed("C"),
        ),
    ],
)
def test_several_zones(found):
    assert_passes("UC-EFS-008", found)


FAULTS = {
    "throughput": (template(Home=zfs("SINGLE_AZ_1", 320), **SUBNETS), "ThroughputCapacity: 320 MB/s with SINGLE_AZ_1"),
    "throughput of the older kind": (template(Home=zfs("SINGLE_AZ_HA_2", 64), **SUBNETS), "64 MB/s"),
    "one subnet": (
        template(Home=zfs("MULTI_AZ_1", subnets=ONE, PreferredSubnetId=ONE[0]), **SUBNETS),
        "SubnetIds: 1 with MULTI_AZ_1",
    ),
    "too many subnets": (template(Home=zfs(subnets=TWO), **SUBNETS), "SubnetIds: 2 with SINGLE_AZ_2"),
    "no preferred subnet": (template(Home=multi(preferred=None), Table=TABLE, **SUBNETS), "PreferredSubnetId: absent"),
    "no route tables": (template(Home=multi(None), Table=TABLE, Ra=routed(), **SUBNETS), "RouteTableIds: Table is not"),
    "a client behind another table": (
        template(Home=multi(), Table=TABLE, More=TABLE, **SUBNETS, **mounting(), Rc=routed("C", "More")),
        "RouteTableIds: More is not listed",
    ),
}


@pytest.mark.parametrize(("found", "place"), FAULTS.values(), ids=FAULTS)
def test_what_is_wrong(found, place):
    assert_finds("UC-EFS-008", found, place=place)
    assert own_ids(found) == {"UC-EFS-008"}


@pytest.mark.parametrize(
    "found",
    [
        template(Home=zfs(UNKNOWN), **SUBNETS),
        template(Home=zfs("SINGLE_AZ_9"), **SUBNETS),
        template(Home=zfs(throughput=UNKNOWN), **SUBNETS),
        template(Home=zfs(subnets=UNKNOWN)),
        template(Home=multi(UNKNOWN), **SUBNETS),
        template(Home=multi((UNKNOWN,)), Table=TABLE, **SUBNETS, **mounting(), Rc=routed("C")),
        template(Home=zfs("MULTI_AZ_1", subnets=[UNKNOWN, UNKNOWN], PreferredSubnetId=UNKNOWN)),
    ],
)
def test_what_cannot_be_known(found):
    assert_not_judged("UC-EFS-008", found)


def test_kind_and_throughput_under_one_condition():
    kind, rate = {"Fn::If": ["Old", "SINGLE_AZ_1", "SINGLE_AZ_2"]}, {"Fn::If": ["Old", 64, 160]}
    old = {"Old": {"Fn::Equals": [UNKNOWN, "old"]}}
    assert_passes("UC-EFS-008", template(conditions=old, Home=zfs(kind, rate), **SUBNETS))
