"""Rules over two versions of the same templates."""

from __future__ import annotations

from pathlib import Path

import pytest

from ultracluster.policy import compare as comparison
from ultracluster.policy.compare import compare
from ultracluster.policy.load import load
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import Rule

TEMPLATE = "Resources:\n  %s: {Type: AWS::X::Y, Properties: {Size: %s}}\n"


def changed(old, new):
    """Whatever happens to a resource."""
    if old is None:
        yield Problem(new, "is new")
    elif new is None:
        yield Problem(old, "is gone")
    elif old.get("Size").text("") != new.get("Size").text(""):
        yield Problem(new.get("Size"), f"was {old.get('Size').shown}")


@pytest.fixture(autouse=True)
def only_this_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = Rule(("UC-TPL-012",), ("AWS::X::Y",), changed, is_diff=True)
    monkeypatch.setattr(comparison, "rules", lambda: (rule,))


def faults(tmp_path: Path, old: dict[str, str], new: dict[str, str], **options) -> list[tuple[str, str, str]]:
    for folder, files in (("old", old), ("new", new)):
        (tmp_path / folder).mkdir()
        for name, text in files.items():
            (tmp_path / folder / name).write_text(text)
    found = compare(load([str(tmp_path / "old")]), load([str(tmp_path / "new")]), **options)
    return [(Path(fault.template.name).name, fault.resource_id, fault.message) for fault in found]


def test_a_change_is_found_in_the_new_version(tmp_path: Path) -> None:
    found = faults(tmp_path, {"a.yaml": TEMPLATE % ("A", 1)}, {"a.yaml": TEMPLATE % ("A", 2)})
    assert found == [("a.yaml", "A", "was 1")]


def test_what_stays_is_quiet(tmp_path: Path) -> None:
    assert faults(tmp_path, {"a.yaml": TEMPLATE % ("A", 1)}, {"a.yaml": TEMPLATE % ("A", 1)}) == []


def test_another_name_is_a_resource_that_goes_and_one_that_comes(tmp_path: Path) -> None:
    found = faults(tmp_path, {"a.yaml": TEMPLATE % ("A", 1)}, {"b.yaml": TEMPLATE % ("B", 1)})
    assert sorted(found) == [("a.yaml", "A", "is gone"), ("b.yaml", "B", "is new")]


def test_templates_are_paired_by_their_file(tmp_path: Path) -> None:
    old = {"a.yaml": TEMPLATE % ("A", 1), "b.yaml": TEMPLATE % ("A", 5)}
    new = {"a.yaml": TEMPLATE % ("A", 1), "b.yaml": TEMPLATE % ("A", 6), "c.yaml": TEMPLATE % ("A", 9)}
    assert faults(tmp_path, old, new) == [("b.yaml", "A", "was 5")]


def test_a_value_that_is_not_known_is_no_change(tmp_path: Path) -> None:
    found = faults(tmp_path, {"a.yaml": TEMPLATE % ("A", 1)}, {"a.yaml": TEMPLATE % ("A", "!ImportValue x")})
    assert found == []


def test_a_resource_whose_condition_ends_is_gone(tmp_path: Path) -> None:
    def text(default: str) -> str:
        return (
            f"Parameters: {{P: {{Type: String, AllowedValues: ['on', 'off'], Default: '{default}'}}}}\n"
            "Conditions: {C: !Equals [!Ref P, 'on']}\n"
            "Resources: {A: {Type: AWS::X::Y, Condition: C}}\n"
        )

    assert faults(tmp_path, {"a.yaml": text("on")}, {"a.yaml": text("off")}) == [("a.yaml", "A", "is gone")]


def test_rules_are_chosen_as_elsewhere(tmp_path: Path) -> None:
    old, new = {"a.yaml": TEMPLATE % ("A", 1)}, {"a.yaml": TEMPLATE % ("A", 2)}
    assert faults(tmp_path, old, new, wanted=lambda rule_id: rule_id != "UC-TPL-012") == []
