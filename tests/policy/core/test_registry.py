"""The rules that are known: registered ids, one owner each, an index that is fresh, rules at their stages."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from ultracluster.facts.rules import rule_registry
from ultracluster.policy.precedence import _stronger
from ultracluster.policy.registry import ASSEMBLY, INDEX_FILE, TEMPLATE, rules, rules_by_type
from ultracluster.policy.rule_index import index_of_rules

KNOWN = [(rule_id, known) for known in rules() for rule_id in known.ids]


def test_every_id_of_a_rule_is_registered_with_its_stage() -> None:
    wrong = {
        rule_id
        for rule_id, known in KNOWN
        if rule_id not in rule_registry()
        or ("diff" if known.is_diff else "template") not in rule_registry()[rule_id].stages
    }
    assert wrong == set()


def test_an_id_is_judged_by_one_function() -> None:
    """Two functions may share an id only where each sees another kind of resource, or another stage."""
    owners = Counter((rule_id, kind, known.is_diff) for rule_id, known in KNOWN for kind in known.on)
    assert [key for key, count in owners.items() if count > 1] == []


def test_every_rule_says_what_it_checks() -> None:
    assert [known.check.__qualname__ for known in rules() if not (known.check.__doc__ or "").strip()] == []


def test_rules_are_called_for_types_templates_or_assemblies() -> None:
    odd = {kind for known in rules() for kind in known.on if "::" not in kind and kind not in (TEMPLATE, ASSEMBLY)}
    assert odd == set()


def test_the_index_of_modules_is_fresh() -> None:
    assert json.loads(INDEX_FILE.read_text()) == index_of_rules(), "run python -m ultracluster.policy.rule_index"


def test_rules_are_found_by_the_types_that_are_there() -> None:
    found = rules_by_type(["AWS::FSx::FileSystem", "AWS::Nothing::Here"])
    ids = {rule_id for known in found["AWS::FSx::FileSystem"] for rule_id in known.ids}
    assert "UC-LUS-001" in ids
    assert "AWS::Nothing::Here" not in found
    assert "AWS::EC2::LaunchTemplate" not in found
    assert TEMPLATE in found


@pytest.mark.parametrize("rule_id", sorted({*_stronger(), *(one for before in _stronger().values() for one in before)}))
def test_precedence_names_ids_of_the_catalogue_form(rule_id: str) -> None:
    assert rule_id.startswith("UC-")
    assert rule_id.count("-") == 2
