"""What other tools read: SARIF, JUnit, annotations of GitHub."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from ultracluster.findings import Severity
from ultracluster.policy.engine import NotJudged
from ultracluster.policy.formats.github import render_github
from ultracluster.policy.formats.junit import render_junit
from ultracluster.policy.formats.sarif import render_sarif
from ultracluster.policy.formats.text import render_text
from ultracluster.policy.load import NotRead
from ultracluster.policy.report import Acknowledged, Report, TemplateFinding

SCHEMA = json.loads((Path(__file__).parent / "sarif_subset.schema.json").read_text(encoding="utf-8"))


def finding(**changes) -> TemplateFinding:
    fields = {
        "rule_id": "UC-LUS-001",
        "severity": Severity.FATAL,
        "subject": "App/Data StorageCapacity",
        "message": "3600 is not on the grid, 100 % sure: <a> & b\x01",
        "fix": "use 2400",
        "file": "in fra/t.yaml",
        "line": 9,
        "column": 7,
        "end_column": 28,
        "excerpt": "      StorageCapacity: 3600",
        "logical_id": "Data",
        "resource_type": "AWS::FSx::FileSystem",
        "construct_path": "App/Data",
        "property_path": "StorageCapacity",
        "value": "3600",
        "scenario": ("Size = '3600' (default)",),
    }
    return TemplateFinding(**{**fields, **changes})


WARNING = finding(rule_id="UC-LUS-006", severity=Severity.WARNING, line=0, column=0, end_column=0, excerpt="")
FOREIGN = finding(rule_id="E3034", severity=Severity.ERROR, engine="cfn-lint", file="/abs/t.yaml")
REPORT = Report(
    findings=(finding(), WARNING, FOREIGN),
    acknowledged=(Acknowledged(finding(rule_id="UC-LUS-018", severity=Severity.ERROR), "a test bed", "t.yaml"),),
    known=(finding(rule_id="UC-LUS-002"),),
    not_judged=(NotJudged(("UC-LUS-008",), "App/Data", "Data", "t.yaml", "parameter P has no default"),),
    not_read=(NotRead("broken.yaml", "no YAML: odd", 3, 1),),
    templates=2,
    resources=5,
)


@pytest.fixture(scope="module")
def run() -> dict:
    return json.loads(render_sarif(REPORT))["runs"][0]


def test_sarif_has_the_form_of_version_2_1_0() -> None:
    for report in (REPORT, Report()):
        jsonschema.validate(json.loads(render_sarif(report)), SCHEMA)


def test_sarif_results_point_at_rules_lines_and_resources(run: dict) -> None:
    first = run["results"][0]
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == first["ruleId"] == "UC-LUS-001"
    place = first["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "in%20fra/t.yaml"
    region = place["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"], region["endColumn"]) == (9, 7, 28)
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "App/Data.StorageCapacity"
    assert [result["level"] for result in run["results"][:3]] == ["error", "warning", "error"]


def test_sarif_rules_explain_themselves(run: dict) -> None:
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert "grid" in rules["UC-LUS-001"]["shortDescription"]["text"]
    assert rules["UC-LUS-001"]["help"]["text"]
    assert rules["E3034"]["shortDescription"]["text"] == "cfn-lint E3034"


def test_sarif_keeps_what_is_accepted_known_and_not_judged(run: dict) -> None:
    states = {result["ruleId"]: result.get("baselineState") for result in run["results"]}
    assert states["UC-LUS-001"] == "new"
    assert states["UC-LUS-002"] == "unchanged"
    (accepted,) = (result for result in run["results"] if "suppressions" in result)
    assert accepted["suppressions"] == [{"kind": "inSource", "justification": "a test bed"}]
    invocation = run["invocations"][0]
    assert invocation["executionSuccessful"] is False
    levels = [note["level"] for note in invocation["toolExecutionNotifications"]]
    assert levels == ["error", "note"]


def test_sarif_fingerprints_survive_other_lines_and_words() -> None:
    moved = finding(line=90, message="other words", excerpt="")
    assert moved.fingerprint == finding().fingerprint
    others = (
        finding(rule_id="UC-LUS-002"),
        finding(file="u.yaml"),
        finding(logical_id="X"),
        finding(property_path="Y"),
    )
    assert len({finding().fingerprint, *(each.fingerprint for each in others)}) == 5


def test_junit_fails_at_the_threshold_and_is_well_formed() -> None:
    root = ET.fromstring(render_junit(REPORT))
    cases = {case.get("name").split()[0]: case for case in root.iter("testcase")}
    assert cases["UC-LUS-001"].find("failure").get("type") == "fatal"
    assert cases["UC-LUS-001"].get("line") == "9"
    assert cases["UC-LUS-006"].find("failure") is None
    assert cases["UC-LUS-018"].find("skipped").get("message") == "a test bed"
    assert cases["UC-DOC-001"].find("error") is not None
    counts = [(suite.get("tests"), suite.get("failures")) for suite in root.iter("testsuite")]
    assert ("2", "1") in counts
    strict = ET.fromstring(render_junit(REPORT, Severity.WARNING))
    assert len(list(strict.iter("failure"))) == 3


def test_junit_of_a_clean_check_has_a_passed_case() -> None:
    root = ET.fromstring(render_junit(Report(templates=3)))
    (case,) = root.iter("testcase")
    assert case.get("name") == "3 templates"
    assert list(case) == []


def test_annotations_are_escaped_and_placed() -> None:
    lines = render_github(REPORT).splitlines()
    assert lines[0] == "::error file=broken.yaml,line=3,title=UC-DOC-001::cannot be read: no YAML: odd"
    assert lines[1].startswith("::error file=in fra/t.yaml,line=9,col=7,endColumn=27,title=UC-LUS-001::App/Data")
    assert "100 %25 sure" in lines[1]
    assert lines[2].startswith("::warning file=in fra/t.yaml,title=UC-LUS-006::")
    odd = finding(file="a,b:c.yaml", message="two\nlines")
    assert "file=a%2Cb%3Ac.yaml" in render_github(Report(findings=(odd,)))
    assert "two%0Alines" in render_github(Report(findings=(odd,)))


def test_text_marks_what_is_at_fault_in_colour_on_request() -> None:
    painted = render_text(REPORT, paint=lambda text, role: f"<{role}>{text}</>")
    assert f"<fatal>      {'^' * 21}</>" in painted
    assert "<id>UC-LUS-001</>" in painted
    assert "(cfn-lint)" in painted
    assert "1 not judged; 1 acknowledged; 1 in the baseline; 1 unreadable" in painted


def test_text_lists_the_most_frequent_reasons_first_and_all_on_request() -> None:
    entries = tuple(
        NotJudged((f"UC-LUS-{at:03}",), "Data", "Data", "t.yaml", f"reason {at // 2}") for at in range(1, 20)
    )
    report = Report(not_judged=entries, templates=1, resources=1)
    short, long = render_text(report), render_text(report, verbose=True)
    assert "2 x reason 1" in short
    assert "and 4 more reasons; --verbose lists all" in short
    assert all(f"UC-LUS-{at:03} Data: reason" in long for at in range(1, 20))


def test_a_fault_of_ours_is_told_as_ours() -> None:
    text = render_text(Report(failures=("UC-LUS-001: KeyError: x",), templates=1, resources=1))
    assert "fault of this command: UC-LUS-001: KeyError: x; please report it" in text
