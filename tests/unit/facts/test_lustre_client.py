"""Tuning of the Lustre client: every row has a reason, a scope that means something, and a source that exists."""

from __future__ import annotations

import json

import pytest

from ultracluster.facts.lustre_client import DATA_FILE, lustre_client
from ultracluster.plan.node_facts import node_facts

DOCUMENT = json.loads(DATA_FILE.read_text())
ROWS = [
    *DOCUMENT["module_options"],
    *DOCUMENT["parameters"],
    DOCUMENT["skip"],
    *DOCUMENT["layouts"].values(),
    DOCUMENT["efa"],
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.get("parameter", row.get("option", "")))
def test_every_row_has_a_reason_and_sources(row):
    assert len(row["reason"]) > 20
    assert row["source"]
    assert set(row["source"]) <= set(DOCUMENT["sources"])
    assert row["confidence"] in ("high", "medium", "low")


def test_every_source_is_used_and_dated():
    assert {name for row in ROWS for name in row["source"]} == set(DOCUMENT["sources"])
    assert all(source["url"].startswith("https://") and source["as_of"] for source in DOCUMENT["sources"].values())


def test_a_row_applies_unasked_for_large_nodes_or_by_its_group():
    for row in (*lustre_client().module_options, *lustre_client().parameters):
        assert bool(row.group) != bool(row.vcpus_over or row.memory_gib_over), row.name
        assert not row.loads_servers or row.vcpus_over, row.name


def test_all_requests_come_before_the_modifying_ones_and_are_more():
    rows = {row.name: (place, row.value) for place, row in enumerate(lustre_client().parameters)}
    every, modifying = rows["mdc.{fs}-MDT*.max_rpcs_in_flight"], rows["mdc.{fs}-MDT*.max_mod_rpcs_in_flight"]
    assert every[0] < modifying[0]
    assert every[1] > modifying[1]


def test_nodes_get_all_of_it_as_plain_values():
    section = node_facts()["lustre"]
    assert json.loads(json.dumps(section)) == section
    assert len(section["parameters"]) == len(DOCUMENT["parameters"])
    assert section["layouts"]["logs"]["stripe_count"] == 1
    assert lustre_client().groups == ("checkpoint-writers", "large-directories", "sequential-readers")
