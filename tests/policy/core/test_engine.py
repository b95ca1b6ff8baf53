"""The engine: one finding per fault, softened severities, rules that fail, what is counted."""

from __future__ import annotations

import pytest

from ultracluster import check_template
from ultracluster.findings import Severity
from ultracluster.policy import engine, precedence
from ultracluster.policy.check import Options
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import ASSEMBLY, TEMPLATE, Rule
from ultracluster.policy.states import NotKnown

TEXT = """\
Parameters: {Open: {Type: String}}
Resources:
  A: {Type: AWS::X::Y, Properties: {V: {W: 1, Z: 2}, U: !Ref Open}}
  B: {Type: AWS::X::Y}
"""


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch):
    """Judge with these rules alone: (ids, what they are called for, function)."""

    def install(*given: tuple[str | tuple[str, ...], str, object]):
        by_type: dict[str, tuple[Rule, ...]] = {}
        for ids, kind, check in given:
            names = (ids,) if isinstance(ids, str) else ids
            by_type[kind] = (*by_type.get(kind, ()), Rule(names, (kind,), check))
        monkeypatch.setattr(engine, "rules_by_type", lambda _: by_type)
        return check_template(TEXT)

    return install


def on_a(*path: str, rule_id: str = "", severity: Severity | None = None):
    def check(resource):
        if resource.logical_id == "A":
            yield Problem(resource.get(*path), "is wrong", rule_id=rule_id, severity=severity)

    return check


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(precedence, "_stronger", lambda: {"UC-TPL-008": frozenset({"UC-PCS-010"})})


@pytest.mark.usefixtures("before")
class TestPrecedence:
    @pytest.mark.parametrize(
        ("weaker", "left"),
        [
            (("V", "W"), ["UC-PCS-010"]),
            (("V",), ["UC-PCS-010"]),
            (("V", "W", "X"), ["UC-PCS-010"]),
            (("V", "Z"), ["UC-PCS-010", "UC-TPL-008"]),
            (("U",), ["UC-PCS-010", "UC-TPL-008"]),
        ],
    )
    def test_the_more_specific_rule_alone_reports_a_property(self, use, weaker: tuple, left: list[str]) -> None:
        report = use(("UC-PCS-010", "AWS::X::Y", on_a("V", "W")), ("UC-TPL-008", "AWS::X::Y", on_a(*weaker)))
        assert sorted(found.rule_id for found in report.findings) == left

    def test_the_weaker_rule_reports_where_the_other_is_quiet(self, use) -> None:
        report = use(("UC-TPL-008", "AWS::X::Y", on_a("V", "W")))
        assert [found.rule_id for found in report.findings] == ["UC-TPL-008"]


def test_a_problem_may_be_softer_than_its_rule(use) -> None:
    report = use(("UC-NIC-004", "AWS::X::Y", on_a("V", severity=Severity.ERROR)))
    assert [found.severity for found in report.findings] == [Severity.ERROR]


def test_one_function_may_stand_for_several_rules(use) -> None:
    report = use((("UC-NIC-001", "UC-NIC-002"), "AWS::X::Y", on_a("V", rule_id="UC-NIC-002")))
    assert [found.rule_id for found in report.findings] == ["UC-NIC-002"]
    assert [found.rule_id for found in use((("UC-NIC-001", "UC-NIC-002"), "AWS::X::Y", on_a("V"))).findings] == [
        "UC-NIC-001"
    ]


def test_a_finding_has_its_place_its_value_and_the_registered_fix(use) -> None:
    (found,) = use(("UC-NIC-004", "AWS::X::Y", on_a("V", "W"))).findings
    assert found.subject == "A V.W"
    assert (found.line, found.value, found.resource_type) == (3, "1", "AWS::X::Y")
    assert found.excerpt[found.column - 1 : found.end_column - 1] == "W: 1"
    assert found.fix


def test_rules_see_resources_templates_and_assemblies(use) -> None:
    seen: list[str] = []
    use(
        ("UC-NIC-001", "AWS::X::Y", lambda resource: seen.append(resource.logical_id) or ()),
        ("UC-TPL-001", TEMPLATE, lambda template: seen.append(template.name) or ()),
        ("UC-ALM-001", ASSEMBLY, lambda assembly: seen.append(f"{len(assembly.templates)} template") or ()),
    )
    assert seen == ["A", "B", "template", "1 template"]


def test_a_rule_that_returns_nothing_at_all_is_quiet(use) -> None:
    assert use(("UC-NIC-001", "AWS::X::Y", lambda _: None)).findings == ()


def test_what_is_not_known_is_counted_for_the_rule_and_the_resource(use) -> None:
    def check(resource):
        resource.get("U").text("")
        return ()

    (entry,) = use(("UC-NIC-001", "AWS::X::Y", check)).not_judged
    assert (entry.rule_ids, entry.where, entry.logical_id) == (("UC-NIC-001",), "A", "A")
    assert entry.reason == "parameter Open has no default"


def test_a_rule_at_fault_does_not_hide_what_the_others_find(use) -> None:
    def broken(_):
        raise ZeroDivisionError("oops")

    report = use(("UC-NIC-001", "AWS::X::Y", broken), ("UC-NIC-002", "AWS::X::Y", on_a("V")))
    assert [found.rule_id for found in report.findings] == ["UC-NIC-002"]
    assert report.failures == ("UC-NIC-001: ZeroDivisionError: oops",) * 2
    assert len(report.not_judged) == 2


def test_rules_that_are_not_wanted_are_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_):
        raise NotKnown("called")

    by_type = {"AWS::X::Y": (Rule(("UC-NIC-001",), ("AWS::X::Y",), never),)}
    monkeypatch.setattr(engine, "rules_by_type", lambda _: by_type)
    assert check_template(TEXT, options=Options(ignore=("UC-NIC",))).not_judged == ()


def test_a_template_may_come_as_value_text_or_path(tmp_path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(TEXT)
    value = {"Resources": {"A": {"Type": "AWS::X::Y"}, "B": {"Type": "AWS::X::Y"}}}
    assert [check_template(form).resources for form in (TEXT, file, str(file), value)] == [2, 2, 2, 2]
    assert check_template("a: [\n").not_read[0].reason.startswith("no YAML")
