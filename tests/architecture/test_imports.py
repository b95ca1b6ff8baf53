"""Who imports whom: layers, the pure half, the programs for instances, and what is loaded when the command starts."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.sources import LIBRARY, ROOT, imported_modules, place, project, python_files, tree

HEAVY = {"aws_cdk", "boto3", "botocore", "cdk_nag", "cfnlint", "constructs", "jsii", "ministack"}
NODE_PYTHON = (3, 9)
COMMANDS = {
    "help": ["--help"],
    "catalog": ["catalog"],
    "plan": ["plan", "apps/p5_pretrain/cluster.yaml"],
}


def test_the_layers_hold() -> None:
    outcome = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert outcome.returncode == 0, outcome.stdout


def _pure_files() -> list[Path]:
    contract = next(c for c in project()["tool"]["importlinter"]["contracts"] if "pure" in c["name"])
    bases = [LIBRARY.parent.joinpath(*module.split(".")) for module in contract["source_modules"]]
    return [
        path for base in bases for path in (sorted(base.rglob("*.py")) if base.is_dir() else [base.with_suffix(".py")])
    ]


def test_the_pure_half_names_no_cdk_even_for_type_checkers() -> None:
    assert len(_pure_files()) > 5
    wrong = {
        place(path): names
        for path in _pure_files()
        if (names := {module.split(".")[0] for module in imported_modules(path)} & HEAVY)
    }
    assert wrong == {}


def test_programs_for_instances_need_only_the_standard_library_of_their_python() -> None:
    own = {path.stem for path in (LIBRARY / "node").rglob("*")} | {"ultracluster"}
    for path in sorted((LIBRARY / "node").rglob("*.py")):
        ast.parse(path.read_text(encoding="utf-8"), filename=str(path), feature_version=NODE_PYTHON)
        modules = imported_modules(path)
        assert {name.split(".")[0] for name in modules} <= sys.stdlib_module_names | own, place(path)
        assert all(name.startswith("ultracluster.node") for name in modules if name.startswith("ultracluster")), place(
            path
        )


def test_constructs_read_no_environment_variables() -> None:
    """What a template holds depends on arguments alone; hidden inputs make two machines deploy two things.

    The validation plugin sets one, for jsii to note lines of Python; templates do not change by it.
    """
    allowed = {"local", "node", "preflight"}
    found = [
        place(path, node)
        for path in python_files("constructs/ultracluster")
        if path.relative_to(LIBRARY).parts[0] not in allowed and path != LIBRARY / "policy" / "plugin.py"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}
    ]
    assert found == []


def _modules_loaded(*command: str) -> set[str]:
    """Run a command and list every module that it imports."""
    outcome = subprocess.run(
        command,
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPROFILEIMPORTTIME": "1"},
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr[-2000:]
    return set(re.findall(r"^import time:\s+\d+ \|\s+\d+ \|\s+(\S+)$", outcome.stderr, re.MULTILINE))


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_the_command_starts_without_cdk_or_sdk(arguments: list[str]) -> None:
    loaded = _modules_loaded(str(Path(sys.executable).with_name("ultracluster")), *arguments)
    assert "ultracluster_cli.main" in loaded
    assert {name.split(".")[0] for name in loaded} & HEAVY == set()


@pytest.mark.parametrize("module", ["ultracluster", "ultracluster.plan", "ultracluster.facts", "ultracluster.findings"])
def test_the_pure_half_needs_the_standard_library_only(module: str) -> None:
    loaded = {name.split(".")[0] for name in _modules_loaded(sys.executable, "-c", f"import {module}")}
    assert "ultracluster" in loaded
    assert loaded & (HEAVY | {"pydantic", "yaml", "click", "rich"}) == set()
