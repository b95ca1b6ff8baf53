"""The command itself: help, version, wrong names, findings and the exit status; what it loads and how long it takes."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ultracluster import __version__
from ultracluster.findings import Finding, FindingsError, Severity, finding
from ultracluster_cli.lazy_group import LazyGroup
from ultracluster_cli.main import COMMANDS, main
from ultracluster_cli.output import exit_status

HEAVY = {"aws_cdk", "boto3", "botocore", "constructs", "jsii", "pydantic", "yaml"}
COMMAND = str(Path(sys.executable).with_name("ultracluster"))


def run(*arguments, **options):
    return CliRunner().invoke(main, arguments, prog_name="ultracluster", **options)


def loaded(*arguments):
    """The top-level modules that a run of the command imports."""
    environment = os.environ | {"PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run([COMMAND, *arguments], check=True, capture_output=True, text=True, env=environment)
    return {name.split(".")[0] for name in re.findall(r"\|\s+([\w.]+)$", done.stderr, re.MULTILINE)}


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_the_commands_and_the_exit_statuses(flag):
    done = run(flag)
    assert done.exit_code == 0
    names = re.findall(r"^  (\w+)  +\S", done.output.partition("Commands:")[2], re.MULTILINE)
    assert names == list(COMMANDS) == ["init", "plan", "check", "catalog", "rules", "topology", "local"]
    assert "0 clean, 1 findings, 2 bad usage" in done.output


def test_without_a_command_the_help_is_shown():
    done = run()
    assert done.exit_code == 2
    assert "Commands:" in done.output


def test_version():
    done = run("--version")
    assert (done.exit_code, done.output) == (0, f"ultracluster {__version__}\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_exists_and_its_own_help_agrees_with_the_list(name):
    module, _, attribute = COMMANDS[name][0].partition(":")
    assert module.startswith("ultracluster_cli.")
    assert attribute == name
    done = run(name, "--help")
    assert done.exit_code == 0, done.output
    assert done.output.startswith(f"Usage: ultracluster {name}")


@pytest.mark.parametrize(
    ("wrong", "answer"),
    [
        ("catalgo", "No such command 'catalgo'. Did you mean 'catalog'?"),
        ("plans", "Did you mean 'plan'?"),
        ("deploy", "There are init, plan, check, catalog, rules, topology, local."),
    ],
)
def test_a_wrong_command_is_answered_with_the_near_ones(wrong, answer):
    done = run(wrong)
    assert done.exit_code == 2
    assert answer in done.stderr
    assert done.stdout == ""


def test_a_wrong_option_is_bad_usage():
    done = run("--hlep")
    assert done.exit_code == 2
    assert "--help" in done.stderr


@pytest.fixture
def group(monkeypatch):
    """A group with one command that raises what it is given."""
    outcome = {}

    @click.command()
    def fail():
        raise outcome["error"]

    class Module:
        pass

    module = Module()
    module.fail = fail
    monkeypatch.setitem(sys.modules, "fake_commands", module)
    lazy = LazyGroup("group", lazy={"fail": ("fake_commands:fail", "Fail.")})

    def invoke(error):
        outcome["error"] = error
        return CliRunner().invoke(lazy, ["fail"])

    return invoke


ERROR = finding("UC-SPC-010", "fleets[0].instance_type", "'p9' is not in\nthe catalogue", "use p5")
WARNING = Finding(rule_id="UC-X-001", severity=Severity.WARNING, subject="a", message="b", fix="")
UNREADABLE = finding("UC-SPC-001", "cluster.yaml", "is not YAML", "mend it")


def test_findings_are_lines_on_stderr_and_status_1(group):
    done = group(FindingsError([ERROR, WARNING]))
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "error: fleets[0].instance_type: 'p9' is not in the catalogue; use p5 [UC-SPC-010]",
        "warning: a: b [UC-X-001]",
    ]


def test_a_file_that_cannot_be_read_is_status_2(group):
    done = group(FindingsError([ERROR, UNREADABLE]))
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) == 2


def test_another_error_is_not_swallowed(group):
    done = group(ValueError("a fault of the program"))
    assert isinstance(done.exception, ValueError)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("findings", "status"),
    [((), 0), ((WARNING,), 0), ((WARNING, ERROR), 1), ((UNREADABLE,), 2), ((ERROR, UNREADABLE), 2)],
)
def test_the_exit_status_of_findings(findings, status):
    assert exit_status(findings) == status


def test_help_and_version_load_neither_tables_nor_facts():
    for flag in ("--help", "--version"):
        assert loaded(flag) & (HEAVY | {"rich", "json", "dataclasses"}) == set()


@pytest.mark.parametrize(
    "arguments",
    [("catalog",), ("catalog", "p5.48xlarge"), ("catalog", "--format", "json"), ("rules",), ("rules", "UC-SPC-010")],
)
def test_catalog_and_rules_load_no_cdk_sdk_or_models(arguments):
    assert loaded(*arguments) & HEAVY == set()


def test_json_needs_no_table_printer():
    assert "rich" not in loaded("catalog", "--format", "json") | loaded("rules", "--format", "json")


@pytest.mark.parametrize(("arguments", "seconds"), [(("--help",), 0.3), (("catalog",), 0.6)])
def test_the_command_starts_fast(arguments, seconds):
    def once():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([COMMAND, *arguments], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(once() for _ in range(3)) < seconds


def test_a_reader_that_stops_early_is_no_error_of_the_command():
    done = subprocess.run(
        ["/bin/sh", "-c", f"'{COMMAND}' catalog --format json | head -n 1"], check=True, capture_output=True, text=True
    )
    assert done.stdout == "{\n"
    assert done.stderr == ""
