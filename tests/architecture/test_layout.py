"""The folders: source roots that shadow nothing, marked as typed, files and functions of a readable size."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from support.sources import LIBRARY, ROOT, SOURCE_ROOTS, place, project, python_files, tree

FILE_LINES = 400
FUNCTION_LINES = 40
TABLE_NUMBERS = 16
TABLE_VALUES = 80
PACKAGES = [ROOT / package for package in project()["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]


@pytest.mark.parametrize("folder", [*SOURCE_ROOTS, "tests/constructs"])
def test_a_source_root_is_no_package(folder: str) -> None:
    assert not (ROOT / folder / "__init__.py").exists(), f"{folder}/__init__.py could shadow the package of that name"


def test_the_constructs_library_is_found_from_the_top_of_the_checkout() -> None:
    found = subprocess.run(
        [sys.executable, "-c", "import importlib.util as u; print(u.find_spec('constructs').origin)"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    assert found.endswith("__init__.py")
    assert not Path(found).is_relative_to(ROOT / "constructs")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_packages_say_that_they_are_typed(package: Path) -> None:
    assert (package / "__init__.py").is_file()
    assert (package / "py.typed").is_file()


def test_every_folder_with_code_is_a_package() -> None:
    folders = {path.parent for package in PACKAGES for path in package.rglob("*.py")}
    assert [place(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_files_are_short() -> None:
    sizes = {
        place(path): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files(*SOURCE_ROOTS, "tests")
    }
    assert {name: lines for name, lines in sizes.items() if lines > FILE_LINES} == {}


def _body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first statement after the docstring; a long signature of keywords is no long function."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_functions_are_short() -> None:
    long = {
        f"{place(path, node)} {node.name}": lines
        for path in python_files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (lines := _body_lines(node)) > FUNCTION_LINES
    }
    assert long == {}


def _is_table(node: ast.AST) -> bool:
    """Many numbers, or very many values: rows that belong into a data file with their source and date."""
    values = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant)]
    return sum(type(value) in {int, float} for value in values) > TABLE_NUMBERS or len(values) > TABLE_VALUES


def _is_export_list(statement: ast.stmt) -> bool:
    names = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return any(isinstance(name, ast.Name) and name.id in {"__all__", "_MODULES"} for name in names)


def test_data_stands_in_data_files() -> None:
    tables = [
        place(path, node)
        for path in python_files()
        for statement in tree(path).body
        if isinstance(statement, ast.Assign | ast.AnnAssign) and not _is_export_list(statement)
        for node in ast.walk(statement)
        if isinstance(node, ast.Dict | ast.List | ast.Set | ast.Tuple) and _is_table(node)
    ]
    assert tables == []


def test_reference_applications_name_their_workload() -> None:
    applications = sorted(path.parent for path in (ROOT / "apps").glob("*/cluster.yaml"))
    assert applications
    for application in applications:
        assert len((application / "app.py").read_text(encoding="utf-8").splitlines()) <= 30, application.name
        assert len((application / "README.md").read_text(encoding="utf-8")) > 200, application.name


def test_every_area_of_the_library_has_its_layer() -> None:
    contract = next(c for c in project()["tool"]["importlinter"]["contracts"] if c.get("containers"))
    named = {name.strip(" ()") for layer in contract["layers"] for name in layer.replace("|", ":").split(":")}
    areas = {path.stem for path in LIBRARY.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert areas - {"__init__"} <= named
    assert contract["exhaustive"]
