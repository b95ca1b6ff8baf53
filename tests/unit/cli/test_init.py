"""`ultracluster init`: every workload gives a file with a plan, and nothing is ever overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ultracluster.plan.cluster_file import read_and_plan
from ultracluster_cli.main import main

ROOT = Path(__file__).parents[3]
WORKLOADS = list(json.loads((ROOT / "apps/ultracluster_cli/data/workloads.json").read_text()))


def run(*arguments):
    return CliRunner().invoke(main, ["init", *map(str, arguments)], prog_name="ultracluster")


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_workload_gives_a_file_with_a_plan(tmp_path, workload):
    path = tmp_path / "cluster.yaml"
    done = run(path, "--workload", workload)
    assert done.exit_code == 0, done.output
    assert done.stderr == f"wrote {path}; next: ultracluster plan {path}\n"
    planned = read_and_plan(path)
    assert planned.plan is not None
    assert {found.rule_id for found in planned.findings} <= {"UC-CAP-011"}, "only the end of the block is left open"
    assert planned.spec.name == workload


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_files_are_commented_and_have_no_holes(tmp_path, workload):
    path = tmp_path / "cluster.yaml"
    run(path, "--workload", workload)
    lines = path.read_text().splitlines()
    assert sum("# " in line for line in lines) > 10
    assert not [line for line in lines if "$" in line or "NODES" in line or line != line.rstrip()]
    assert "\n\n\n" not in path.read_text()
    assert f"ultracluster plan {path}" in lines[1]


def test_an_existing_file_is_left_alone(tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text("mine\n")
    done = run(path)
    assert done.exit_code == 2
    assert "exists and is left alone" in done.stderr
    assert path.read_text() == "mine\n"


def test_name_region_and_zone_can_be_given(tmp_path):
    path = tmp_path / "cluster.yaml"
    done = run(path, "--workload", "fine-tune", "--name", "demo", "--region", "us-west-2", "--zone", "us-west-2c")
    assert done.exit_code == 0, done.output
    spec = read_and_plan(path).spec
    assert (spec.name, spec.region, spec.network.availability_zones) == ("demo", "us-west-2", ("us-west-2c",))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--name", "A B"),
        ("--region", "nowhere"),
        ("--zone", "use1-az1"),
        ("--region", "us-west-2", "--zone", "us-east-1a"),
    ],
)
def test_what_would_be_wrong_in_the_file_is_not_written(tmp_path, arguments):
    path = tmp_path / "cluster.yaml"
    done = run(path, *arguments)
    assert done.exit_code == 2
    assert "[UC-" in done.stderr
    assert not path.exists()


def test_a_folder_that_does_not_exist(tmp_path):
    done = run(tmp_path / "none" / "cluster.yaml")
    assert done.exit_code == 2
    assert "cannot be written: no such file or directory" in done.stderr


def test_help_names_the_workloads():
    text = run("--help").output
    assert all(workload in text for workload in WORKLOADS)
