"""UC-EKS-010, 015 to 017 and 020: how managed node groups scale, repair and change."""

from __future__ import annotations

import pytest

from support.compared import assert_change_finds, assert_change_passes
from support.fabric import entry
from support.orchestrators import (
    NONE,
    P5,
    either,
    ids,
    launch_template,
    nodes,
    parameter,
    switch,
    template,
)
from support.orchestrators import (
    node_pair as pair,
)
from support.policy import assert_finds, assert_not_judged, assert_passes

BLOCK = {
    "InstanceType": P5,
    "InstanceMarketOptions": {"MarketType": "capacity-block"},
    "CapacityReservationSpecification": {
        "CapacityReservationTarget": {"CapacityReservationId": "cr-0123456789abcdef0"}
    },
}
ELSEWHERE = {"Name": "of-another-team"}
PLAIN = {"LaunchTemplate": None, "AmiType": "AL2023_x86_64_STANDARD", "InstanceTypes": ["m7i.large"]}

# UC-EKS-010


def sized(desired, data=None, parameters=None, conditions=None, **group):
    group = {"CapacityType": "CAPACITY_BLOCK", **group}
    return pair(
        BLOCK if data is None else data, parameters, conditions, ScalingConfig={"DesiredSize": desired}, **group
    )


@pytest.mark.parametrize("desired", [8, "8"])
def test_nodes_before_the_block_begins(desired):
    found = sized(desired)
    assert_finds("UC-EKS-010", found, place="Nodes ScalingConfig.DesiredSize: 8 nodes, and every launch fails until")
    assert ids("EKS", found) == {"UC-EKS-010"}


def test_no_nodes_before_the_block_begins():
    assert_passes("UC-EKS-010", sized(0))
    assert_passes("UC-EKS-010", pair(BLOCK, CapacityType="CAPACITY_BLOCK", ScalingConfig={"MaxSize": 8}))
    assert_passes("UC-EKS-010", sized(8, {"InstanceType": P5}, CapacityType=None))


def test_an_unknown_size():
    assert_not_judged("UC-EKS-010", sized({"Ref": "Size"}, parameters={"Size": parameter("Number")}))
    assert_not_judged("UC-EKS-010", sized(8, CapacityType=None, LaunchTemplate=ELSEWHERE))


@pytest.mark.parametrize(("sizes", "expected"), [((0, 8), set()), ((8, 0), {"UC-EKS-010"})])
def test_size_and_block_under_one_condition(sizes, expected):
    parameters, conditions = switch()
    data = {key: value if key == "InstanceType" else either("Big", value, NONE) for key, value in BLOCK.items()}
    option = either("Big", "CAPACITY_BLOCK", NONE)
    assert ids("EKS", sized(either("Big", *sizes), data, parameters, conditions, CapacityType=option)) == expected


# UC-EKS-015

REPAIR = {"Enabled": True}


@pytest.mark.parametrize(
    ("repair", "said"),
    [(None, "Nodes NodeRepairConfig.Enabled: absent (off), so a node"), ({"Enabled": False}, "Enabled: false, so")],
)
def test_no_repair(repair, said):
    found = pair(NodeRepairConfig=repair)
    assert_finds("UC-EKS-015", found, place=said)
    assert ids("EKS", found) == {"UC-EKS-015"}


@pytest.mark.parametrize(
    "found",
    [
        pair(NodeRepairConfig={"Enabled": "true", "MaxUnhealthyNodeThresholdPercentage": 30}),
        template(Nodes=nodes(NodeRepairConfig=None, **PLAIN)),
    ],
)
def test_repair(found):
    assert_passes("UC-EKS-015", found)


def test_what_a_group_is_for_can_be_seen_in_many_places():
    fabric = {"NetworkInterfaces": [entry(0, 0, Groups=None)]}
    for found in (
        pair(fabric, AmiType=None, NodeRepairConfig=None),
        pair({}, AmiType=None, InstanceTypes=["g4dn.xlarge"], NodeRepairConfig=None),
        pair(BLOCK, AmiType=None, NodeRepairConfig=None),
        template(Nodes=nodes(LaunchTemplate=ELSEWHERE, NodeRepairConfig=None)),
    ):
        assert_finds("UC-EKS-015", found)


def test_repair_that_is_not_known():
    enabled = {"Enabled": {"Ref": "Repair"}}
    assert_not_judged("UC-EKS-015", pair(None, {"Repair": parameter()}, NodeRepairConfig=enabled))
    unknown = {"LaunchTemplate": ELSEWHERE, "AmiType": None, "NodeRepairConfig": None}
    assert_not_judged("UC-EKS-015", template(Nodes=nodes(**unknown)))


@pytest.mark.parametrize(("types", "expected"), [((P5, "m7i.large"), set()), (("m7i.large", P5), {"UC-EKS-015"})])
def test_repair_and_type_under_one_condition(types, expected):
    parameters, conditions = switch()
    repair = either("Big", REPAIR, NONE)
    found = template(
        parameters,
        conditions,
        Nodes=nodes(
            LaunchTemplate=None, AmiType="CUSTOM", InstanceTypes=[either("Big", *types)], NodeRepairConfig=repair
        ),
    )
    assert ids("EKS", found) == expected


# UC-EKS-016


@pytest.mark.parametrize(
    ("update", "said"),
    [
        (None, "Nodes UpdateConfig.UpdateStrategy: absent (DEFAULT), which launches new nodes beside the old ones"),
        ({"MaxUnavailable": 1}, "absent (DEFAULT)"),
        ({"UpdateStrategy": "DEFAULT"}, "UpdateStrategy: DEFAULT, which"),
    ],
)
def test_an_update_that_needs_spare_nodes(update, said):
    found = pair(UpdateConfig=update)
    assert_finds("UC-EKS-016", found, place=said)
    assert ids("EKS", found) == {"UC-EKS-016"}


def test_a_reservation_is_scarce_too():
    data = {"InstanceType": "m7i.large", "CapacityReservationSpecification": BLOCK["CapacityReservationSpecification"]}
    assert_finds("UC-EKS-016", pair(data, AmiType="AL2023_x86_64_STANDARD", UpdateConfig=None))


def test_an_update_in_place():
    assert_passes("UC-EKS-016", pair(UpdateConfig={"UpdateStrategy": "MINIMAL", "MaxUnavailable": 1}))
    assert_passes("UC-EKS-016", template(Nodes=nodes(UpdateConfig=None, **PLAIN)))


def test_an_unknown_update():
    strategy = {"UpdateStrategy": {"Ref": "Strategy"}}
    assert_not_judged("UC-EKS-016", pair(None, {"Strategy": parameter()}, UpdateConfig=strategy))


# UC-EKS-017

UNHEALTHY = ("MaxUnhealthyNodeThresholdCount", "MaxUnhealthyNodeThresholdPercentage")
PARALLEL = ("MaxParallelNodesRepairedCount", "MaxParallelNodesRepairedPercentage")


@pytest.mark.parametrize("names", [UNHEALTHY, PARALLEL])
def test_both_forms_of_a_threshold(names):
    found = pair(NodeRepairConfig={**REPAIR, names[0]: 2, names[1]: 10})
    assert_finds("UC-EKS-017", found, place=f"Nodes NodeRepairConfig.{names[1]}: 10 beside {names[0]} 2, EKS takes one")
    assert ids("EKS", found) == {"UC-EKS-017"}


@pytest.mark.parametrize("names", [(), UNHEALTHY[:1], (UNHEALTHY[0], PARALLEL[1]), (UNHEALTHY[1], PARALLEL[0])])
def test_one_form_of_each_threshold(names):
    assert_passes("UC-EKS-017", pair(NodeRepairConfig={**REPAIR, **dict.fromkeys(names, 5)}))


def test_thresholds_that_are_not_known():
    parameters, conditions = switch()
    parameters["Config"] = parameter()
    opposite = {UNHEALTHY[0]: either("Big", 2, NONE), UNHEALTHY[1]: either("Big", NONE, 10)}
    assert_passes("UC-EKS-017", pair(None, parameters, conditions, NodeRepairConfig={**REPAIR, **opposite}))
    opposite[UNHEALTHY[1]] = either("Big", 10, NONE)
    assert_finds("UC-EKS-017", pair(None, parameters, conditions, NodeRepairConfig={**REPAIR, **opposite}))
    unknown = {"Fn::Transform": {"Name": "Macro"}}
    assert_not_judged("UC-EKS-017", pair(NodeRepairConfig=unknown))


# UC-EKS-020


def test_a_type_that_can_only_be_replaced():
    found = pair({"BlockDeviceMappings": []}, InstanceTypes=[P5])
    assert_finds("UC-EKS-020", found, place=f"Nodes InstanceTypes: {P5} on the node group, where another")
    assert ids("EKS", found) == {"UC-EKS-020"}


@pytest.mark.parametrize(
    "found",
    [
        pair(),
        pair({}, InstanceTypes=[P5, "p5e.48xlarge"]),
        pair({}, AmiType="AL2023_x86_64_STANDARD", InstanceTypes=["m7i.large"]),
        template(Nodes=nodes(LaunchTemplate=None, InstanceTypes=[P5])),
    ],
)
def test_types_in_their_place(found):
    assert_passes("UC-EKS-020", found)


def test_a_type_that_is_not_known():
    assert_not_judged("UC-EKS-020", pair({}, {"Kind": parameter()}, InstanceTypes=[{"Ref": "Kind"}]))
    assert_not_judged("UC-EKS-020", template(Nodes=nodes(LaunchTemplate=ELSEWHERE, InstanceTypes=[P5])))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"InstanceTypes": [P5]}, {"InstanceTypes": ["p5e.48xlarge"]}, "InstanceTypes changes from a list of 1 to"),
        ({}, {"AmiType": "BOTTLEROCKET_x86_64_NVIDIA"}, "AmiType changes from AL2023_x86_64_NVIDIA to BOTTLEROCKET"),
        ({"CapacityType": "ON_DEMAND"}, {"CapacityType": "SPOT"}, "CapacityType changes from ON_DEMAND to SPOT"),
        ({"DiskSize": 100}, {"DiskSize": 300}, "DiskSize changes from 100 to 300, which replaces the node group"),
        ({}, {"NodeRole": "arn:aws:iam::111122223333:role/other"}, "NodeRole changes"),
        ({}, {"Subnets": ["subnet-1", {"Ref": "More"}]}, "Subnets changes from a list of 1 to a list of 2"),
        ({"DiskSize": 100}, {"DiskSize": None}, "DiskSize changes from 100 to absent"),
    ],
)
def test_a_change_that_replaces_the_group(before, after, said):
    old, new = (template({"More": parameter()}, Nodes=nodes(**each)) for each in (before, after))
    assert_change_finds("UC-EKS-020", old, new, place=said)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"Subnets": ["subnet-1", "subnet-2"]}, {"Subnets": ["subnet-2", "subnet-1"]}),
        ({"UpdateConfig": None}, {"UpdateConfig": {"UpdateStrategy": "DEFAULT"}}),
        ({"Subnets": [{"Ref": "More"}]}, {"Subnets": [{"Ref": "More"}]}),
    ],
)
def test_a_change_in_place(before, after):
    old, new = (template({"More": parameter()}, Nodes=nodes(**each)) for each in (before, after))
    assert_change_passes("UC-EKS-020", old, new)


def test_a_group_that_comes_or_goes():
    assert_change_passes("UC-EKS-020", template(Nodes=nodes()), template(Lt=launch_template()))
    assert_change_passes("UC-EKS-020", template(Lt=launch_template()), template(Nodes=nodes()))


def test_a_change_that_is_not_known():
    old = template({"More": parameter()}, Nodes=nodes(Subnets=[{"Ref": "More"}]))
    assert_change_passes("UC-EKS-020", old, template(Nodes=nodes(Subnets=["subnet-1"])))
