"""UC-CAP-002 to 005 and 021: what one launch template, group or fleet says about reserved capacity."""

from __future__ import annotations

from typing import Any

import pytest

from support.fabric import batch, group, launch_template, mixed, named, node_group, own_ids, pcs, template
from support.policy import assert_finds, assert_not_judged, assert_passes

NONE = {"Ref": "AWS::NoValue"}
PARAMETERS = {"Unknown": {"Type": "String"}, "Id": {"Type": "String", "Default": ""}}
TARGET = {"CapacityReservationTarget": {"CapacityReservationId": "cr-0123456789abcdef0"}}
ARN = "arn:aws:resource-groups:us-east-1:111122223333:group/reserved"


def bought(market: Any = "capacity-block", specification: Any = None, **data: Any) -> dict[str, Any]:
    """A launch template with a market type and a reservation."""
    if market is not None:
        data["InstanceMarketOptions"] = {"MarketType": market}
    if specification is not None:
        data["CapacityReservationSpecification"] = specification
    return launch_template(None, "p5.48xlarge", **data)


def reservation(**more: Any) -> dict[str, Any]:
    properties = {"AvailabilityZone": "us-east-1a", "InstanceCount": 16, "InstanceType": "p5.48xlarge"}
    return {
        "Type": "AWS::EC2::CapacityReservation",
        "Properties": {"InstancePlatform": "Linux/UNIX", **properties, **more},
    }


# UC-CAP-002


@pytest.mark.parametrize("consumer", [group, node_group, pcs, batch])
@pytest.mark.parametrize("specification", [None, {"CapacityReservationPreference": "none"}])
def test_a_block_without_its_target(consumer, specification):
    found = template(Lt=bought(specification=specification), Nodes=consumer())
    assert_finds("UC-CAP-002", found, place="Lt LaunchTemplateData.InstanceMarketOptions.MarketType: a Capacity Block")
    assert own_ids(found) == {"UC-CAP-002"}


@pytest.mark.parametrize(
    ("launched", "consumer"),
    [
        (bought(specification=TARGET), group()),
        (bought(specification={"CapacityReservationTarget": {"CapacityReservationResourceGroupArn": ARN}}), group()),
        (bought(specification={"CapacityReservationTarget": {"CapacityReservationId": {"Ref": "Id"}}}), batch()),
        (bought(market=None), group()),
        (bought("on-demand"), group()),
        # The target on the group itself, as the Auto Scaling guide has it.
        (
            bought(),
            group(
                CapacityReservationSpecification={
                    "CapacityReservationPreference": "capacity-reservations-only",
                    "CapacityReservationTarget": {"CapacityReservationIds": ["cr-0123456789abcdef0"]},
                }
            ),
        ),
    ],
)
def test_a_block_with_its_target(launched, consumer):
    assert_passes("UC-CAP-002", template(PARAMETERS, Lt=launched, Nodes=consumer))


def test_distribution_segments_bring_their_own():
    segments = {"DistributionSegments": [{"TargetCapacityTypes": ["capacity-block"]}]}
    found = template(Lt=bought(), Nodes=mixed([{"InstanceType": "p5.48xlarge"}], InstancesDistribution=segments))
    assert_passes("UC-CAP-002", found)


@pytest.mark.parametrize("market", ["capacity-block", {"Ref": "Unknown"}])
def test_a_block_that_a_call_may_name_is_not_judged(market):
    assert_not_judged("UC-CAP-002", template(PARAMETERS, Lt=bought(market)))
    instance = {"Type": "AWS::EC2::Instance", "Properties": {"LaunchTemplate": named()}}
    assert_not_judged("UC-CAP-002", template(PARAMETERS, Lt=bought(market), Node=instance))


def test_market_and_target_under_opposite_conditions():
    def made(first, second):
        launched = bought({"Fn::If": ["Block", "capacity-block", NONE]}, {"Fn::If": ["Block", first, second]})
        conditions = {"Block": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Id"}, ""]}]}}
        return template(PARAMETERS, conditions, Lt=launched, Nodes=group())

    assert_passes("UC-CAP-002", made(TARGET, NONE))
    assert own_ids(made(NONE, TARGET)) == {"UC-CAP-002"}


# UC-CAP-003

REFERS = {"CapacityReservationTarget": {"CapacityReservationId": {"Ref": "Cr"}}}


@pytest.mark.parametrize("market", ["capacity-block", "spot"])
def test_a_reservation_with_another_market_type(market):
    found = template(Lt=bought(market, REFERS), Cr=reservation(), Nodes=group(CapacityRebalance=True))
    assert_finds("UC-CAP-003", found, place=f"MarketType: {market} with Cr, which is an On-Demand reservation")
    assert own_ids(found) == {"UC-CAP-003"}


@pytest.mark.parametrize("market", [None, "on-demand"])
def test_a_reservation_alone(market):
    assert_passes("UC-CAP-003", template(Lt=bought(market, REFERS), Cr=reservation(), Nodes=group()))


def test_an_id_says_nothing_of_its_kind():
    assert_passes("UC-CAP-003", template(PARAMETERS, Lt=bought(specification=TARGET), Cr=reservation(), Nodes=group()))


def test_an_unknown_market_is_not_judged():
    found = template(PARAMETERS, Lt=bought({"Ref": "Unknown"}, REFERS), Cr=reservation(), Nodes=group())
    assert_not_judged("UC-CAP-003", found)


# UC-CAP-004


def preferring(preference: Any, **more: Any) -> dict[str, Any]:
    return {"CapacityReservationPreference": preference, **more}


GROUP_TARGET = {"CapacityReservationTarget": {"CapacityReservationIds": ["cr-0123456789abcdef0"]}}


@pytest.mark.parametrize("preference", ["open", "none"])
def test_a_preference_that_excludes_the_target(preference):
    found = template(Lt=bought(None, preferring(preference, **TARGET)), Nodes=group())
    place = "Lt LaunchTemplateData.CapacityReservationSpecification.CapacityReservationPreference: "
    assert_finds("UC-CAP-004", found, place=f"{place}{preference} beside a target")
    assert own_ids(found) == {"UC-CAP-004"}


def test_a_preference_of_a_group_that_excludes_the_target():
    nodes = group(CapacityReservationSpecification=preferring("none", **GROUP_TARGET))
    found = template(Lt=bought(None), Nodes=nodes)
    assert_finds(
        "UC-CAP-004", found, place="Nodes CapacityReservationSpecification.CapacityReservationPreference: none"
    )
    assert own_ids(found) == {"UC-CAP-004"}


@pytest.mark.parametrize(
    "specification", [TARGET, preferring("open"), preferring("capacity-reservations-only", **TARGET)]
)
def test_one_of_the_two_or_the_strict_form(specification):
    assert_passes("UC-CAP-004", template(Lt=bought(None, specification), Nodes=group()))


@pytest.mark.parametrize("preference", ["capacity-reservations-only", "capacity-reservations-first", "default"])
def test_preferences_of_a_group(preference):
    nodes = group(CapacityReservationSpecification=preferring(preference, **GROUP_TARGET))
    assert_passes("UC-CAP-004", template(Lt=bought(None), Nodes=nodes))


def test_an_unknown_preference_is_not_judged():
    found = template(PARAMETERS, Lt=bought(None, preferring({"Ref": "Unknown"}, **TARGET)), Nodes=group())
    assert_not_judged("UC-CAP-004", found)


def test_preference_and_target_under_opposite_conditions():
    def made(first, second):
        specification = {
            "CapacityReservationPreference": {"Fn::If": ["Reserved", first, second]},
            "CapacityReservationTarget": {"Fn::If": ["Reserved", TARGET["CapacityReservationTarget"], NONE]},
        }
        conditions = {"Reserved": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Id"}, ""]}]}}
        return template(PARAMETERS, conditions, Lt=bought(None, specification), Nodes=group())

    assert_passes("UC-CAP-004", made(NONE, "open"))
    assert own_ids(made("open", NONE)) == {"UC-CAP-004"}


# UC-CAP-005


def test_the_arn_beside_the_target():
    found = template(Lt=bought(None, {"CapacityReservationResourceGroupArn": ARN}), Nodes=group())
    assert_finds("UC-CAP-005", found, place="CapacityReservationSpecification.CapacityReservationResourceGroupArn: ")
    assert own_ids(found) == {"UC-CAP-005"}


@pytest.mark.parametrize(
    "specification", [None, TARGET, {"CapacityReservationTarget": {"CapacityReservationResourceGroupArn": ARN}}]
)
def test_the_arn_inside_the_target(specification):
    assert_passes("UC-CAP-005", template(Lt=bought(None, specification), Nodes=group()))


def test_an_unknown_specification_is_not_judged():
    assert_not_judged("UC-CAP-005", template(PARAMETERS, Lt=bought(None, {"Fn::Transform": {"Name": "Macro"}})))


# UC-CAP-021


def fleet(kind: Any = "capacity-block", written: Any = "instant", **target: Any) -> dict[str, Any]:
    specification = {"TotalTargetCapacity": 4, "DefaultTargetCapacityType": kind, **target}
    return {
        "Type": "AWS::EC2::EC2Fleet",
        "Properties": {
            "LaunchTemplateConfigs": [{"LaunchTemplateSpecification": named()}],
            "TargetCapacitySpecification": specification,
            **({} if written is None else {"Type": written}),
        },
    }


def with_block(made: dict[str, Any]) -> dict[str, Any]:
    return template(PARAMETERS, Lt=bought(specification=TARGET), Nodes=made)


@pytest.mark.parametrize(
    ("made", "place"),
    [
        (fleet(written="maintain"), "Nodes Type: maintain with capacity-block"),
        (fleet(written="request"), "Nodes Type: request with capacity-block"),
        (fleet(written=None), "TargetCapacitySpecification.DefaultTargetCapacityType: maintain, the default, with"),
        (fleet("reserved-capacity", "maintain"), "maintain with reserved-capacity"),
        (fleet(OnDemandTargetCapacity=1), "OnDemandTargetCapacity: 1 beside capacity-block"),
        (fleet(SpotTargetCapacity=1), "SpotTargetCapacity: 1 beside capacity-block"),
    ],
)
def test_a_fleet_that_takes_no_reserved_capacity(made, place):
    assert_finds("UC-CAP-021", with_block(made), place=place)
    assert own_ids(with_block(made)) == {"UC-CAP-021"}


@pytest.mark.parametrize(
    "made",
    [
        fleet(),
        fleet("reserved-capacity", OnDemandTargetCapacity=1),
        fleet("on-demand", None),
        fleet(SpotTargetCapacity=0),
    ],
)
def test_fleets_that_are_right(made):
    assert_passes("UC-CAP-021", with_block(made))


@pytest.mark.parametrize("made", [fleet({"Ref": "Unknown"}), fleet(written={"Ref": "Unknown"})])
def test_an_unknown_fleet_is_not_judged(made):
    assert_not_judged("UC-CAP-021", with_block(made))


def test_type_and_capacity_under_opposite_conditions():
    conditions = {"Block": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Id"}, ""]}]}}

    def made(first, second):
        nodes = fleet({"Fn::If": ["Block", "capacity-block", "on-demand"]}, {"Fn::If": ["Block", first, second]})
        return template(PARAMETERS, conditions, Lt=bought(specification=TARGET), Nodes=nodes)

    assert_passes("UC-CAP-021", made("instant", "maintain"))
    assert own_ids(made("maintain", "instant")) == {"UC-CAP-021"}
