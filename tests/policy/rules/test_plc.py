"""UC-PLC-001 to 003 and 008: who launches into which placement group."""

from __future__ import annotations

import pytest

from support.fabric import (
    batch,
    entry,
    group,
    launch_template,
    named,
    node_group,
    of_areas,
    own_ids,
    pcs,
    subnet,
    template,
)
from support.policy import assert_finds, assert_not_judged, assert_passes, judged

A, B = {"Ref": "A"}, {"Ref": "B"}
ZONES = {"A": subnet("us-east-1a"), "B": subnet("us-east-1b")}
PG = {"Ref": "Pg"}
ID = "cr-0123456789abcdef0"
RESERVED = "AWS::EC2::CapacityReservation"


def cluster(strategy="cluster", **more):
    return {"Type": "AWS::EC2::PlacementGroup", "Properties": {"Strategy": strategy, **more}}


def in_group(value=PG, key="GroupName", **data):
    return launch_template(None, "p5.48xlarge", Placement={key: value}, **data)


# UC-PLC-001


@pytest.mark.parametrize("consumer", [group, node_group, pcs, batch])
def test_a_cluster_group_over_two_zones(consumer):
    found = template(Lt=in_group(), Nodes=consumer((A, B)), Pg=cluster(), **ZONES)
    assert_finds("UC-PLC-001", found, place="[1]: us-east-1a and us-east-1b for placement group Pg")
    assert own_ids(found) == {"UC-PLC-001"}


@pytest.mark.parametrize(
    "resources",
    [
        {"Lt": launch_template(None, "p5.48xlarge"), "Nodes": group((A, B), PlacementGroup=PG)},
        {"Lt": launch_template(None), "Nodes": batch((A, B), PlacementGroup=PG)},
        {"Lt": in_group({"Fn::GetAtt": "Pg.GroupId"}, "GroupId"), "Nodes": group((A, B))},
    ],
)
def test_other_places_of_the_group(resources):
    assert own_ids(template(Pg=cluster(), **resources, **ZONES)) == {"UC-PLC-001"}


@pytest.mark.parametrize(
    ("made", "subnets"),
    [(cluster(), (A,)), (cluster("spread"), (A, B)), (cluster("partition", PartitionCount=2), (A, B))],
)
def test_groups_and_zones_that_fit(made, subnets):
    assert_passes("UC-PLC-001", template(Lt=in_group(), Nodes=group(subnets), Pg=made, **ZONES))


def test_zones_without_a_group():
    assert_passes("UC-PLC-001", template(Lt=launch_template(None), Nodes=group((A, B)), **ZONES))


@pytest.mark.parametrize("name", ["training", {"Ref": "Name"}])
def test_a_group_that_is_only_a_name(name):
    parameters = {"Name": {"Type": "String"}}
    assert_not_judged("UC-PLC-001", template(parameters, Lt=in_group(name), Nodes=group((A, B)), **ZONES))
    assert_passes("UC-PLC-001", template(parameters, Lt=in_group(name), Nodes=group((A,)), **ZONES))
    fabric = launch_template([entry()], "g6.48xlarge", Placement={"GroupName": name})
    found = template(parameters, Lt=fabric, Nodes=group((A, B)), **ZONES)
    # Both at the same property: the report keeps the first, see facts/data/policy_precedence.json.
    assert own_ids(found) == {"UC-EFA-007", "UC-PLC-001"}


def test_unknown_subnets_are_not_judged():
    found = template(
        {"Several": {"Type": "List<AWS::EC2::Subnet::Id>"}},
        Lt=in_group(),
        Nodes=group({"Ref": "Several"}),
        Pg=cluster(),
    )
    assert_not_judged("UC-PLC-001", found)


def test_group_and_zones_under_opposite_conditions():
    none = {"Ref": "AWS::NoValue"}

    def made(first, second):
        return template(
            {"Near": {"Type": "String", "Default": "no"}},
            {"IsNear": {"Fn::Equals": [{"Ref": "Near"}, "yes"]}},
            Lt=launch_template(None, "p5.48xlarge", Placement={"Fn::If": ["IsNear", first, second]}),
            Nodes=group({"Fn::If": ["IsNear", [A], [A, B]]}),
            Pg=cluster(),
            **ZONES,
        )

    assert_passes("UC-PLC-001", made({"GroupName": PG}, none))
    assert own_ids(made(none, {"GroupName": PG})) == {"UC-PLC-001"}


# UC-PLC-002

BLOCK = {
    "InstanceMarketOptions": {"MarketType": "capacity-block"},
    "CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": ID}},
}


@pytest.mark.parametrize(
    ("resources", "place"),
    [
        (
            {"Lt": in_group(**BLOCK)},
            "Lt LaunchTemplateData.Placement.GroupName: placement group Pg with a Capacity Block",
        ),
        ({"Lt": in_group("training", **BLOCK), "Nodes": group()}, "placement group training with a Capacity Block"),
        ({"Lt": in_group(), "Nodes": node_group(CapacityType="CAPACITY_BLOCK")}, "Lt LaunchTemplateData.Placement"),
        ({"Lt": in_group(), "Nodes": pcs(PurchaseOption="CAPACITY_BLOCK")}, "Lt LaunchTemplateData.Placement"),
        ({"Lt": launch_template(None, **BLOCK), "Nodes": group(PlacementGroup=PG)}, "Nodes PlacementGroup: "),
        ({"Lt": launch_template(None, **BLOCK), "Nodes": batch(PlacementGroup=PG)}, "ComputeResources.PlacementGroup"),
    ],
)
def test_a_group_with_a_block(resources, place):
    found = template(Pg=cluster(), **resources)
    assert_finds("UC-PLC-002", found, place=place)
    assert own_ids(found) == {"UC-PLC-002"}
    assert len(judged(found).of("UC-PLC-002")) == 1


@pytest.mark.parametrize(
    "resources",
    [
        {"Lt": launch_template(None, **BLOCK), "Nodes": group()},
        {"Lt": in_group(), "Nodes": group()},
        {"Lt": in_group(), "Nodes": pcs(PurchaseOption="ONDEMAND")},
        {"Lt": launch_template(None, Placement={"Tenancy": "default"}, **BLOCK)},
    ],
)
def test_block_or_group(resources):
    assert_passes("UC-PLC-002", template(Pg=cluster(), **resources))


def test_an_unknown_market_is_not_judged():
    market = {"InstanceMarketOptions": {"MarketType": {"Ref": "Market"}}}
    assert_not_judged("UC-PLC-002", template({"Market": {"Type": "String"}}, Lt=in_group(**market), Pg=cluster()))


def test_block_and_group_under_opposite_conditions():
    """The form of public PCS templates: On-Demand with a group, or a block without."""
    none = {"Ref": "AWS::NoValue"}

    def made(with_block, without):
        block = {key: {"Fn::If": ["Block", value, none]} for key, value in BLOCK.items()}
        placement = {"Fn::If": ["Block", with_block, without]}
        return template(
            {"Id": {"Type": "String", "Default": ""}},
            {"Block": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Id"}, ""]}]}},
            Lt=launch_template(None, Placement=placement, **block),
            Nodes=pcs(PurchaseOption={"Fn::If": ["Block", "CAPACITY_BLOCK", none]}),
            Pg=cluster(),
        )

    outcome = judged(made(none, {"GroupName": PG}))
    assert not of_areas(outcome)
    assert not {"UC-PLC-002", "UC-PLC-003"} & outcome.not_judged
    assert own_ids(made({"GroupName": PG}, none)) == {"UC-PLC-002"}


# UC-PLC-003


def reservation(**more):
    properties = {"AvailabilityZone": "us-east-1a", "InstanceCount": 16, "InstanceType": "p5.48xlarge"}
    return {"Type": RESERVED, "Properties": {"InstancePlatform": "Linux/UNIX", **properties, **more}}


def targeted(target=None, placement=None, **data):
    specification = {"CapacityReservationTarget": target or {"CapacityReservationId": {"Ref": "Cr"}}}
    more = {"Placement": placement} if placement else {}
    return launch_template(None, "p5.48xlarge", CapacityReservationSpecification=specification, **more, **data)


ARN = {"Fn::Sub": "arn:aws:ec2:us-east-1:111122223333:placement-group/${Pg}"}
LITERAL_ARN = "arn:aws:ec2:us-east-1:111122223333:placement-group/training"


@pytest.mark.parametrize(
    ("resources", "place"),
    [
        # Made without a group: any group leaves part of it unused.
        (
            {"Cr": reservation(), "Lt": targeted(placement={"GroupName": PG})},
            "Lt LaunchTemplateData.Placement.GroupName: placement group Pg, but reservation Cr is made without",
        ),
        ({"Cr": reservation(), "Lt": targeted(placement={"GroupName": "training"})}, "placement group training, but"),
        (
            {"Cr": reservation(), "Lt": targeted(), "Nodes": group(PlacementGroup=PG)},
            "Nodes PlacementGroup: placement group Pg, but",
        ),
        # Made in a group: exactly that one.
        (
            {
                "Cr": reservation(PlacementGroupArn=ARN),
                "Lt": targeted(placement={"GroupName": {"Ref": "Other"}}),
                "Other": cluster(),
            },
            "placement group Other, but the reservation was made in Pg",
        ),
        (
            {"Cr": reservation(PlacementGroupArn=LITERAL_ARN), "Lt": targeted(placement={"GroupName": PG})},
            "made in training",
        ),
        (
            {"Cr": reservation(PlacementGroupArn=LITERAL_ARN), "Lt": targeted(placement={"GroupName": "eval"})},
            "placement group eval, but",
        ),
        (
            {"Cr": reservation(PlacementGroupArn=ARN), "Lt": targeted()},
            "no placement group, but the reservation was made in Pg",
        ),
        # Only an id: it cannot lie in a group of this template.
        ({"Lt": targeted({"CapacityReservationId": ID}, {"GroupName": PG})}, "placement group Pg is made here"),
        (
            {"Lt": targeted({"CapacityReservationId": {"Ref": "Id"}}, {"GroupName": PG})},
            "placement group Pg is made here",
        ),
    ],
)
def test_another_group_than_that_of_the_reservation(resources, place):
    found = template({"Id": {"Type": "String"}}, Pg=cluster(), **resources)
    assert_finds("UC-PLC-003", found, place=place)
    assert own_ids(found) == {"UC-PLC-003"}


@pytest.mark.parametrize(
    "resources",
    [
        {"Cr": reservation(), "Lt": targeted(), "Nodes": group()},
        {"Cr": reservation(PlacementGroupArn=ARN), "Lt": targeted(placement={"GroupName": PG})},
        {"Cr": reservation(PlacementGroupArn=ARN), "Lt": targeted(placement={"GroupId": {"Fn::GetAtt": "Pg.GroupId"}})},
        {"Cr": reservation(PlacementGroupArn=LITERAL_ARN), "Lt": targeted(placement={"GroupName": "training"})},
        # A group that exists already is used as it is.
        {"Lt": targeted({"CapacityReservationId": ID}, {"GroupName": "training"})},
        {"Lt": targeted({"CapacityReservationId": ID}, {"GroupName": {"Ref": "Id"}})},
        {"Lt": in_group()},
    ],
)
def test_the_group_of_the_reservation(resources):
    assert_passes("UC-PLC-003", template({"Id": {"Type": "String"}}, Pg=cluster(), **resources))


@pytest.mark.parametrize(
    "resources",
    [
        {"Cr": reservation(PlacementGroupArn={"Ref": "Id"}), "Lt": targeted(placement={"GroupName": PG})},
        {"Cr": reservation(PlacementGroupArn=LITERAL_ARN), "Lt": targeted(placement={"GroupName": {"Ref": "Id"}})},
        {
            "Cr": reservation(PlacementGroupArn=LITERAL_ARN),
            "Lt": targeted(placement={"GroupId": "pg-0123456789abcdef0"}),
        },
        {"Lt": targeted({"CapacityReservationResourceGroupArn": {"Ref": "Id"}}, {"GroupName": PG})},
        {
            "Lt": targeted(
                {"CapacityReservationId": ID}, {"GroupName": PG}, InstanceMarketOptions={"MarketType": {"Ref": "Id"}}
            )
        },
    ],
)
def test_reservations_that_are_not_known(resources):
    assert_not_judged("UC-PLC-003", template({"Id": {"Type": "String"}}, Pg=cluster(), **resources))


# UC-PLC-008


@pytest.mark.parametrize(
    ("resources", "place"),
    [
        (
            {"Lt": launch_template(None, Placement={"GroupName": PG, "GroupId": {"Fn::GetAtt": "Pg.GroupId"}})},
            "Placement.GroupId: ",
        ),
        (
            {"Lt": in_group({"Ref": "Other"}), "Nodes": batch(PlacementGroup=PG)},
            "Nodes ComputeResources.PlacementGroup: placement group Pg, and Lt names Other",
        ),
        (
            {"Lt": in_group("training"), "Nodes": group(PlacementGroup="eval")},
            "placement group eval, and Lt names training",
        ),
        ({"Lt": in_group("training"), "Nodes": group(PlacementGroup=PG)}, "placement group Pg, and Lt names training"),
    ],
)
def test_two_groups(resources, place):
    found = template(Pg=cluster("partition"), Other=cluster("partition"), **resources)
    assert_finds("UC-PLC-008", found, place=place)
    assert own_ids(found) == {"UC-PLC-008"}


@pytest.mark.parametrize(
    "resources",
    [
        {"Lt": in_group(), "Nodes": batch(PlacementGroup=PG)},
        {"Lt": in_group({"Fn::GetAtt": "Pg.GroupId"}, "GroupId"), "Nodes": group(PlacementGroup=PG)},
        {"Lt": in_group("training"), "Nodes": group(PlacementGroup="training")},
        {"Lt": in_group()},
    ],
)
def test_one_group(resources):
    assert_passes("UC-PLC-008", template(Pg=cluster(), **resources))


@pytest.mark.parametrize("other", [("GroupName", {"Ref": "Name"}), ("GroupId", "pg-0123456789abcdef0")])
def test_groups_that_may_be_the_same(other):
    found = template({"Name": {"Type": "String"}}, Lt=in_group(other[1], other[0]), Nodes=group(PlacementGroup="eval"))
    assert_not_judged("UC-PLC-008", found)


def test_group_of_an_instance():
    instance = {"Type": "AWS::EC2::Instance", "Properties": {"LaunchTemplate": named(), "PlacementGroupName": "eval"}}
    assert own_ids(template(Lt=in_group("training"), Nodes=instance)) == {"UC-PLC-008"}
