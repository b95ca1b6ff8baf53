"""Placement groups: when one is made, when an existing one is used, when none may be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fleets import GROUP_ARN, RESERVATION_ID, SUBJECT, ids
from ultracluster.facts.instances import instance_type
from ultracluster.plan.capacity_options import CapacityBlock, OnDemand, Reservation, Spot
from ultracluster.plan.placement import (
    AUTO,
    NONE,
    ExistingPlacementGroup,
    PlacementRequest,
    check_placement,
    plan_placement,
)

BLOCK = CapacityBlock(reservation_id=RESERVATION_ID)
BARE = Reservation(reservation_id=RESERVATION_ID)
GROUPED = Reservation(reservation_id=RESERVATION_ID, placement_group_name="reserved")
OWN = ExistingPlacementGroup(name="own")
RESERVED = ExistingPlacementGroup(name="reserved")
ONE = ("us-east-1a",)
THREE = ("us-east-1a", "us-east-1b", "us-east-1c")


def request(placement=AUTO, capacity=OnDemand(), zones=ONE, efa=32, names=("p5.48xlarge",)):  # noqa: B008 - frozen
    return PlacementRequest(
        placement=placement,
        capacity=capacity,
        instance_types=tuple(instance_type(name) for name in names),
        availability_zones=zones,
        efa_count=efa,
        max_count=4,
    )


def check(*args, **options):
    return check_placement(request(*args, **options), subject=SUBJECT)


@pytest.mark.parametrize(
    ("placement", "capacity", "zones", "efa", "create", "name"),
    [
        (AUTO, OnDemand(), ONE, 32, True, None),
        (AUTO, Spot(), ONE, 32, True, None),
        (AUTO, OnDemand(), ONE, 0, False, None),
        (AUTO, OnDemand(), THREE, 0, False, None),
        (AUTO, Spot(), THREE, 0, False, None),
        (AUTO, BLOCK, ONE, 32, False, None),
        (AUTO, BARE, ONE, 32, False, None),
        (AUTO, Reservation(resource_group_arn=GROUP_ARN), ONE, 32, False, None),
        (AUTO, GROUPED, ONE, 32, False, "reserved"),
        (RESERVED, GROUPED, ONE, 32, False, "reserved"),
        (OWN, OnDemand(), ONE, 32, False, "own"),
        (OWN, BARE, ONE, 32, False, "own"),
        (NONE, OnDemand(), ONE, 32, False, None),
        (NONE, BLOCK, ONE, 32, False, None),
    ],
)
def test_the_table(*, placement, capacity, zones, efa, create, name):
    decided = plan_placement(request(placement, capacity, zones, efa), subject=SUBJECT)
    assert (decided.create, decided.existing_name) == (create, name)
    assert decided.because
    assert decided.decisions[0].because == decided.because


def test_a_fabric_asks_for_its_zone():
    found = check(zones=THREE)
    assert ids(found) == ["UC-EFA-007"]
    assert found[0].subject == "fleets[0].availability_zones"
    assert "us-east-1a or us-east-1b or us-east-1c" in found[0].fix


def test_a_named_group_asks_for_its_zone_without_a_fabric_too():
    assert ids(check(OWN, zones=THREE, efa=0)) == ["UC-PLC-001"]
    assert ids(check(capacity=GROUPED, zones=THREE, efa=0)) == ["UC-PLC-001"]


def test_a_block_takes_no_group():
    found = check(OWN, BLOCK)
    assert ids(found) == ["UC-PLC-002"]
    assert "own" in found[0].message


@pytest.mark.parametrize("placement", [OWN, NONE])
def test_a_reservation_keeps_its_group(placement):
    found = check(placement, GROUPED)
    assert ids(found) == ["UC-PLC-003"]
    assert "reserved" in found[0].fix


def test_types_without_cluster_placement():
    facts = replace(instance_type("p5.48xlarge"), placement_group_strategies=("partition", "spread"))
    own = replace(request(OWN), instance_types=(facts,))
    assert ids(check_placement(own, subject=SUBJECT)) == ["UC-PLC-004"]
    auto = plan_placement(replace(request(), instance_types=(facts,)), subject=SUBJECT)
    assert not auto.create
    unpublished = replace(facts, placement_group_strategies=())
    assert plan_placement(replace(request(), instance_types=(unpublished,)), subject=SUBJECT).create


def test_several_types_in_one_group_are_a_warning():
    decided = plan_placement(request(capacity=Spot(), names=("p5.48xlarge", "p5e.48xlarge")), subject=SUBJECT)
    assert decided.create
    assert ids(decided.warnings) == ["UC-PLC-006"]


@given(
    st.sampled_from([AUTO, NONE, OWN, RESERVED]),
    st.sampled_from([OnDemand(), Spot(), BLOCK, BARE, GROUPED]),
    st.sampled_from([ONE, THREE]),
    st.sampled_from([0, 16]),
)
def test_a_plan_is_never_both_and_never_against_reserved_capacity(placement, capacity, zones, efa):
    wish = request(placement, capacity, zones, efa)
    if any(found.severity.stops for found in check_placement(wish, subject=SUBJECT)):
        return
    decided = plan_placement(wish, subject=SUBJECT)
    assert not (decided.create and decided.existing_name)
    if decided.create:
        assert len(zones) == 1
        assert isinstance(capacity, OnDemand | Spot)
        assert efa > 0
    if isinstance(capacity, CapacityBlock):
        assert decided.existing_name is None
