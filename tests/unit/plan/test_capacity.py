"""Purchase options: market type, target, size, end of a block, and what each rule says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fleets import GROUP_ARN, RESERVATION_ID, SUBJECT, ids
from ultracluster.facts.instances import instance_type
from ultracluster.findings import FindingsError
from ultracluster.plan.capacity import CapacityRequest, check_capacity, plan_capacity
from ultracluster.plan.capacity_options import CapacityBlock, OnDemand, Reservation, Spot

END = datetime(2027, 3, 1, 11, 30, tzinfo=UTC)


def request(capacity, *names, count=4, fewest=None, **options):
    types = tuple(instance_type(name) for name in names or ("p5.48xlarge",))
    return CapacityRequest(
        capacity=capacity,
        instance_types=types,
        min_count=count if fewest is None else fewest,
        max_count=count,
        **options,
    )


def check(capacity, *names, **options):
    return check_capacity(request(capacity, *names, **options), subject=SUBJECT)


def plan(capacity, *names, **options):
    return plan_capacity(request(capacity, *names, **options), subject=SUBJECT)


def test_on_demand_says_nothing_special():
    decided = plan(OnDemand())
    assert (decided.kind, decided.market_type, decided.reservation_id) == ("on-demand", None, None)
    assert decided.quota_code == "L-417A185B"
    assert not decided.fixed_size


def test_a_block_has_market_type_and_target_together():
    decided = plan(CapacityBlock(reservation_id=RESERVATION_ID, size=4, end=END))
    assert (decided.kind, decided.market_type, decided.reservation_id) == (
        "capacity-block",
        "capacity-block",
        RESERVATION_ID,
    )
    assert decided.fixed_size
    assert decided.spot is None
    assert decided.preference is None
    assert decided.quota_code is None


def test_a_reservation_has_a_target_and_no_market_type():
    decided = plan(Reservation(reservation_id=RESERVATION_ID))
    assert (decided.market_type, decided.reservation_id, decided.preference) == (None, RESERVATION_ID, None)
    assert decided.quota_code == "L-417A185B"


@pytest.mark.parametrize(("strict", "preference"), [(True, "capacity-reservations-only"), (False, None)])
def test_a_group_of_reservations_is_strict_unless_told_otherwise(strict, preference):
    decided = plan(Reservation(resource_group_arn=GROUP_ARN, strict=strict))
    assert (decided.resource_group_arn, decided.reservation_id, decided.preference) == (GROUP_ARN, None, preference)


def test_spot_leaves_the_launch_template_alone():
    decided = plan(Spot())
    assert (decided.kind, decided.market_type, decided.quota_code) == ("spot", None, "L-7212CCBC")


@pytest.mark.parametrize("bare", [RESERVATION_ID, None, {"reservation_id": RESERVATION_ID}])
def test_the_kind_is_asked_for(bare):
    found = check(bare)
    assert ids(found) == ["UC-CAP-001"]
    assert "capacity-block" in found[0].fix


@pytest.mark.parametrize(
    "capacity",
    [
        Reservation(),
        Reservation(reservation_id=RESERVATION_ID, resource_group_arn=GROUP_ARN),
        Reservation(reservation_id="cr-0123"),
        Reservation(reservation_id=RESERVATION_ID.upper()),
        Reservation(resource_group_arn="training"),
        CapacityBlock(reservation_id="cr-0123456789ABCDEF0", end=END),
    ],
)
def test_malformed_references(capacity):
    assert ids(check(capacity)) == ["UC-API-103"]


def test_what_the_deployment_fills_in_is_taken_as_it_is():
    assert check(Reservation(reservation_id="${Token[TOKEN.42]}")) == ()


@given(st.text(alphabet="0123456789abcdef", min_size=17, max_size=17))
def test_any_well_formed_id_is_accepted(digits):
    assert check(Reservation(reservation_id=f"cr-{digits}")) == ()


@given(st.datetimes(datetime(2027, 1, 1), datetime(2030, 1, 1)), st.integers(-14, 14))
def test_a_block_is_left_35_minutes_before_its_end_in_any_time_zone(end, hours):
    local = end.replace(tzinfo=timezone(timedelta(hours=hours)))
    decided = plan(CapacityBlock(reservation_id=RESERVATION_ID, end=local))
    assert decided.end == local
    assert decided.scale_in_at == local - timedelta(minutes=35)
    assert decided.scale_in_at.utcoffset() == timedelta(0)
    assert decided.scale_in_start_time == decided.scale_in_at.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize(
    ("name", "zone", "minutes"),
    [
        ("p5.48xlarge", "us-east-1a", 35),
        ("trn2.48xlarge", "us-east-2a", 35),
        ("trn2u.48xlarge", "us-east-2a", 70),
        ("p6e-gb200.36xlarge", "us-east-1-dfw-2a", 70),
    ],
)
def test_ultraservers_are_left_earlier(name, zone, minutes):
    block = CapacityBlock(reservation_id=RESERVATION_ID, end=END)
    decided = plan(block, name, availability_zones=(zone,))
    assert END - decided.scale_in_at == timedelta(minutes=minutes)


def test_scheduled_scale_in_is_a_decision():
    decided = plan(CapacityBlock(reservation_id=RESERVATION_ID, end=END))
    assert "2027-03-01T10:55:00Z" in decided.decisions[-1].value
    assert decided.decisions[-1].because.startswith("35 minutes before the end")


def test_an_end_without_a_time_zone():
    found = check(CapacityBlock(reservation_id=RESERVATION_ID, end=END.replace(tzinfo=None)))
    assert ids(found) == ["UC-API-115"]
    assert "2027-03-01T11:30:00+00:00" in found[0].fix


def test_an_end_that_is_not_given_is_a_warning():
    decided = plan(CapacityBlock(reservation_id=RESERVATION_ID))
    assert ids(decided.warnings) == ["UC-CAP-011"]
    assert decided.scale_in_at is None
    assert decided.scale_in_start_time is None


@pytest.mark.parametrize(("minutes", "expected"), [(36, []), (35, ["UC-CAP-018"]), (-1, ["UC-CAP-018"])])
def test_a_block_that_leaves_no_time(minutes, expected):
    block = CapacityBlock(reservation_id=RESERVATION_ID, end=END)
    assert ids(check(block, now=END - timedelta(minutes=minutes))) == expected


def test_without_a_clock_no_end_is_past():
    assert check(CapacityBlock(reservation_id=RESERVATION_ID, end=datetime(2020, 1, 1, tzinfo=UTC))) == ()


@given(st.integers(1, 64), st.integers(1, 100))
def test_the_fleet_fits_the_block(size, count):
    found = check(CapacityBlock(reservation_id=RESERVATION_ID, size=size, end=END), count=count)
    assert ids(found) == ([] if count <= size else ["UC-CAP-007"])
    if found:
        assert f"{count} x p5.48xlarge" in found[0].message
        assert str(size) in found[0].fix


@given(st.integers(1, 200))
def test_a_block_of_unknown_size_holds_at_most_64(count):
    found = check(CapacityBlock(reservation_id=RESERVATION_ID, end=END), count=count)
    assert ids(found) == ([] if count <= 64 else ["UC-CAP-007"])


@pytest.mark.parametrize("size", [0, 65, -1])
def test_no_block_has_this_size(size):
    found = check(CapacityBlock(reservation_id=RESERVATION_ID, size=size, end=END))
    assert ids(found) == ["UC-CAP-007"]
    assert found[0].subject == "fleets[0].capacity.size"


def test_a_block_has_one_size():
    found = check(CapacityBlock(reservation_id=RESERVATION_ID, size=16, end=END), count=16, fewest=0)
    assert ids(found) == ["UC-CAP-007"]
    assert "0 to 16" in found[0].message


@pytest.mark.parametrize(("size", "expected"), [(9, []), (18, []), (12, ["UC-CAP-015"])])
def test_an_ultraserver_is_whole(size, expected):
    block = CapacityBlock(reservation_id=RESERVATION_ID, size=size, end=END)
    assert ids(check(block, "p6e-gb200.36xlarge")) == expected


@pytest.mark.parametrize(
    ("name", "zones", "region", "expected"),
    [
        ("p5.48xlarge", ("us-east-1a",), None, []),
        ("p5.48xlarge", ("us-east-1-atl-2a",), None, []),
        ("p5.48xlarge", ("us-east-1-dfw-2a",), None, ["UC-CAP-006"]),
        ("p5.48xlarge", (), "eu-central-1", ["UC-CAP-006"]),
        ("p5.48xlarge", (), None, []),
        ("p6e-gb200.36xlarge", ("us-east-1-dfw-2a",), "us-east-1", []),
        ("p6e-gb200.36xlarge", ("us-east-1a",), "us-east-1", ["UC-CAP-006"]),
        ("g6e.48xlarge", ("us-east-1a",), None, ["UC-CAP-006"]),
        ("trn1n.32xlarge", (), None, ["UC-CAP-006"]),
    ],
)
def test_where_blocks_are_sold(name, zones, region, expected):
    block = CapacityBlock(reservation_id=RESERVATION_ID, end=END)
    found = check(block, name, availability_zones=zones, region=region)
    assert ids(found) == expected


def test_a_block_holds_one_type():
    found = check(CapacityBlock(reservation_id=RESERVATION_ID, end=END), "p5.48xlarge", "p5en.48xlarge")
    assert ids(found) == ["UC-CAP-009"]


@pytest.mark.parametrize("capacity", [OnDemand(), Reservation(reservation_id=RESERVATION_ID)])
def test_several_types_need_spot(capacity):
    found = check(capacity, "p5.48xlarge", "p5en.48xlarge")
    assert ids(found) == ["UC-API-102"]
    assert found[0].subject == "fleets[0].instance_types"


@given(st.integers(1, 40), st.integers(1, 40), st.booleans())
def test_the_fleet_fits_the_reservation(size, count, strict):
    by_id = check(Reservation(reservation_id=RESERVATION_ID, size=size, strict=strict), count=count)
    assert ids(by_id) == ([] if count <= size else ["UC-CAP-012"])
    by_group = check(Reservation(resource_group_arn=GROUP_ARN, size=size, strict=strict), count=count)
    assert ids(by_group) == (["UC-CAP-012"] if count > size and strict else [])


def test_a_reservation_of_nothing():
    assert ids(check(Reservation(reservation_id=RESERVATION_ID, size=0))) == ["UC-CAP-012"]


def test_a_type_not_listed_on_demand_is_a_warning():
    assert ids(plan(OnDemand(), "p6e-gb200.36xlarge").warnings) == ["UC-CAP-019"]


def test_all_faults_at_once():
    block = CapacityBlock(reservation_id="", size=2, end=END.replace(tzinfo=None))
    with pytest.raises(FindingsError) as error:
        plan(block, "g6e.48xlarge", count=3)
    assert ids(error.value) == ["UC-CAP-002", "UC-CAP-006", "UC-CAP-007", "UC-API-115"]
