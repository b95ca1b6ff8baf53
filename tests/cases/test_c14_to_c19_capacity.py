"""Fault cases C14 to C19: placement, reserved capacity, Spot settings that exclude each other."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from support.fleets import GROUP_ARN, RESERVATION_ID, fleet, ids
from ultracluster.findings import FindingsError
from ultracluster.plan.capacity_options import CapacityBlock, Reservation, Spot
from ultracluster.plan.fleet import check_fleet, plan_fleet
from ultracluster.plan.placement import ExistingPlacementGroup

THREE = ("us-east-1a", "us-east-1b", "us-east-1c")
BLOCK = CapacityBlock(reservation_id=RESERVATION_ID, size=16, end=datetime(2027, 3, 1, 11, 30, tzinfo=UTC))


def plan(**changes):
    return plan_fleet(fleet(**changes), subject="Train")


def check(**changes):
    return ids(check_fleet(fleet(**changes), subject="Train"))


@pytest.mark.parametrize(
    "reservation", [Reservation(reservation_id=RESERVATION_ID, size=16), Reservation(resource_group_arn=GROUP_ARN)]
)
def test_c14_a_reservation_gets_no_new_placement_group(reservation):
    placement = plan(count=16, capacity=reservation).placement
    assert not placement.create
    assert placement.existing_name is None
    assert "a new one would leave part of it unusable" in placement.because


def test_c14_an_existing_group_is_used_as_it_is():
    reservation = Reservation(reservation_id=RESERVATION_ID, placement_group_name="reserved")
    assert plan(capacity=reservation).placement.existing_name == "reserved"
    named = plan(
        capacity=Reservation(reservation_id=RESERVATION_ID), placement=ExistingPlacementGroup(name="mine")
    ).placement
    assert (named.create, named.existing_name) == (False, "mine")
    other = fleet(capacity=reservation, placement=ExistingPlacementGroup(name="mine"))
    assert ids(check_fleet(other, subject="Train")) == ["UC-PLC-003"]


def test_c15_reservation_and_block_are_two_kinds():
    reserved = plan(capacity=Reservation(reservation_id=RESERVATION_ID)).capacity
    assert (reserved.market_type, reserved.reservation_id) == (None, RESERVATION_ID)
    block = plan(capacity=BLOCK)
    assert (block.capacity.market_type, block.capacity.reservation_id) == ("capacity-block", RESERVATION_ID)
    assert not block.placement.create
    assert check(capacity=BLOCK, placement=ExistingPlacementGroup(name="mine")) == ["UC-PLC-002"]


def test_c15_a_bare_id_is_asked_for_its_kind():
    with pytest.raises(FindingsError) as error:
        plan(capacity=RESERVATION_ID)
    assert ids(error.value) == ["UC-CAP-001"]
    assert "reservation, capacity-block" in str(error.value)


def test_c16_market_type_and_target_come_together():
    decided = plan(capacity=BLOCK).capacity
    assert decided.market_type == "capacity-block"
    assert decided.reservation_id == RESERVATION_ID
    assert decided.spot is None
    assert check(capacity=CapacityBlock(reservation_id="", size=16, end=BLOCK.end)) == ["UC-CAP-002"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "UC-EFA-007"),
        ({"efa": 0, "placement": ExistingPlacementGroup(name="mine")}, "UC-PLC-001"),
        ({"efa": 0, "capacity": Reservation(reservation_id=RESERVATION_ID, placement_group_name="r")}, "UC-PLC-001"),
        ({"efa": 4, "capacity": Spot()}, "UC-EFA-007"),
    ],
)
def test_c17_several_zones_ask_for_the_zone(changes, expected):
    found = check_fleet(fleet(availability_zones=THREE, **changes), subject="Train")
    assert expected in ids(found)
    asked = next(item for item in found if item.rule_id == expected)
    assert asked.subject == "Train.availability_zones"
    assert all(zone in asked.fix for zone in THREE)


def test_c17_one_zone_is_used_as_named():
    assert plan(availability_zones=("us-east-1b",)).availability_zones == ("us-east-1b",)


@pytest.mark.parametrize("zones", [("us-east-1a",), THREE])
def test_c18_spot_is_never_in_the_launch_template(zones):
    decided = plan(capacity=Spot(), availability_zones=zones, instance_types=("p5.48xlarge", "p5en.48xlarge"))
    assert decided.capacity.market_type is None
    assert decided.spot is not None


def test_c19_pools_go_with_lowest_price_only():
    assert check(capacity=Spot(spot_instance_pools=4), availability_zones=THREE) == ["UC-SPT-002"]
    assert plan(capacity=Spot(), availability_zones=THREE).spot.spot_instance_pools is None
    cheap = Spot(allocation_strategy="lowest-price", spot_instance_pools=4)
    assert plan(capacity=cheap, availability_zones=THREE).spot.spot_instance_pools == 4
