"""The source files of the checkout, for tests that judge the code itself."""

from __future__ import annotations

import ast
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SOURCE_ROOTS = ("constructs", "stacks", "apps")
LIBRARY = ROOT / "constructs" / "ultracluster"


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def project() -> dict[str, Any]:
    """What `pyproject.toml` says."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def python_files(*folders: str) -> list[Path]:
    """Python files under folders of the checkout, sorted; without folders, those of the three source roots."""
    return sorted(path for folder in folders or SOURCE_ROOTS for path in (ROOT / folder).rglob("*.py"))


@cache
def tracked_files() -> tuple[Path, ...]:
    """What git knows of the checkout and what it would take in with `git add`."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return tuple(path for name in sorted(set(listed.split("\0")) - {""}) if (path := ROOT / name).is_file())


def place(path: Path, node: ast.AST | None = None) -> str:
    """`folder/file.py:line`, as an editor understands it."""
    line = getattr(node, "lineno", None)
    return f"{path.relative_to(ROOT)}:{line}" if line else str(path.relative_to(ROOT))


def imported_modules(path: Path) -> set[str]:
    """Every module that a file imports anywhere, also inside functions and for type checkers only."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found
