"""C45: 460800 GiB is valid; the plan takes it and the pinned linter agrees, while it still sees an unknown property."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.templates import resources
from ultracluster.plan.lustre import LustreRequest, Persistent2, check_lustre

LARGE = Persistent2(capacity_gib=460800, throughput_mbps_per_tib=125)


def lint(template, folder: Path) -> str:
    file = folder / "template.json"
    file.write_text(json.dumps(template), encoding="utf-8")
    linter = Path(sys.executable).with_name("cfn-lint")
    return subprocess.run([linter, "--format", "parseable", file], capture_output=True, text=True, check=False).stdout


def test_the_plan_takes_it() -> None:
    assert check_lustre(LustreRequest(name="fsx", deployment=LARGE), subject="x") == ()


@pytest.mark.slow
def test_the_linter_agrees_and_still_reports_what_does_not_exist(lustre, stack, synth, tmp_path) -> None:
    lustre(LARGE)
    template = synth(stack)
    assert lint(template, tmp_path) == ""
    (body,) = resources(template, "AWS::FSx::FileSystem").values()
    body["Properties"]["LustreConfiguration"]["ReplicationFactor"] = 3
    assert "ReplicationFactor" in lint(template, tmp_path)
