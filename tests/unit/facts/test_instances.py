"""The catalogue: documented counts, sources and dates of every fact, and the names near to a wrong one."""

from __future__ import annotations

import re
import string
import subprocess
import sys
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.facts.instance_type import InstanceType
from ultracluster.facts.instances import (
    UnknownInstanceType,
    api_fields,
    card_indexes,
    catalog,
    catalog_as_of,
    instance_type,
    kept_fields,
    nearest_types,
    sources,
)
from ultracluster.findings import FindingsError

NAMES = sorted(catalog())
DATE = re.compile(r"20\d\d(-\d\d(-\d\d)?)?")
# What a row says about itself, and what the reader adds.
WITHOUT_SOURCE = {"notes", "disputed", "confidence", "sources", "price_as_of"}
OPTIONAL = {"documented_layouts", "ultraservers"}

# Cards, interfaces per card and EFA devices as AWS documents them.
DOCUMENTED = {
    "p4d.24xlarge": (4, {15}, 4),
    "p4de.24xlarge": (4, {15}, 4),
    "p5.4xlarge": (1, {4}, 1),
    "p5.48xlarge": (32, {2}, 32),
    "p5e.48xlarge": (32, {2}, 32),
    "p5en.48xlarge": (16, {4}, 16),
    "p6-b200.48xlarge": (8, {4}, 8),
    "p6-b300.48xlarge": (17, {4}, 16),
    "trn1.32xlarge": (8, {5}, 8),
    "trn1n.32xlarge": (16, {5}, 16),
    "trn2.3xlarge": (1, {2}, 1),
    "trn2.48xlarge": (16, {2}, 16),
    "trn2u.48xlarge": (16, {2}, 16),
    "g5.48xlarge": (1, {7}, 1),
    "g6.48xlarge": (1, {15}, 1),
    "g6e.48xlarge": (4, {10}, 4),
    "g7e.24xlarge": (2, {10}, 2),
    "g7e.48xlarge": (4, {10}, 4),
}


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_cards_interfaces_and_efa_are_the_documented_ones(name):
    facts = instance_type(name)
    cards, per_card, efa = DOCUMENTED[name]
    assert len(facts.network_cards) == cards
    assert {card.max_interfaces for card in facts.network_cards} == per_card
    assert facts.max_efa_interfaces == efa


@pytest.mark.parametrize("name", ["p5.48xlarge", "p5e.48xlarge"])
def test_c01_p5_has_devices_0_and_1_on_32_cards(name):
    facts = instance_type(name)
    assert [card.index for card in facts.efa_cards] == list(range(32))
    assert {card.max_interfaces for card in facts.network_cards} == {2}


def test_c02_p6_b300_card_0_is_ena_only():
    facts = instance_type("p6-b300.48xlarge")
    assert facts.network_cards[0].interface_types == ("interface",)
    assert not facts.efa_on_card0
    assert [card.index for card in facts.efa_cards] == list(range(1, 17))


def test_c03_trainium_counts_differ_by_type():
    counts = {
        name: instance_type(name).max_efa_interfaces for name in ("trn1.32xlarge", "trn1n.32xlarge", "trn2.48xlarge")
    }
    assert counts == {"trn1.32xlarge": 8, "trn1n.32xlarge": 16, "trn2.48xlarge": 16}


def test_c04_p4d_takes_one_efa_device_per_card():
    facts = instance_type("p4d.24xlarge")
    assert facts.max_efa_interfaces == len(facts.efa_cards) == 4


def test_c05_p5en_card_0_takes_an_interface_beside_its_efa_device():
    card = instance_type("p5en.48xlarge").network_cards[0]
    assert {"interface", "efa-only"} <= set(card.interface_types)
    assert card.max_interfaces >= 2


def test_c12_gb200_odd_cards_hold_one_efa_only_interface_and_card_0_none():
    facts = instance_type("p6e-gb200.36xlarge")
    odd = [card for card in facts.network_cards if card.index % 2]
    assert len(facts.network_cards) == 17
    assert {(card.interface_types, card.max_interfaces) for card in odd} == {(("efa-only",), 1)}
    assert not facts.network_cards[0].carries_efa
    assert facts.max_efa_interfaces is None
    assert facts.supports_efa
    assert facts.architecture == "arm64"


@pytest.mark.parametrize("name", NAMES)
def test_every_fact_names_sources_that_exist(name):
    facts = instance_type(name)
    known = sources()
    for field in fields(InstanceType):
        value = getattr(facts, field.name)
        if field.name in WITHOUT_SOURCE or (field.name in OPTIONAL and not value):
            continue
        assert facts.sources[field.name], field.name
        assert set(facts.sources[field.name]) <= set(known), field.name
    assert {key for dispute in facts.disputed for _, key in dispute.others} <= set(known)
    assert {dispute.field for dispute in facts.disputed} <= {field.name for field in fields(InstanceType)}


def test_every_source_has_a_title_a_date_and_is_used():
    used = {key for facts in catalog().values() for keys in facts.sources.values() for key in keys}
    used |= {key for facts in catalog().values() for dispute in facts.disputed for _, key in dispute.others}
    for key, source in sources().items():
        assert source.title
        assert DATE.fullmatch(source.as_of), key
        assert source.as_of <= catalog_as_of()
        assert source.url is None or source.url.startswith("https://")
    assert used | {"neuron-trn3", "nv-gb300", "ec2-model"} >= set(sources())


def test_a_price_has_a_date_and_a_missing_price_has_none():
    priced = [facts for facts in catalog().values() if facts.on_demand_usd_per_hour]
    assert priced
    for facts in catalog().values():
        assert (facts.price_as_of is not None) == bool(facts.on_demand_usd_per_hour)
        assert all(price > 0 for price in facts.on_demand_usd_per_hour.values())


@pytest.mark.parametrize("name", NAMES)
def test_the_numbers_of_a_type_agree_with_each_other(name):
    facts = instance_type(name)
    assert facts.name == name
    assert facts.family == name.partition(".")[0]
    assert facts.vendor in {"nvidia", "aws"}
    assert facts.vcpus == facts.physical_cores * facts.threads_per_core
    assert [card.index for card in facts.network_cards] == list(range(len(facts.network_cards)))
    assert facts.efa_on_card0 == facts.network_cards[0].carries_efa
    assert facts.efa_only_supported == any("efa-only" in card.interface_types for card in facts.network_cards)
    assert bool(facts.efa_generation) == facts.supports_efa == (facts.efa_bandwidth_gbps > 0)
    if facts.max_efa_interfaces is not None:
        assert facts.max_efa_interfaces == len(facts.efa_cards)
        assert facts.max_network_interfaces == sum(card.max_interfaces for card in facts.network_cards)
    assert facts.capacity_block_regions == () or "capacity-block" in facts.purchase_options
    assert all(server.accelerators == server.instances * facts.accelerator_count for server in facts.ultraservers)


@pytest.mark.parametrize("name", NAMES)
def test_documented_layouts_fit_the_cards(name):
    facts = instance_type(name)
    for layout in facts.documented_layouts.values():
        assert layout[0] == (0, 0, "interface")
        assert len({(card, device) for card, device, _ in layout}) == len(layout)
        for card, device, kind in layout:
            assert kind in facts.network_cards[card].interface_types
            assert device < (facts.network_cards[card].max_interfaces or 2)
        efa_cards = [card for card, _, kind in layout if kind != "interface"]
        assert len(set(efa_cards)) == len(efa_cards)


def test_documented_layouts_are_those_that_do_not_follow_from_the_cards():
    documented = {name: set(facts.documented_layouts) for name, facts in catalog().items() if facts.documented_layouts}
    assert documented == {
        "p5.48xlarge": {"max-bandwidth"},
        "p5e.48xlarge": {"max-bandwidth"},
        "p6-b200.48xlarge": {"max-bandwidth"},
        "p6-b300.48xlarge": {"max-bandwidth"},
        "p6e-gb200.36xlarge": {"min-ip"},
    }
    counts = {
        name: (len(layout), sum(kind == "interface" for *_, kind in layout))
        for name in documented
        for layout in catalog()[name].documented_layouts.values()
    }
    assert counts == {
        "p5.48xlarge": (40, 8),
        "p5e.48xlarge": (40, 8),
        "p6-b200.48xlarge": (16, 8),
        "p6-b300.48xlarge": (33, 17),
        "p6e-gb200.36xlarge": (5, 1),
    }


def test_fields_that_the_api_gives_are_marked_and_kept_ones_are_disputed():
    assert api_fields() <= {field.name for field in fields(InstanceType)}
    for name, facts in catalog().items():
        assert kept_fields(name) <= api_fields()
        assert kept_fields(name) <= {dispute.field for dispute in facts.disputed} | {
            "vendor",
            "accelerator_memory_gib_each",
        }
    assert kept_fields("trn2.48xlarge") == {"accelerator_memory_gib_each"}
    assert kept_fields("m5.large") == frozenset()


def test_types_can_be_set_members_and_compared():
    assert len({instance_type("p5.48xlarge"), instance_type("p5.48xlarge"), instance_type("p5e.48xlarge")}) == 2
    assert instance_type("p5.48xlarge").accelerator_memory_gib_total == 640


@given(st.lists(st.integers(0, 60), min_size=1, unique=True).map(sorted))
def test_the_short_form_of_card_indexes_is_read_back(indexes):
    assert card_indexes(",".join(map(str, indexes))) == tuple(indexes)
    assert card_indexes(f"{indexes[0]}-{indexes[0] + 5}") == tuple(range(indexes[0], indexes[0] + 6))


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ("p5.48xlarg", "p5.48xlarge"),
        ("P5.48XLARGE", "p5.48xlarge"),
        (" p5.48xlarge", "p5.48xlarge"),
        ("p5-48xlarge", "p5.48xlarge"),
        ("ml.p5.48xlarge", "p5.48xlarge"),
        ("p7.48xlarge", "p5.48xlarge"),
        ("p6.48xlarge", "p6-b200.48xlarge"),
        ("p6b200.48xlarge", "p6-b200.48xlarge"),
        ("p6e-gb300.36xlarge", "p6e-gb200.36xlarge"),
        ("trn3.48xlarge", "trn2.48xlarge"),
        ("inf1.24xlarge", "inf2.24xlarge"),
        ("g6e.4xlarge", "g6e.48xlarge"),
    ],
)
def test_a_wrong_name_gives_the_meant_one_first(wrong, expected):
    assert nearest_types(wrong)[0] == expected


def test_a_family_gives_its_sizes_and_an_accelerator_its_types():
    assert set(nearest_types("p5")) == {"p5.4xlarge", "p5.48xlarge"}
    assert set(nearest_types("inf2.")) == {"inf2.xlarge", "inf2.8xlarge", "inf2.24xlarge", "inf2.48xlarge"}
    assert set(nearest_types("H200")) == {"p5e.48xlarge", "p5en.48xlarge"}
    assert set(nearest_types("trainium2")) == {"trn2.3xlarge", "trn2.48xlarge", "trn2u.48xlarge"}


@pytest.mark.parametrize("wrong", ["", ".", "m5.large", "c7i.48xlarge", "db.r6g.large", "a question?"])
def test_what_is_not_near_gives_nothing(wrong):
    assert nearest_types(wrong) == ()


LETTERS = st.sampled_from(string.ascii_lowercase + string.digits + "-.")


@st.composite
def slips(draw):
    """A catalogue name with one letter lost, doubled, changed or swapped."""
    name = draw(st.sampled_from(NAMES))
    at = draw(st.integers(0, len(name) - 2))
    kind = draw(st.sampled_from(["lost", "added", "changed", "swapped"]))
    letter = draw(LETTERS)
    wrong = {
        "lost": name[:at] + name[at + 1 :],
        "added": name[:at] + letter + name[at:],
        "changed": name[:at] + letter + name[at + 1 :],
        "swapped": name[:at] + name[at + 1] + name[at] + name[at + 2 :],
    }[kind]
    return name, wrong


@given(slips())
def test_a_slip_of_one_letter_is_found(slip):
    name, wrong = slip
    if wrong in catalog():
        assert instance_type(wrong).name == wrong
        return
    with pytest.raises(UnknownInstanceType) as caught:
        instance_type(wrong)
    assert name in caught.value.nearest or len(caught.value.nearest) == 4
    assert caught.value.nearest == nearest_types(wrong)


@given(st.text(max_size=40))
def test_any_text_is_a_finding_and_never_another_error(name):
    near = nearest_types(name)
    assert len(near) <= 4
    assert len(set(near)) == len(near)
    assert set(near) <= set(catalog())
    if name not in catalog():
        with pytest.raises(FindingsError) as caught:
            instance_type(name, subject="fleets[0].instance_type")
        (found,) = caught.value.findings
        assert found.rule_id == "UC-SPC-010"
        assert found.subject == "fleets[0].instance_type"


def test_the_message_names_path_value_date_nearest_types_and_the_way_to_add_one():
    with pytest.raises(UnknownInstanceType) as caught:
        instance_type("p5en.48xlarg", subject="fleets[0].instance_type")
    text = str(caught.value)
    assert text.startswith("fleets[0].instance_type: 'p5en.48xlarg' is not in the catalogue of 20")
    assert "use p5en.48xlarge, " in text
    assert "instance_type_records" in text
    assert text.endswith("[UC-SPC-010]")


@pytest.mark.parametrize("name", ["trn3.48xlarge", "trn3", "p6e-gb300.36xlarge"])
def test_an_announced_type_gives_its_reason(name):
    with pytest.raises(UnknownInstanceType, match="announced"):
        instance_type(name)


def test_a_catalogue_of_the_caller_is_searched_instead():
    mine = {"p5.48xlarge": instance_type("p5.48xlarge")}
    assert instance_type("p5.48xlarge", catalog=mine).accelerator_count == 8
    with pytest.raises(UnknownInstanceType, match=r"use p5\.48xlarge, or add"):
        instance_type("p5e.48xlarge", catalog=mine)
    with pytest.raises(UnknownInstanceType):
        instance_type("p5.48xlarge", catalog={})


def test_reading_the_catalogue_takes_little_time():
    code = (
        "import dataclasses, enum, json, pathlib, typing, time, ultracluster.findings; start = time.process_time();"
        "import ultracluster.facts.instances as i; i.catalog(); print(time.process_time() - start)"
    )
    best = min(
        float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
        for _ in range(3)
    )
    assert best < 0.03
