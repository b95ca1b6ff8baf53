"""`ultracluster rules`: the list, the filters, one rule explained, JSON."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from ultracluster.facts.rules import rule_registry
from ultracluster_cli.main import main


def run(*arguments, columns=120):
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(main, ["rules", *arguments], prog_name="ultracluster")


def ids(*arguments):
    done = run(*arguments, "--format", "json")
    assert done.exit_code == 0, done.output
    return [row["rule_id"] for row in json.loads(done.stdout)]


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_every_rule_is_listed_once_and_fits(columns):
    done = run(columns=columns)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("UC-")] == list(rule_registry())
    assert max(map(len, lines)) <= columns
    assert f"{len(rule_registry())} rules." in done.stdout


def test_filters():
    assert set(ids("--area", "spc")) == {rule for rule in rule_registry() if rule.startswith("UC-SPC-")}
    fatal = ids("--severity", "fatal")
    assert fatal == [rule for rule, facts in rule_registry().items() if facts.severity == "fatal"]
    assert "UC-SPC-012" in ids("--area", "SPC", "--severity", "fatal", "--stage", "file")
    assert ids("UC-SPC-010", "--severity", "warning") == []


@pytest.mark.parametrize("name", ["UC-SPC-010", "uc-spc-010", "[UC-SPC-010]"])
def test_a_rule_is_explained(name):
    done = run(name, columns=80)
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    facts = rule_registry()["UC-SPC-010"]
    for part in (
        facts.rule_id,
        facts.title,
        facts.severity,
        facts.why,
        facts.passes,
        facts.fails,
        facts.fix,
        facts.source,
    ):
        assert part in text
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("rule", sorted(rule_registry()))
def test_every_rule_can_be_explained(rule):
    done = run(rule)
    assert done.exit_code == 0
    assert rule_registry()[rule].title in " ".join(done.stdout.split())


def test_several_rules_are_explained_in_the_order_asked():
    done = run("UC-SPC-012", "UC-SPC-010", "UC-SPC-012")
    assert done.stdout.index("UC-SPC-012") < done.stdout.index("UC-SPC-010")
    assert done.stdout.count("Severity") == 2


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["UC-SPC-01"], "did you mean UC-SPC-01"),
        (["nonsense"], "see `ultracluster rules` for all"),
        (["--area", "xyz"], "'xyz' is not one of "),
        (["--stage", "never"], "'never' is not one of "),
        (["--severity", "mild"], "'mild' is not one of"),
    ],
)
def test_bad_usage_says_what_would_be_right(arguments, answer):
    done = run(*arguments)
    assert done.exit_code == 2
    assert answer in done.stderr


def test_json_has_every_part_of_a_rule():
    (row,) = json.loads(run("UC-SPC-010", "--format", "json").stdout)
    assert row["severity"] == "error"
    assert row["stages"] == ["file", "plan", "construct"]
    assert set(row) == {"rule_id", "title", "severity", "stages", "why", "passes", "fails", "fix", "source"}
