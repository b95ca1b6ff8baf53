"""Spot fleets: groups by cards, fabric by zones, strategies, limits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fleets import ALL_TYPES, SUBJECT, ids
from ultracluster.facts.instances import instance_type
from ultracluster.plan.capacity_options import Spot
from ultracluster.plan.interface_rules import as_entries, check_interface_list
from ultracluster.plan.spot import SpotRequest, check_spot, effective_efa, group_by_cards, plan_spot

ONE = ("us-east-1a",)
TWO = ("us-east-1a", "us-east-1b")
P5 = ("p5.48xlarge", "p5en.48xlarge", "p5e.48xlarge")
SOLD = tuple(facts for facts in ALL_TYPES if "spot" in facts.purchase_options)


def request(*names, zones=TWO, spot=Spot(), **options):  # noqa: B008 - frozen
    types = tuple(instance_type(name) for name in names or P5)
    options.setdefault("max_count", 8)
    return SpotRequest(spot=spot, instance_types=types, availability_zones=zones, **options)


def check(*names, **options):
    return check_spot(request(*names, **options), subject=SUBJECT)


def plan(*names, **options):
    return plan_spot(request(*names, **options), subject=SUBJECT)


def test_types_with_equal_cards_share_a_launch_template():
    decided = plan()
    assert [[facts.name for facts in group.instance_types] for group in decided.groups] == [
        ["p5.48xlarge", "p5e.48xlarge"],
        ["p5en.48xlarge"],
    ]
    assert [group.key for group in decided.groups] == ["p5.48xlarge", "p5en.48xlarge"]


@given(st.lists(st.sampled_from(ALL_TYPES), min_size=1, unique_by=lambda facts: facts.name))
def test_groups_are_a_partition_by_cards(types):
    groups = group_by_cards(tuple(types))
    assert sorted(facts.name for group in groups for facts in group) == sorted(facts.name for facts in types)
    for group in groups:
        cards = [
            [(card.index, card.interface_types, card.max_interfaces) for card in facts.network_cards] for facts in group
        ]
        assert all(own == cards[0] for own in cards)
        assert len({(facts.max_efa_interfaces, facts.efa_on_card0) for facts in group}) == 1
    order = [types.index(group[0]) for group in groups]
    assert order == sorted(order)


@given(
    st.lists(st.sampled_from(SOLD), min_size=1, max_size=6, unique_by=lambda facts: facts.name),
    st.sampled_from([ONE, TWO]),
)
def test_each_list_fits_every_type_of_its_group(types, zones):
    wish = SpotRequest(spot=Spot(), instance_types=tuple(types), availability_zones=zones)
    if any(found.severity.stops for found in check_spot(wish, subject=SUBJECT)):
        return
    efa = effective_efa(wish)
    for group in plan_spot(wish, subject=SUBJECT).groups:
        for facts in group.instance_types:
            entries = as_entries(group.interfaces.interfaces)
            assert check_interface_list(facts, entries, efa=efa, subject=SUBJECT) == ()


@pytest.mark.parametrize(("zones", "enabled"), [(ONE, True), (TWO, False)])
def test_the_fabric_follows_the_zones(zones, enabled):
    decided = plan(zones=zones)
    assert decided.efa_enabled is enabled
    assert all((group.interfaces.efa_count > 0) is enabled for group in decided.groups)


def test_no_fabric_in_one_zone_when_asked():
    assert not plan(zones=ONE, efa=0).efa_enabled


def test_a_fabric_over_zones_is_refused():
    found = check(zones=TWO, efa=16)
    assert "UC-EFA-007" in ids(found)


def test_defaults():
    decided = plan()
    assert decided.spot_allocation_strategy == "price-capacity-optimized"
    assert decided.on_demand_allocation_strategy == "prioritized"
    assert (decided.on_demand_base_count, decided.on_demand_percentage_above_base) == (0, 0)
    assert decided.spot_instance_pools is None
    assert decided.max_price_usd is None
    assert decided.capacity_rebalance


@pytest.mark.parametrize("name", ["trn2u.48xlarge", "p6e-gb200.36xlarge"])
def test_types_that_are_never_sold(name):
    found = check(name)
    assert ids(found)[0] == "UC-SPT-005"
    assert found[0].subject == "fleets[0].instance_types[0]"


@pytest.mark.parametrize(
    "strategy", ["price-capacity-optimized", "capacity-optimized", "capacity-optimized-prioritized"]
)
def test_pools_with_another_strategy(strategy):
    assert ids(check(spot=Spot(allocation_strategy=strategy))) == []
    assert ids(check(spot=Spot(allocation_strategy=strategy, spot_instance_pools=4))) == ["UC-SPT-002"]


def test_lowest_price_takes_pools_and_is_a_warning():
    decided = plan(spot=Spot(allocation_strategy="lowest-price", spot_instance_pools=4))
    assert decided.spot_instance_pools == 4
    assert ids(decided.warnings) == ["UC-SPT-008"]


def test_strategies_of_the_other_option():
    found = check(spot=Spot(allocation_strategy="prioritized", on_demand_allocation_strategy="capacity-optimized"))
    assert ids(found) == ["UC-SPT-009", "UC-SPT-009"]
    assert "capacity-optimized-prioritized" in found[0].fix


@given(st.integers(-2, 12), st.integers(-5, 120), st.integers(-1, 30), st.floats(-1, 1))
def test_numbers_in_range(base, percent, pools, price):
    spot = Spot(
        allocation_strategy="lowest-price",
        on_demand_base_count=base,
        on_demand_percentage_above_base=percent,
        spot_instance_pools=pools,
        max_price_usd=price,
    )
    wrong = {found.subject.rpartition(".")[2] for found in check(spot=spot) if found.rule_id == "UC-API-112"}
    expected = {
        "on_demand_base_count": 0 <= base <= 8,
        "on_demand_percentage_above_base": 0 <= percent <= 100,
        "spot_instance_pools": 1 <= pools <= 20,
        "max_price_usd": price > 0,
    }
    assert wrong == {name for name, right in expected.items() if not right}


def test_limits_of_the_policy():
    base = instance_type("p5.48xlarge")
    many = tuple(replace(base, name=f"p5.{size}xlarge") for size in range(41))
    wish = replace(request(), instance_types=many)
    assert ids(check_spot(wish, subject=SUBJECT)) == ["UC-SPT-007"]
    assert check_spot(replace(wish, instance_types=many[:40]), subject=SUBJECT) == ()
    cards = [replace(item, network_cards=base.network_cards[: 1 + at]) for at, item in enumerate(many[:21])]
    found = check_spot(replace(wish, instance_types=tuple(cards)), subject=SUBJECT)
    assert ids(found) == ["UC-SPT-007"]
    assert "21 card layouts" in found[0].message
    assert check_spot(replace(wish, instance_types=tuple(cards[:20])), subject=SUBJECT) == ()


def test_a_gang_on_spot_is_a_warning():
    assert ids(plan("p5.48xlarge", zones=ONE).warnings) == ["UC-SPT-010"]
    assert not plan("p5.48xlarge", zones=ONE, max_count=1).warnings
    assert not plan("p5.48xlarge", zones=ONE, spot=Spot(on_demand_percentage_above_base=100)).warnings
    assert not plan("p5.48xlarge", zones=TWO).warnings


def test_an_island_of_the_fabric():
    found = check("p4d.24xlarge", "p5.48xlarge", zones=ONE)
    assert "UC-EFA-008" in ids(found)
    assert check("p4d.24xlarge", "p5.48xlarge", zones=ONE, efa=0) == ()
    assert "UC-EFA-008" not in ids(check("p4d.24xlarge", "p4de.24xlarge", zones=ONE))
    assert check("p4d.24xlarge", "p5.48xlarge", zones=TWO) == ()


def test_more_devices_than_one_of_the_types_has():
    assert "UC-EFA-002" in ids(check("p5.48xlarge", "p5en.48xlarge", zones=ONE, efa=32))
