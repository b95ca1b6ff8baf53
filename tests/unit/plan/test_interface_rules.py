"""Rules over interface lists: planned lists pass, and each broken one gives its own rule and no other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.fleets import ALL_TYPES, SUBJECT, ids, new_types, wishes
from ultracluster.facts.instances import instance_type
from ultracluster.findings import Severity
from ultracluster.plan.interface_rules import NetworkInterfaceEntry, as_entries, check_interface_list, with_public_ip
from ultracluster.plan.network_interfaces import plan_network_interfaces

WHERE = "Train.NetworkInterfaces"


def planned(facts, efa=None, **options):
    plan = plan_network_interfaces(facts, efa=efa, subject=SUBJECT, **options)
    return [replace(entry, group_count=1, allows_efa=True) for entry in as_entries(plan.interfaces)]


def check(facts, entries, efa=None, **options):
    return check_interface_list(facts, entries, efa=efa, subject=WHERE, **options)


@st.composite
def lists(draw, among=ALL_TYPES):
    """A right list with its type and its wish."""
    facts, efa, layout = draw(wishes(among))
    return facts, efa, planned(facts, efa, layout=layout)


@given(lists())
def test_every_planned_list_passes(case):
    facts, efa, entries = case
    assert check(facts, entries, efa) == ()


@given(new_types(), st.data())
def test_planned_lists_of_new_types_pass(facts, data):
    efa = data.draw(st.none() | st.integers(0, facts.max_efa_interfaces))
    assert check(facts, planned(facts, efa), efa) == ()


@given(lists())
def test_a_planned_list_in_any_order_passes(case):
    facts, efa, entries = case
    assert check(facts, entries[::-1], efa) == ()


@given(lists(), st.data())
def test_device_index_too_high(case, data):
    facts, efa, entries = case
    limits = {card.index: card.max_interfaces for card in facts.network_cards}
    choices = [at for at, entry in enumerate(entries) if entry.place != (0, 0) and limits[entry.card] is not None]
    assume(choices)
    at = data.draw(st.sampled_from(choices))
    entries[at] = replace(entries[at], device=limits[entries[at].card] + data.draw(st.integers(0, 9)))
    found = check(facts, entries, efa)
    assert ids(found) == ["UC-NIC-004"]
    assert found[0].subject == f"{WHERE}[{at}]"
    assert f"card {entries[at].card} of {facts.name}" in found[0].message
    assert str(limits[entries[at].card]) in found[0].message


@given(lists(), st.data())
def test_place_taken_twice(case, data):
    facts, efa, entries = case
    assume(1 < len(entries) < facts.max_network_interfaces)
    entries.append(entries[data.draw(st.integers(1, len(entries) - 1))])
    assert ids(check(facts, entries, efa)) == ["UC-NIC-002"]


@given(lists())
def test_efa_only_primary(case):
    facts, efa, entries = case
    entries[0] = replace(entries[0], kind="efa-only")
    assert ids(check(facts, entries, efa)) == ["UC-NIC-001"]


@given(lists())
def test_two_primaries(case):
    facts, efa, entries = case
    assume(len(entries) < facts.max_network_interfaces)
    entries.append(replace(entries[0], kind="interface"))
    assert ids(check(facts, entries, efa)) == ["UC-NIC-001"]


@given(lists())
def test_no_primary(case):
    facts, efa, entries = case
    assume(len(entries) > 1 and entries[0].kind == "interface")
    assert ids(check(facts, entries[1:], efa)) == ["UC-NIC-001"]


@given(lists())
def test_public_address_with_several_interfaces(case):
    facts, efa, entries = case
    expected = ["UC-NIC-006"] if len(entries) > 1 else []
    assert ids(check(facts, list(with_public_ip(entries)), efa)) == expected


@given(lists(), st.data())
def test_entry_without_groups(case, data):
    facts, efa, entries = case
    at = data.draw(st.integers(0, len(entries) - 1))
    entries[at] = replace(entries[at], group_count=0)
    found = check(facts, entries, efa)
    assert ids(found) == ["UC-NIC-009"]
    assert found[0].subject == f"{WHERE}[{at}]"


@given(lists(), st.data())
def test_card_index_missing(case, data):
    facts, efa, entries = case
    choices = [at for at, entry in enumerate(entries) if entry.has_efa and entry.card > 0]
    assume(choices)
    for at in data.draw(st.sets(st.sampled_from(choices), min_size=1)):
        entries[at] = replace(entries[at], card=None)
    found = check(facts, entries, efa)
    assert ids(found) == ["UC-NIC-005"]
    assert facts.name in found[0].message


@given(lists(), st.data())
def test_card_that_does_not_exist(case, data):
    facts, efa, entries = case
    assume(len(entries) > 1)
    at = data.draw(st.integers(1, len(entries) - 1))
    entries[at] = replace(entries[at], card=len(facts.network_cards) + data.draw(st.integers(0, 5)))
    found = check(facts, entries, efa)
    assert ids(found) == ["UC-NIC-005"]
    assert f"cards 0 to {len(facts.network_cards) - 1}" in found[0].message


@given(lists(tuple(facts for facts in ALL_TYPES if facts.supports_efa and not facts.efa_on_card0)))
def test_fabric_on_a_card_without_it(case):
    facts, efa, entries = case
    entries[0] = replace(entries[0], kind="efa")
    found = check(facts, entries, efa)
    assert ids(found) == ["UC-EFA-004"]
    assert "EFA starts at card 1" in found[0].fix


@given(lists(tuple(facts for facts in ALL_TYPES if not facts.supports_efa)))
def test_fabric_on_a_type_without_it(case):
    facts, _, entries = case
    entries[0] = replace(entries[0], kind="efa")
    assert ids(check(facts, entries)) == ["UC-EFA-001"]


@given(lists(), st.data())
def test_second_fabric_device_on_a_card(case, data):
    facts, efa, entries = case
    limits = {card.index: card.max_interfaces for card in facts.network_cards}
    taken = {entry.place for entry in entries}
    free = [
        replace(entry, device=device, kind="efa")
        for entry in entries
        if entry.has_efa and "efa" in facts.network_cards[entry.card].interface_types
        for device in range(limits[entry.card] or 3)
        if (entry.card, device) not in taken
    ]
    assume(free and len(entries) < facts.max_network_interfaces)
    assert ids(check(facts, [*entries, data.draw(st.sampled_from(free))], efa)) == ["UC-NIC-003"]


@given(lists(), st.data())
def test_a_fabric_device_too_few(case, data):
    facts, efa, entries = case
    choices = [at for at, entry in enumerate(entries) if entry.has_efa and entry.place != (0, 0)]
    assume(choices and (efa is not None or facts.max_efa_interfaces is not None))
    del entries[data.draw(st.sampled_from(choices))]
    found = check(facts, entries, efa)
    assert ids(found) == ["UC-EFA-002"]
    assert found[0].subject == WHERE


@given(lists(), st.sampled_from(["PrivateIpAddress", "Ipv4PrefixCount", "Ipv6AddressCount"]), st.data())
def test_address_on_efa_only(case, name, data):
    facts, efa, entries = case
    choices = [at for at, entry in enumerate(entries) if entry.kind == "efa-only"]
    assume(choices)
    at = data.draw(st.sampled_from(choices))
    entries[at] = replace(entries[at], address_properties=(name,))
    found = check(facts, entries, efa)
    assert ids(found) == ["UC-NIC-007"]
    assert name in found[0].message


def test_false_public_address_is_tolerated():
    facts = instance_type("p5.48xlarge")
    entries = [replace(entry, associate_public_ip=False) for entry in planned(facts)]
    assert check(facts, entries) == ()


def test_groups_beside_the_list():
    facts = instance_type("p5.48xlarge")
    assert ids(check(facts, planned(facts), groups_beside_list=True)) == ["UC-NIC-008"]


def test_six_groups_on_an_entry():
    facts = instance_type("p4d.24xlarge")
    entries = planned(facts)
    entries[2] = replace(entries[2], group_count=6)
    found = check(facts, entries)
    assert ids(found) == ["UC-NIC-009"]
    assert "5 per interface" in found[0].message


def test_group_that_does_not_allow_itself():
    facts = instance_type("p4d.24xlarge")
    entries = [replace(entry, allows_efa=False) for entry in planned(facts)]
    found = check(facts, entries)
    # Only the four fabric devices need such a group.
    assert ids(found) == ["UC-EFA-005"]
    assert "3 more like it" in found[0].message


def test_more_interfaces_than_the_type_takes():
    facts = replace(instance_type("p4d.24xlarge"), max_network_interfaces=4)
    assert ids(check(facts, planned(facts))) == ["UC-NIC-004"]


def test_doubtful_card_data_is_never_fatal():
    facts = instance_type("p6e-gb200.36xlarge")
    entries = planned(facts)
    entries[1] = replace(entries[1], device=1)
    found = check(facts, entries)
    assert ids(found) == ["UC-NIC-004"]
    assert found[0].severity is Severity.ERROR
    sure = instance_type("p5.48xlarge")
    wrong = [*planned(sure)[:-1], replace(planned(sure)[-1], device=2)]
    assert check(sure, wrong)[0].severity is Severity.FATAL


def test_a_card_for_the_fabric_alone_takes_no_address():
    facts = instance_type("p6e-gb200.36xlarge")
    entries = [*planned(facts), NetworkInterfaceEntry(card=3, device=0, group_count=1)]
    found = check(facts, entries)
    assert ids(found) == ["UC-API-116"]
    assert "card 3 of p6e-gb200.36xlarge, which takes efa-only only" in found[0].message


def test_without_a_type_the_general_rules_are_judged():
    entries = [
        NetworkInterfaceEntry(card=0, device=0, kind="efa-only"),
        NetworkInterfaceEntry(card=90, device=7, kind="efa"),
        NetworkInterfaceEntry(card=90, device=8, kind="efa"),
    ]
    assert ids(check(None, entries)) == ["UC-NIC-001", "UC-NIC-003"]


def test_absent_card_index_where_it_is_meant():
    """On a single card and for what stands on card 0 anyway, EC2 reads an absent index as it was meant."""
    single = instance_type("g6.48xlarge")
    assert check(single, [replace(entry, card=None) for entry in planned(single)]) == ()
    several = instance_type("p5.48xlarge")
    entries = [replace(entry, card=None) if entry.card == 0 else entry for entry in planned(several)]
    assert check(several, entries) == ()


@pytest.mark.parametrize("name", ["p5.48xlarge", "p5en.48xlarge", "trn2.48xlarge", "p4d.24xlarge"])
def test_other_legal_lists_pass(name):
    """Lists that AWS samples use beside the two layouts: all cards at device 0, or efa-only at device 1."""
    facts = instance_type(name)
    cards = [card.index for card in facts.network_cards]
    device0 = [NetworkInterfaceEntry(card=card, device=0, kind="efa", group_count=1) for card in cards]
    device1 = [
        NetworkInterfaceEntry(card=0, device=0, group_count=1),
        *(NetworkInterfaceEntry(card=card, device=1, kind="efa-only", group_count=1) for card in cards),
    ]
    assert check(facts, device0) == ()
    assert check(facts, device1) == ()
