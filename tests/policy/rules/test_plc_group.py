"""UC-PLC-006, 007 and 009: placement groups themselves."""

from __future__ import annotations

from typing import Any

import pytest

from support.fabric import batch, group, launch_template, mixed, named, node_group, own_ids, pcs, subnet, template
from support.policy import assert_finds, assert_not_judged, assert_passes
from ultracluster.policy.compare import compare
from ultracluster.policy.document import Document
from ultracluster.policy.load import Loaded, assembly_of
from ultracluster.policy.rules.plc_group import group_is_not_replaced
from ultracluster.policy.states import NotKnown
from ultracluster.policy.view import Assembly
from ultracluster.policy.world import World

PG = {"Ref": "Pg"}


def made(strategy: Any = "cluster", **more: Any) -> dict[str, Any]:
    return {"Type": "AWS::EC2::PlacementGroup", "Properties": {"Strategy": strategy, **more}}


def in_group(instance_type: Any = "p5.48xlarge", **placement: Any) -> dict[str, Any]:
    return launch_template(None, instance_type, Placement={"GroupName": PG, **placement})


# UC-PLC-006


@pytest.mark.parametrize(
    ("resources", "place"),
    [
        ({"Lt": in_group(), "One": group(), "Two": node_group()}, "Pg : One, Two share it"),
        ({"Lt": in_group(), "Lt2": in_group(), "One": group(), "Two": group(name="Lt2")}, "Pg : One, Two share it"),
        (
            {
                "Lt": launch_template(None, "p5.48xlarge"),
                "One": group(PlacementGroup=PG),
                "Two": batch(PlacementGroup=PG),
            },
            "Pg : One, Two",
        ),
        (
            {"Lt": in_group(None), "Nodes": mixed([{"InstanceType": "p5.48xlarge"}, {"InstanceType": "p5e.48xlarge"}])},
            "Pg : p5.48xlarge, p5e.48xlarge share it",
        ),
        (
            {"Lt": launch_template(None), "Nodes": batch(types=["p4d.24xlarge", "p4de.24xlarge"], PlacementGroup=PG)},
            "p4d.24xlarge, p4de.24xlarge",
        ),
    ],
)
def test_a_group_that_is_shared(resources, place):
    found = template(Pg=made(), **resources)
    assert_finds("UC-PLC-006", found, place=place)
    assert own_ids(found) == {"UC-PLC-006"}


INSTANCE = {"Type": "AWS::EC2::Instance", "Properties": {"LaunchTemplate": named(), "InstanceType": "p5.48xlarge"}}


@pytest.mark.parametrize(
    "resources",
    [
        {"Pg": made(), "Lt": in_group(), "Nodes": group()},
        {"Pg": made("spread"), "Lt": in_group(), "One": group(), "Two": group()},
        # Single instances are what such a group is for.
        {"Pg": made(), "Lt": in_group(), "One": INSTANCE, "Two": INSTANCE},
        {"Pg": made(), "Other": made(), "Lt": in_group(), "Nodes": group()},
        {"Pg": made(), "Lt": in_group()},
    ],
)
def test_a_group_of_one_fleet(resources):
    assert_passes("UC-PLC-006", template(**resources))


def test_allowed_values_are_alternatives():
    parameters = {"Type": {"Type": "String", "AllowedValues": ["p5.48xlarge", "p5e.48xlarge"]}}
    assert_passes("UC-PLC-006", template(parameters, Pg=made(), Lt=in_group({"Ref": "Type"}), Nodes=group()))


def test_fleets_under_opposite_conditions():
    parameters = {"Kind": {"Type": "String", "Default": "a"}}
    conditions = {"IsA": {"Fn::Equals": [{"Ref": "Kind"}, "a"]}, "IsB": {"Fn::Not": [{"Condition": "IsA"}]}}
    one, two = {**group(), "Condition": "IsA"}, {**group(), "Condition": "IsB"}
    assert_passes("UC-PLC-006", template(parameters, conditions, Pg=made(), Lt=in_group(), One=one, Two=two))


@pytest.mark.parametrize("strategy", [{"Ref": "Unknown"}, {"Ref": "AWS::NoValue"}])
def test_an_unknown_strategy_is_not_judged(strategy):
    found = template({"Unknown": {"Type": "String"}}, Pg=made(strategy), Lt=in_group(), One=group(), Two=group())
    assert_not_judged("UC-PLC-006", found)


# UC-PLC-007


def sized(count: Any, subnets: Any = ("subnet-0123456789abcdef0",)) -> dict[str, Any]:
    return {"Lt": in_group(), "Nodes": group(subnets, MaxSize=count)}


TWO = ("subnet-0123456789abcdef0", "subnet-0123456789abcdef1")


@pytest.mark.parametrize(
    ("resources", "place"),
    [
        ({"Pg": made("spread"), **sized("16")}, "Nodes MaxSize: 16 instances, a spread group holds 7 in one zone"),
        (
            {"Pg": made("spread", SpreadLevel="rack"), **sized(15, TWO)},
            "15 instances, a spread group holds 14 in 2 zones",
        ),
        (
            {"Pg": made("spread"), "Lt": in_group(), "Nodes": pcs(ScalingConfiguration={"MaxInstanceCount": 8})},
            "ScalingConfiguration.MaxInstanceCount: 8",
        ),
        (
            {"Pg": made("spread"), "Lt": in_group(), "Nodes": node_group(ScalingConfig={"MaxSize": 8})},
            "Nodes ScalingConfig.MaxSize: 8",
        ),
        (
            {"Pg": made("partition", PartitionCount=10)},
            "Pg PartitionCount: 10 partitions, a partition group has 7 at most",
        ),
        ({"Pg": made("partition", PartitionCount=3), "Lt": in_group(Tenancy="dedicated")}, "dedicated instances has 2"),
        (
            {
                "Pg": made("spread", SpreadLevel="host"),
                "Lt": in_group(),
                "Nodes": group(({"Ref": "A"},)),
                "A": subnet(),
            },
            "Pg SpreadLevel: host spread",
        ),
    ],
)
def test_a_group_that_does_not_hold_the_fleet(resources, place):
    found = template(**resources)
    assert_finds("UC-PLC-007", found, place=place)
    assert own_ids(found) == {"UC-PLC-007"}


@pytest.mark.parametrize(
    "resources",
    [
        {"Pg": made("spread"), **sized(7)},
        {"Pg": made("spread"), **sized(14, TWO)},
        {"Pg": made("cluster"), **sized(64)},
        {"Pg": made("partition", PartitionCount=7), **sized(64)},
        {"Pg": made("partition", PartitionCount=2), "Lt": in_group(Tenancy="dedicated")},
        {
            "Pg": made("spread", SpreadLevel="host"),
            "Lt": in_group(),
            "Nodes": group(({"Ref": "A"},)),
            "A": subnet(OutpostArn="arn:aws:outposts:us-east-1:111122223333:outpost/op-0123456789abcdef0"),
        },
    ],
)
def test_a_group_that_holds_the_fleet(resources):
    assert_passes("UC-PLC-007", template(**resources))


@pytest.mark.parametrize(
    "resources",
    [
        {"Pg": made("spread"), **sized({"Ref": "Unknown"})},
        {"Pg": made("spread"), **sized(16, {"Ref": "Unknown"})},
        {"Pg": made({"Ref": "Unknown"}), **sized(16)},
        {"Pg": made("partition", PartitionCount={"Ref": "Unknown"})},
        {"Pg": made("spread", SpreadLevel="host")},
        {"Pg": made("spread", SpreadLevel="host"), **sized(2)},
    ],
)
def test_what_is_not_known_is_not_judged(resources):
    assert_not_judged("UC-PLC-007", template({"Unknown": {"Type": "String"}}, **resources))


# UC-PLC-009


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    old, new = (
        next(Assembly(World(assembly_of([Document("a.json", "", body)]))).resources("AWS::EC2::PlacementGroup"))
        for body in (before, after)
    )
    return [found.message for found in group_is_not_replaced(old, new)]


def reported(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What a comparison of two templates says."""
    old, new = (Loaded([assembly_of([Document("a.json", "", body)])]) for body in (before, after))
    return [f"{fault.rule_id} {fault.property_path}" for fault in compare(old, new)]


def tagged(value: Any) -> dict[str, Any]:
    parameters = {"Build": {"Type": "String"}}
    return template(parameters, Pg=made(Tags=[{"Key": "build", "Value": value}]))


def test_a_build_number_in_a_tag_replaces_the_group():
    assert changes(tagged("41"), tagged("42")) == [
        "Tags changes from a list of 1 to a list of 1, which replaces the group"
    ]
    assert reported(tagged("41"), tagged("42")) == ["UC-PLC-009 Tags"]
    assert changes(template(Pg=made("cluster")), template(Pg=made("spread")))
    assert changes(tagged("41"), template(Pg=made()))


def test_the_same_group_stays():
    assert not changes(tagged("41"), tagged("41"))
    assert not changes(template(Pg=made()), template(Pg=made({"Fn::Sub": "cluster"})))
    assert not changes(tagged({"Ref": "Build"}), tagged({"Ref": "Build"}))
    assert not reported(template(Pg=made()), template(Pg=made(), Other=made()))
    assert not reported(template(Pg=made(), Other=made()), template(Pg=made()))


def test_an_unknown_tag_is_not_judged():
    with pytest.raises(NotKnown):
        changes(tagged("41"), tagged({"Ref": "Build"}))
