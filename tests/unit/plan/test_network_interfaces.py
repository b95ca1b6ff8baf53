"""Interface lists: what AWS documents, fewer fabric devices, types that no catalogue has."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.fleets import ALL_TYPES, SUBJECT, has_layout, ids, new_types, wishes
from ultracluster.facts.instances import instance_type
from ultracluster.findings import FindingsError
from ultracluster.plan.network_interfaces import InterfaceLayout, check_network_interfaces, plan_network_interfaces


@pytest.fixture(scope="module")
def documented(root):
    return json.loads((root / "tests/fixtures/documented_layouts.json").read_text())["types"]


def entries(plan):
    return [[item.card, item.device, item.kind] for item in plan.interfaces]


@pytest.mark.parametrize("layout", list(InterfaceLayout))
@pytest.mark.parametrize("facts", ALL_TYPES, ids=lambda facts: facts.name)
def test_every_type_gets_the_documented_list(documented, facts, layout):
    expected = documented[facts.name][layout.value]["entries"]
    if expected is not None:
        assert entries(plan_network_interfaces(facts, layout=layout, subject=SUBJECT)) == expected
    elif layout is InterfaceLayout.MAX_BANDWIDTH or facts.supports_efa:
        assert ids(check_network_interfaces(facts, layout=layout, subject=SUBJECT)) == ["UC-API-101"]
    else:
        # Without EFA the older form is what remains of it: the primary interface.
        assert entries(plan_network_interfaces(facts, layout=layout, subject=SUBJECT)) == [[0, 0, "interface"]]


def test_the_fixture_names_exactly_the_catalogue(documented):
    assert set(documented) == {facts.name for facts in ALL_TYPES}


def test_undocumented_layout_names_the_types_that_have_one():
    with pytest.raises(FindingsError) as error:
        plan_network_interfaces(
            instance_type("p5en.48xlarge"), layout=InterfaceLayout.MAX_BANDWIDTH, subject="fleets[1]"
        )
    message = str(error.value)
    assert message.startswith("fleets[1].interface_layout: max-bandwidth is not documented for p5en.48xlarge")
    for name in ("p5.48xlarge", "p5e.48xlarge", "p6-b200.48xlarge", "p6-b300.48xlarge"):
        assert name in message


@given(wishes())
def test_counts_equal_the_list(wish):
    facts, efa, layout = wish
    plan = plan_network_interfaces(facts, efa=efa, layout=layout, subject=SUBJECT)
    assert plan.efa_count == sum(item.kind != "interface" for item in plan.interfaces)
    assert plan.ip_count == sum(item.kind != "efa-only" for item in plan.interfaces)
    assert plan.efa_count == (plan.efa_available if efa is None else efa)
    first = plan.interfaces[0]
    assert (first.card, first.device) == (0, 0)
    assert first.has_ip
    assert plan.decisions


@given(wishes())
def test_fewer_devices_keep_the_first_cards(wish):
    facts, efa, layout = wish
    assume(efa is not None)
    full = plan_network_interfaces(facts, layout=layout, subject=SUBJECT)
    fewer = plan_network_interfaces(facts, efa=efa, layout=layout, subject=SUBJECT)
    cards = [item.card for item in full.interfaces if item.has_efa]
    assert [item.card for item in fewer.interfaces if item.has_efa] == cards[:efa]
    assert {(item.card, item.device) for item in fewer.interfaces} <= {
        (item.card, item.device) for item in full.interfaces
    }


@given(new_types())
def test_a_new_type_needs_only_its_cards(facts):
    plan = plan_network_interfaces(facts, subject=SUBJECT)
    assert plan.efa_count == facts.max_efa_interfaces
    assert plan.ip_count >= 1
    if all("efa-only" in card.interface_types for card in facts.efa_cards):
        assert plan.ip_count == 1


@pytest.mark.parametrize(("efa", "same"), [(True, None), (False, 0)])
def test_yes_and_no_mean_all_and_none(efa, same):
    facts = instance_type("p5.48xlarge")
    assert entries(plan_network_interfaces(facts, efa=efa, subject=SUBJECT)) == entries(
        plan_network_interfaces(facts, efa=same, subject=SUBJECT)
    )


@given(st.integers(-5, 60))
def test_a_number_out_of_range_names_the_range(efa):
    facts = instance_type("p5en.48xlarge")
    found = check_network_interfaces(facts, efa=efa, subject=SUBJECT)
    if 0 <= efa <= 16:
        assert not found
    else:
        assert ids(found) == ["UC-EFA-002"]
        assert "0 and the 16 EFA devices" in found[0].message


def test_efa_on_a_type_without_it_names_the_smallest_with_it():
    found = check_network_interfaces(instance_type("trn1.2xlarge"), efa=1, subject=SUBJECT)
    assert ids(found) == ["UC-EFA-001"]
    assert "trn1.32xlarge" in found[0].fix


def test_max_bandwidth_counts():
    expected = {"p5.48xlarge": (40, 8), "p6-b200.48xlarge": (16, 8), "p6-b300.48xlarge": (33, 17)}
    for name, (interfaces, addresses) in expected.items():
        plan = plan_network_interfaces(instance_type(name), layout=InterfaceLayout.MAX_BANDWIDTH, subject=SUBJECT)
        assert (len(plan.interfaces), plan.ip_count) == (interfaces, addresses)


def test_decisions_say_why():
    plan = plan_network_interfaces(instance_type("p5.48xlarge"), subject=SUBJECT)
    assert [(item.subject, item.value) for item in plan.decisions] == [
        ("fleets[0].efa", "32 EFA devices"),
        ("fleets[0].interface_layout", "min-ip: 33 interfaces, 1 address per node"),
    ]


def test_older_form_is_known_for_every_type_with_combined_devices():
    lacking = [facts.name for facts in ALL_TYPES if not has_layout(facts, InterfaceLayout.ALL_EFA)]
    assert lacking == ["p6e-gb200.36xlarge"]
