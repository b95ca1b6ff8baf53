"""UC-CAP-007 to 009, 011 and 020: fleets that draw on reserved capacity."""

from __future__ import annotations

from typing import Any

import pytest

from support.fabric import batch, group, launch_template, mixed, named, node_group, own_ids, pcs, subnet, template
from support.policy import assert_finds, assert_not_judged, assert_passes

A, B = {"Ref": "A"}, {"Ref": "B"}
NONE = {"Ref": "AWS::NoValue"}
PARAMETERS = {"Unknown": {"Type": "String"}, "Id": {"Type": "String", "Default": ""}}
TARGET = {"CapacityReservationId": "cr-0123456789abcdef0"}
RESERVATION_GROUP = {"CapacityReservationResourceGroupArn": "arn:aws:resource-groups:us-east-1:111122223333:group/cb"}


def block(target: Any = None, market: Any = "capacity-block") -> dict[str, Any]:
    more = {"InstanceMarketOptions": {"MarketType": market}} if market else {}
    return launch_template(
        None,
        "p5.48xlarge",
        CapacityReservationSpecification={"CapacityReservationTarget": target or TARGET},
        **more,
    )


# UC-CAP-007


@pytest.mark.parametrize(
    ("nodes", "place"),
    [
        (group(MaxSize="80"), "Nodes MaxSize: 80 instances do not fit one capacity block (at most 64 instances)"),
        (pcs(ScalingConfiguration={"MaxInstanceCount": 65}), "ScalingConfiguration.MaxInstanceCount: 65 instances"),
        (node_group(ScalingConfig={"MaxSize": 65}), "Nodes ScalingConfig.MaxSize: 65 instances"),
    ],
)
def test_a_fleet_larger_than_blocks(nodes, place):
    found = template(Lt=block(), Nodes=nodes)
    assert_finds("UC-CAP-007", found, place=place)
    assert own_ids(found) == {"UC-CAP-007"}


@pytest.mark.parametrize(
    ("launched", "nodes"),
    [
        (block(), group(MaxSize=64)),
        (block(RESERVATION_GROUP), group(MaxSize=128)),
        (block(market=None), group(MaxSize=128)),
        (block(), batch(MaxvCpus=100000)),
    ],
)
def test_a_fleet_that_fits(launched, nodes):
    assert_passes("UC-CAP-007", template(Lt=launched, Nodes=nodes))


@pytest.mark.parametrize(
    ("launched", "nodes"),
    [(block(), group(MaxSize={"Ref": "Unknown"})), (block(market={"Ref": "Unknown"}), group(MaxSize=80))],
)
def test_an_unknown_size_or_market_is_not_judged(launched, nodes):
    assert_not_judged("UC-CAP-007", template(PARAMETERS, Lt=launched, Nodes=nodes))


def test_size_and_block_under_opposite_conditions():
    conditions = {"Block": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Id"}, ""]}]}}

    def made(first, second):
        launched = block(market={"Fn::If": ["Block", "capacity-block", NONE]})
        return template(PARAMETERS, conditions, Lt=launched, Nodes=group(MaxSize={"Fn::If": ["Block", first, second]}))

    assert_passes("UC-CAP-007", made(64, 128))
    assert own_ids(made(128, 64)) == {"UC-CAP-007"}


# UC-CAP-008


def reserved(
    nodes: dict[str, Any], zone: Any = "us-east-1a", key: str = "AvailabilityZone", **more: Any
) -> dict[str, Any]:
    properties = {key: zone, "InstanceCount": 16, "InstanceType": "p5.48xlarge", "InstancePlatform": "Linux/UNIX"}
    made = {"Type": "AWS::EC2::CapacityReservation", "Properties": properties}
    return template(PARAMETERS, Lt=block({"CapacityReservationId": {"Ref": "Cr"}}, None), Cr=made, Nodes=nodes, **more)


@pytest.mark.parametrize("consumer", [group, node_group, pcs, batch])
def test_a_subnet_of_another_zone(consumer):
    found = reserved(consumer((A, B)), A=subnet("us-east-1a"), B=subnet("us-east-1b"))
    assert_finds("UC-CAP-008", found, place="[1]: !Ref B does not lie in the zone of reservation Cr")
    assert own_ids(found) == {"UC-CAP-008"}


def test_a_zone_that_is_picked_from_the_region():
    first, second = ({"Fn::Select": [at, {"Fn::GetAZs": ""}]} for at in (0, 1))
    assert own_ids(reserved(group((A,)), first, A=subnet(second))) == {"UC-CAP-008"}
    assert_passes("UC-CAP-008", reserved(group((A,)), first, A=subnet(first)))


def test_the_zone_of_the_reservation():
    assert_passes("UC-CAP-008", reserved(group((A,)), A=subnet("us-east-1a")))
    by_id = subnet(AvailabilityZone=NONE, AvailabilityZoneId="use1-az1")
    assert_passes("UC-CAP-008", reserved(group((A,)), "use1-az1", "AvailabilityZoneId", A=by_id))


def test_a_reservation_of_elsewhere_has_no_zone_here():
    assert_passes("UC-CAP-008", template(Lt=block(market=None), Nodes=group((A,)), A=subnet("us-east-1b")))


@pytest.mark.parametrize(
    ("zone", "key", "subnets"),
    [
        ("us-east-1a", "AvailabilityZone", ("subnet-0123456789abcdef0",)),
        ("us-east-1a", "AvailabilityZone", {"Ref": "Unknown"}),
        ({"Ref": "Unknown"}, "AvailabilityZone", (A,)),
        ("use1-az2", "AvailabilityZoneId", (A,)),
    ],
)
def test_zones_that_cannot_be_compared_are_not_judged(zone, key, subnets):
    assert_not_judged("UC-CAP-008", reserved(group(subnets), zone, key, A=subnet("us-east-1b")))


# UC-CAP-009

ONE_TYPE = [{"InstanceType": "p5.48xlarge"}]


def segmented(distribution: dict[str, Any] | None = None, **specification: Any) -> dict[str, Any]:
    """A group that reaches a block through a distribution segment, all right unless changed."""
    segments = [{"TargetCapacityTypes": ["capacity-block", "on-demand"]}]
    target = {"CapacityReservationResourceGroupArns": list(RESERVATION_GROUP.values())}
    written = {"CapacityReservationPreference": "default", "CapacityReservationTarget": target, **specification}
    return mixed(
        ONE_TYPE,
        InstancesDistribution={"DistributionSegments": segments, **(distribution or {})},
        CapacityReservationSpecification={key: value for key, value in written.items() if value is not None},
    )


def warm(name: Any) -> dict[str, Any]:
    return {"Type": "AWS::AutoScaling::WarmPool", "Properties": {"AutoScalingGroupName": name}}


@pytest.mark.parametrize(
    ("resources", "place"),
    [
        (
            {"Lt": block(), "Nodes": mixed(ONE_TYPE)},
            "Nodes MixedInstancesPolicy: a mixed instances policy over a launch",
        ),
        (
            {
                "Lt": launch_template(None),
                "Lt2": block(),
                "Nodes": mixed([*ONE_TYPE, {"LaunchTemplateSpecification": named("Lt2")}]),
            },
            "Nodes MixedInstancesPolicy",
        ),
        (
            {"Lt": block(), "Nodes": group(), "Pool": warm({"Ref": "Nodes"})},
            "Pool AutoScalingGroupName: a warm pool over Nodes",
        ),
        (
            {"Lt": block(), "Nodes": group(AutoScalingGroupName="train"), "Pool": warm("train")},
            "a warm pool over Nodes",
        ),
        (
            {"Lt": block(), "Nodes": node_group(CapacityType="CAPACITY_BLOCK", WarmPoolConfig={"Enabled": True})},
            "Nodes WarmPoolConfig: a warm pool",
        ),
        (
            {"Lt": launch_template(None), "Nodes": segmented(CapacityReservationTarget=None)},
            "InstancesDistribution.DistributionSegments: a segment with",
        ),
        (
            {
                "Lt": launch_template(None),
                "Nodes": segmented(CapacityReservationPreference="capacity-reservations-only"),
            },
            "CapacityReservationPreference: capacity-reservations-only",
        ),
        (
            {"Lt": launch_template(None), "Nodes": segmented({"OnDemandAllocationStrategy": "lowest-price"})},
            "OnDemandAllocationStrategy: lowest-price beside",
        ),
        (
            {
                "Lt": launch_template(None),
                "Nodes": segmented(
                    {"OnDemandPercentageAboveBaseCapacity": 50, "SpotAllocationStrategy": "price-capacity-optimized"},
                    CapacityRebalance=None,
                ),
            },
            "50 % On-Demand leaves a Spot share",
        ),
    ],
)
def test_what_does_not_go_with_a_block(resources, place):
    found = template(**resources)
    assert_finds("UC-CAP-009", found, place=place)
    assert own_ids(found) - {"UC-SPT-014"} == {"UC-CAP-009"}


@pytest.mark.parametrize(
    "resources",
    [
        {"Lt": block(), "Nodes": group()},
        {"Lt": launch_template(None), "Nodes": mixed(ONE_TYPE)},
        {"Lt": launch_template(None), "Nodes": segmented()},
        {"Lt": launch_template(None), "Nodes": segmented({"OnDemandAllocationStrategy": "prioritized"})},
        {"Lt": launch_template(None), "Nodes": group(), "Pool": warm({"Ref": "Nodes"})},
        {"Lt": block(), "Nodes": node_group(CapacityType="CAPACITY_BLOCK", WarmPoolConfig={"Enabled": False})},
    ],
)
def test_what_goes_with_a_block(resources):
    assert_passes("UC-CAP-009", template(**resources))


@pytest.mark.parametrize(
    "resources",
    [
        {"Lt": block(market={"Ref": "Unknown"}), "Nodes": mixed(ONE_TYPE)},
        {"Lt": block(market={"Ref": "Unknown"}), "Nodes": group(), "Pool": warm({"Ref": "Nodes"})},
        {"Lt": launch_template(None), "Nodes": segmented({"OnDemandAllocationStrategy": {"Ref": "Unknown"}})},
    ],
)
def test_what_is_not_known_is_not_judged(resources):
    assert_not_judged("UC-CAP-009", template(PARAMETERS, **resources))


# UC-CAP-011


def action(**more: Any) -> dict[str, Any]:
    return {
        "Type": "AWS::AutoScaling::ScheduledAction",
        "Properties": {"AutoScalingGroupName": {"Ref": "Nodes"}, **more},
    }


def hears(name: Any, **more: Any) -> dict[str, Any]:
    pattern = {"source": ["aws.ec2"], "detail-type": [name]}
    targets = [{"Id": "t", "Arn": "arn:aws:sns:us-east-1:111122223333:topic"}]
    return {"Type": "AWS::Events::Rule", "Properties": {"EventPattern": pattern, "Targets": targets, **more}}


@pytest.mark.parametrize(
    "resources",
    [
        {"Nodes": group()},
        {"Nodes": batch()},
        {"Nodes": pcs(PurchaseOption="CAPACITY_BLOCK")},
        {"Nodes": group(), "Act": action(MaxSize=4)},
        {"Nodes": group(), "Act": action(AutoScalingGroupName="other", MaxSize=0)},
        {"Nodes": group(), "Rule": hears("EC2 Instance State-change Notification")},
        {"Nodes": group(), "Rule": hears("Capacity Block Expiration Warning", Targets=[])},
        {"Nodes": group(), "Rule": hears("Capacity Block Expiration Warning", State="DISABLED")},
    ],
)
def test_nothing_acts_before_the_end_of_a_block(resources):
    found = template(Lt=block(), **resources)
    assert_finds("UC-CAP-011", found, place="Nodes : it draws on a Capacity Block", is_app=True)
    assert own_ids(found, is_app=True) == {"UC-CAP-011"}
    # A lone template says nothing of what stands beside it.
    assert_passes("UC-CAP-011", found)


@pytest.mark.parametrize(
    "resources",
    [
        {"Nodes": group(), "Act": action(MaxSize=0)},
        {"Nodes": group(AutoScalingGroupName="train"), "Act": action(AutoScalingGroupName="train", DesiredCapacity=0)},
        {"Nodes": pcs(PurchaseOption="CAPACITY_BLOCK"), "Rule": hears("Capacity Block Expiration Warning")},
        {"Nodes": batch(), "Rule": hears("Capacity Block Reservation Expiration Warning")},
        {"Nodes": batch(), "Rule": hears({"prefix": "Capacity Block"})},
        {"Nodes": batch(), "Rule": hears("EC2 Capacity Reservation Instance Interruption Warning")},
        # EKS schedules the scale-in itself.
        {"Nodes": node_group(CapacityType="CAPACITY_BLOCK")},
    ],
)
def test_something_acts_before_the_end_of_a_block(resources):
    assert_passes("UC-CAP-011", template(Lt=block(), **resources), is_app=True)


def test_a_rule_in_another_stack_of_the_app():
    rule = {"Resources": {"Rule": hears("Capacity Block Expiration Warning")}}
    assert_passes("UC-CAP-011", template(Lt=block(), Nodes=batch()), rule, is_app=True)


@pytest.mark.parametrize(
    "resources",
    [
        {"Nodes": group(), "Act": action(MaxSize={"Ref": "Unknown"})},
        {"Nodes": batch(), "Rule": hears({"Ref": "Unknown"})},
        {"Nodes": batch(), "Rule": hears({"wildcard": "Capacity*"})},
    ],
)
def test_an_unknown_action_or_rule_is_not_judged(resources):
    assert_not_judged("UC-CAP-011", template(PARAMETERS, Lt=block(), **resources), is_app=True)


# UC-CAP-020


def updated(policy: dict[str, Any], launched: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    nodes = {**group(**more), "UpdatePolicy": policy}
    return template(PARAMETERS, Lt=launched or block(), Nodes=nodes)


REPLACE = {"AutoScalingReplacingUpdate": {"WillReplace": "true"}}


def rolling(stay: Any) -> dict[str, Any]:
    return {"AutoScalingRollingUpdate": {"MinInstancesInService": stay, "MaxBatchSize": 1}}


STRICT = launch_template(
    None,
    "p5.48xlarge",
    CapacityReservationSpecification={
        "CapacityReservationPreference": "capacity-reservations-only",
        "CapacityReservationTarget": RESERVATION_GROUP,
    },
)


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (
            updated(REPLACE),
            "Nodes UpdatePolicy.AutoScalingReplacingUpdate.WillReplace: the update makes a second fleet",
        ),
        (updated(rolling(4)), "UpdatePolicy.AutoScalingRollingUpdate.MinInstancesInService: 4 of at most 4 instances"),
        (updated(REPLACE, block(market=None)), "WillReplace"),
        (updated(REPLACE, STRICT), "WillReplace"),
        (
            updated(
                REPLACE,
                launch_template(None),
                CapacityReservationSpecification={"CapacityReservationPreference": "capacity-reservations-only"},
            ),
            "WillReplace",
        ),
    ],
)
def test_an_update_that_doubles_the_fleet(found, place):
    assert_finds("UC-CAP-020", found, place=place)
    assert own_ids(found) == {"UC-CAP-020"}


@pytest.mark.parametrize(
    "found",
    [
        updated(rolling(0)),
        updated(rolling(3)),
        updated({"AutoScalingReplacingUpdate": {"WillReplace": False}}),
        updated({"AutoScalingScheduledAction": {"IgnoreUnmodifiedGroupSizeProperties": True}}),
        updated(REPLACE, launch_template(None, "p5.48xlarge")),
        # Beyond the group of reservations these become plain On-Demand instances.
        updated(REPLACE, block(RESERVATION_GROUP, None)),
    ],
)
def test_an_update_within_the_reservation(found):
    assert_passes("UC-CAP-020", found)


@pytest.mark.parametrize(
    "found", [updated(rolling({"Ref": "Unknown"})), updated(REPLACE, block(RESERVATION_GROUP, {"Ref": "Unknown"}))]
)
def test_an_unknown_update_is_not_judged(found):
    assert_not_judged("UC-CAP-020", found)


def test_update_and_reservation_under_opposite_conditions():
    conditions = {"Reserved": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Id"}, ""]}]}}

    def made(first, second):
        launched = block({"CapacityReservationId": {"Fn::If": ["Reserved", {"Ref": "Id"}, NONE]}}, None)
        replace = {"AutoScalingReplacingUpdate": {"WillReplace": {"Fn::If": ["Reserved", first, second]}}}
        return template(PARAMETERS, conditions, Lt=launched, Nodes={**group(), "UpdatePolicy": replace})

    assert_passes("UC-CAP-020", made(False, True))
    assert own_ids(made(True, False)) == {"UC-CAP-020"}
