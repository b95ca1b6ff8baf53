"""The corpus of bad cluster files: each gives exactly the findings of the table, and never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ultracluster.findings import FindingsError
from ultracluster.plan.cluster_file import plan_file, read_and_plan

CORPUS = Path(__file__).parents[2] / "corpus" / "bad_specs"
EXPECTED = json.loads((CORPUS / "expected.json").read_text(encoding="utf-8"))


def findings_of(path):
    try:
        return read_and_plan(path).findings
    except FindingsError as error:
        return error.findings


def test_every_file_of_the_corpus_is_in_the_table():
    assert {path.name for path in CORPUS.glob("*.yaml")} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_bad_file_gives_the_findings_of_the_table(name):
    found = findings_of(CORPUS / name)
    told = [each.rule_id if each.rule_id == "UC-SPC-001" else f"{each.rule_id} {each.subject}" for each in found]
    assert sorted(told) == sorted(EXPECTED[name])


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_finding_can_be_acted_on(name):
    path = CORPUS / name
    for found in findings_of(path):
        text = str(found)
        assert found.message
        assert found.fix, text
        assert str(path) in text, "the file is named"
        assert "\n" not in text
        assert len(text) < 700
        assert not found.message.endswith("."), text


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_file_with_errors_has_no_plan(name):
    stops = any(found.severity.stops for found in findings_of(CORPUS / name))
    if stops:
        with pytest.raises(FindingsError):
            plan_file(CORPUS / name)
    else:
        assert plan_file(CORPUS / name)[1].warnings
