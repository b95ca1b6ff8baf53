"""The site builds without a warning."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.sources import ROOT


@pytest.mark.slow
def test_the_site_builds(tmp_path: Path) -> None:
    built = subprocess.run(
        [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "--site-dir",
            str(tmp_path),
        ],  # --quiet would hide warnings
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    api = (tmp_path / "reference" / "api" / "index.html").read_text(encoding="utf-8")
    assert 'id="ultracluster.fleet.training_fleet.TrainingFleet"' in api
