"""The whole run of an app as the CLI starts it: what ends it, and what the user is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

HEAD = """\
name: {name}
region: us-east-1
network:
  availability_zones: [us-east-1a]
fleets:
"""
FLEET = "  - {{name: f{place:02}, instance_type: g6e.48xlarge, count: 1, efa: false, placement_group: none}}\n"


@pytest.fixture
def run(tmp_path):
    """Run the app of `cdk.json` on the text of a cluster file, or on none."""

    def started(text: str | None) -> subprocess.CompletedProcess[str]:
        context: dict[str, object] = {"aws:cdk:enable-path-metadata": True}
        if text is not None:
            cluster = tmp_path / "cluster.yaml"
            cluster.write_text(text, encoding="utf-8")
            context["cluster"] = str(cluster)
        environment = {**os.environ, "CDK_OUTDIR": str(tmp_path / "out"), "CDK_CONTEXT_JSON": json.dumps(context)}
        command = [sys.executable, "-m", "ultracluster_stacks"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return started


def fleets(count: int, name: str = "demo") -> str:
    """A cluster file of so many small fleets."""
    return HEAD.format(name=name) + "".join(FLEET.format(place=place) for place in range(count))


def test_a_small_cluster_is_written(run, tmp_path):
    assert run(fleets(1)).returncode == 0
    written = {path.name for path in (tmp_path / "out").glob("*.template.json")}
    assert written == {f"demo-{part}.template.json" for part in ("network", "storage", "observability", "compute")}


def test_over_500_resources_the_run_ends_with_the_large_part_and_without_a_traceback(run):
    ended = run(fleets(72))
    told = [line for line in ended.stderr.splitlines() if "[UC-" in line]
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    (line,) = [line for line in told if line.startswith("demo-compute: ") and "[UC-TPL-002]" in line]
    assert "resources are over the 500 of a template; largest: demo-compute/f" in line


def test_a_faulty_file_ends_the_run_with_its_findings(run):
    ended = run(fleets(1, name="Demo"))
    assert ended.returncode == 1
    assert ended.stderr.startswith('name: "Demo" is not a name')
    assert "Traceback" not in ended.stderr


def test_no_file_at_all_is_bad_usage(run):
    ended = run(None)
    assert ended.returncode == 2
    assert "-c cluster=PATH" in ended.stderr
