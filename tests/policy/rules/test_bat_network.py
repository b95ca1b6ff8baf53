"""UC-BAT-009 and 018: the network of multi-node jobs."""

from __future__ import annotations

import pytest

from support.orchestrators import NONE, either, environment, ids, job, parameter, queue, resource, switch, template
from support.policy import assert_finds, assert_not_judged, assert_passes, judged

DEFAULT = {"Fn::GetAtt": ["Vpc", "DefaultSecurityGroup"]}
SUBNET = {"Ref": "Subnet"}


def closer(group=None):
    body = resource("X", ServiceToken="arn", DefaultSecurityGroupId=group or DEFAULT, Account="111122223333")
    return {**body, "Type": "Custom::VpcRestrictDefaultSG"}


def opened(way, peer, protocol="-1"):
    return resource(f"EC2::SecurityGroup{way}", GroupId=DEFAULT, IpProtocol=protocol, **{peer: DEFAULT})


OPEN = {
    "In": opened("Ingress", "SourceSecurityGroupId"),
    "Out": opened("Egress", "DestinationSecurityGroupId"),
}


def app(parameters=None, conditions=None, /, *, subnets=None, definition=None, **more):
    """A multi-node job, its queue and environment in a VPC of the template; resources that are None are left out."""
    settings = more.pop("settings", {})
    resources = {
        "Vpc": resource("EC2::VPC", CidrBlock="10.0.0.0/16"),
        "Subnet": resource("EC2::Subnet", VpcId={"Ref": "Vpc"}, CidrBlock="10.0.0.0/20"),
        "Table": resource("EC2::RouteTable", VpcId={"Ref": "Vpc"}),
        "Association": resource("EC2::SubnetRouteTableAssociation", SubnetId=SUBNET, RouteTableId={"Ref": "Table"}),
        "Env": environment(**{"Subnets": subnets or [SUBNET], **settings}),
        "Queue": queue("Env"),
        "Job": definition or job(),
        **more,
    }
    kept = {name: body for name, body in resources.items() if body is not None}
    return template({"Given": parameter(), **(parameters or {})}, conditions, **kept)


def route(**more):
    return resource("EC2::Route", **{"RouteTableId": {"Ref": "Table"}, "DestinationCidrBlock": "0.0.0.0/0", **more})


GATEWAY = {"Gateway": resource("EC2::InternetGateway"), "Route": route(GatewayId={"Ref": "Gateway"})}
PODS = {"TargetNodes": "0:", "EksProperties": {"PodProperties": {"Containers": [{"Image": "train:1"}]}}}
SINGLE = resource("Batch::JobDefinition", Type="container", ContainerProperties={"Image": "train:1"})


def test_a_plain_app_is_clean():
    assert ids("BAT", app()) == set()


# UC-BAT-009


def test_a_default_group_that_is_closed():
    found = app(Closer=closer())
    (said,) = judged(found).of("UC-BAT-009")
    place = "Env ComputeResources.SecurityGroupIds: "
    assert said == f"{place}absent, so containers carry the default group of Vpc, which Closer closes"
    assert ids("BAT", found) == {"UC-BAT-009"}
    assert_finds("UC-BAT-009", app(Closer=closer(), settings={"SecurityGroupIds": []}))


@pytest.mark.parametrize(
    "more",
    [
        {"In": OPEN["In"]},
        {"In": OPEN["In"], "Out": opened("Egress", "DestinationSecurityGroupId", "tcp")},
    ],
)
def test_one_way_is_not_enough(more):
    assert_finds("UC-BAT-009", app(Closer=closer(), **more))


@pytest.mark.parametrize(
    "found",
    [
        app(),
        app(Closer=closer(), **OPEN),
        app(Closer=closer(), settings={"SecurityGroupIds": ["sg-0123456789abcdef0"]}),
        app(Closer=closer(), definition=job(PODS)),
        app(Closer=closer(), definition=SINGLE),
        app(Closer=closer("sg-0123456789abcdef0")),
    ],
)
def test_nodes_reach_each_other(found):
    assert_passes("UC-BAT-009", found)


@pytest.mark.parametrize(
    "found",
    [
        app(Closer=closer(), subnets=["subnet-0123456789abcdef0"]),
        app(Closer=closer(), subnets={"Ref": "Given"}),
        app(Closer=closer(), settings={"SecurityGroupIds": {"Ref": "Given"}}, subnets={"Ref": "Given"}),
        app(Closer=closer(), Queue=queue({"Ref": "Given"})),
    ],
)
def test_a_default_group_that_is_not_known(found):
    if found["Resources"]["Env"]["Properties"]["ComputeResources"].get("SecurityGroupIds"):
        assert_passes("UC-BAT-009", found)
    else:
        assert_not_judged("UC-BAT-009", found)


@pytest.mark.parametrize(("swapped", "expected"), [(False, set()), (True, {"UC-BAT-009"})])
def test_groups_and_closer_under_one_condition(swapped, expected):
    parameters, conditions = switch()
    groups = ["sg-0123456789abcdef0"]
    found = app(
        parameters,
        conditions,
        Closer=closer(),
        settings={"SecurityGroupIds": either("Big", *((groups, NONE) if not swapped else (NONE, groups)))},
    )
    found["Resources"]["Closer"]["Condition"] = "Big"
    assert ids("BAT", found) == expected


# UC-BAT-018


def test_only_public_subnets():
    found = app(**GATEWAY)
    (said,) = judged(found).of("UC-BAT-018")
    assert said.startswith(
        "Env ComputeResources.Subnets[0]: !Ref Subnet is public (Route), and containers of multi-node"
    )
    assert ids("BAT", found) == {"UC-BAT-018"}


@pytest.mark.parametrize(
    "found",
    [
        app(),
        app(Nat=resource("EC2::NatGateway"), Route=route(NatGatewayId={"Ref": "Nat"})),
        app(**GATEWAY, definition=job(PODS)),
        app(**GATEWAY, definition=SINGLE),
        app(**GATEWAY, Queue=None),
        app(**GATEWAY, settings={"Type": "SPOT"}),
    ],
)
def test_a_way_out(found):
    assert_passes("UC-BAT-018", found)


def test_another_environment_may_take_the_job():
    private = {
        "Other": resource("EC2::Subnet", VpcId={"Ref": "Vpc"}, CidrBlock="10.0.16.0/20"),
        "Closed": resource("EC2::RouteTable", VpcId={"Ref": "Vpc"}),
        "Association2": resource(
            "EC2::SubnetRouteTableAssociation", SubnetId={"Ref": "Other"}, RouteTableId={"Ref": "Closed"}
        ),
        "Env2": environment(Subnets=[{"Ref": "Other"}]),
        "Queue2": queue("Env2"),
    }
    assert_passes("UC-BAT-018", app(**GATEWAY, **private))


@pytest.mark.parametrize(
    "found",
    [
        app(subnets=["subnet-0123456789abcdef0"]),
        app(subnets={"Ref": "Given"}),
        app(Association=None),
        app(Route=route(GatewayId={"Ref": "Given"})),
    ],
)
def test_a_way_out_that_is_not_known(found):
    assert_not_judged("UC-BAT-018", found)
