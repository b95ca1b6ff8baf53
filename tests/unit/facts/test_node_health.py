"""The table of faults: every row names its action on the one scale, and its source."""

from __future__ import annotations

import ast
import json

import pytest

from ultracluster.facts.instances import catalog
from ultracluster.facts.node_environment import highest_collective_floor
from ultracluster.facts.node_health import (
    DATA_FILE,
    actions,
    collective_facts,
    fabric_software,
    fault_actions,
    health_facts,
)
from ultracluster.facts.nvidia_xid import critical_xids, xid_actions, xid_meanings

DOCUMENT = json.loads(DATA_FILE.read_text(encoding="utf-8"))


def named(value):
    """Every source that the document names."""
    if isinstance(value, dict):
        own = [value[key] for key in ("source", "scale_source") if isinstance(value.get(key), str)]
        return own + [each for entry in value.values() for each in named(entry)]
    return [each for entry in value for each in named(entry)] if isinstance(value, list) else []


def test_every_source_is_listed_and_used():
    assert set(named({key: value for key, value in DOCUMENT.items() if key != "sources"})) == set(DOCUMENT["sources"])
    assert all(source["url"].startswith("https://") for source in DOCUMENT["sources"].values())


@pytest.mark.parametrize("row", DOCUMENT["faults"], ids=lambda row: row["fault"])
def test_every_fault_has_an_action_of_the_scale_and_a_reason(row):
    assert row["action"] in actions()
    assert row["action"] != "none"
    assert row["reason"]


def test_faults_are_named_once():
    assert len(fault_actions()) == len(DOCUMENT["faults"])


def test_what_goes_to_nodes_has_no_prose():
    text = json.dumps([health_facts(), collective_facts(), fabric_software()])
    assert not any(f'"{key}"' in text for key in ("reason", "source", "confidence", "evidence"))


def test_a_measure_or_a_repetition_leads_somewhere_on_the_scale():
    facts = health_facts()
    assert set(facts["measures"]["from"].values()) <= set(actions())
    for before, after in facts["recurring"]["after_reboot"].items():
        assert actions().index(after) > actions().index(before)


def test_no_floor_asks_for_more_than_the_fabric_carries():
    assert all(row["of_line"] <= highest_collective_floor() for row in collective_facts()["floors"])


def test_versions_are_asked_of_families_that_exist():
    families = {facts.family for facts in catalog().values()}
    assert {family for row in fabric_software() for family in row["families"]} <= families


def test_xids_use_the_same_scale():
    assert set(xid_actions().values()) <= {"ignore", *actions()}
    assert set(xid_meanings()) == set(xid_actions())
    heavy = {xid for xid, action in xid_actions().items() if action in actions() and actions().index(action) > 2}
    assert set(critical_xids()) == heavy


def test_every_fault_of_the_table_is_looked_for_and_no_other():
    """The names that the checks use, out of their syntax trees."""
    folder = DATA_FILE.parents[2] / "node"
    used = set()
    for path in [*(folder / "health").glob("*.py"), *(folder / "fabric").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                position = {"failed": 1, "_of": 2}.get(name)
                if position is not None and len(node.args) > position and isinstance(node.args[position], ast.Constant):
                    used.add(node.args[position].value)
    # Named by a variable: a check of the same name.
    used |= {"fabric_manager", "locked_memory", "neuron_collective"}
    assert used == set(fault_actions())
