"""The rules that are known, by id; each is one function, bound to the resource types it reads.

A check loads only the modules whose types a template holds. `facts/data/policy_index.json` says which those are; it is
written by `python -m ultracluster.policy.rule_index`. A module that the index does not know as it is now is always
loaded, so that a stale index costs time and nothing else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from ultracluster.policy.problem import Problem

__all__ = ["ASSEMBLY", "INDEX_FILE", "TEMPLATE", "Rule", "diff_rule", "rule", "rule_modules", "rules", "rules_by_type"]

TEMPLATE = "template"
"""`on` of a rule that reads a whole template: its function gets a `Template`."""
ASSEMBLY = "assembly"
"""`on` of a rule that reads everything that is deployed together: its function gets an `Assembly`."""

INDEX_FILE = Path(__file__).parents[1] / "facts" / "data" / "policy_index.json"
_FOLDER = Path(__file__).with_name("rules")
_PACKAGE = "ultracluster.policy.rules"

Check = Callable[..., Iterator[Problem]]
_Check = TypeVar("_Check", bound=Check)


@dataclass(frozen=True, slots=True)
class Rule:
    """One function with the ids that it stands for.

    Attributes:
        ids: ids whose findings it yields.
        on: resource types, or `TEMPLATE`, or `ASSEMBLY`.
        check: the function.
        is_diff: whether it compares two templates.
    """

    ids: tuple[str, ...]
    on: tuple[str, ...]
    check: Callable[..., Any]
    is_diff: bool = False


_KNOWN: list[Rule] = []


def rule(*ids: str, on: str | tuple[str, ...]) -> Callable[[_Check], _Check]:
    """Register a rule.

    Args:
        ids: its id; several where one plan function judges several rules, each problem then names its own.
        on: resource types that it is called for, once per resource that exists; or `TEMPLATE`, or `ASSEMBLY`.
    """
    return _register(ids, on, is_diff=False)


def diff_rule(*ids: str, on: str | tuple[str, ...]) -> Callable[[_Check], _Check]:
    """Register a rule over two versions of a resource: `check(old: Resource | None, new: Resource | None)`.

    Args:
        ids: its id.
        on: resource types that it is called for; `None` stands for a resource that only the other version has.
    """
    return _register(ids, on, is_diff=True)


def _register(ids: tuple[str, ...], on: str | tuple[str, ...], *, is_diff: bool) -> Callable[[_Check], _Check]:
    def keep(check: _Check) -> _Check:
        _KNOWN.append(Rule(ids, (on,) if isinstance(on, str) else on, check, is_diff))
        return check

    return keep


def rule_modules() -> list[Path]:
    """The files that hold rules."""
    return sorted(file for file in _FOLDER.glob("*.py") if file.stem != "__init__")


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, with every module of `policy/rules` loaded."""
    for file in rule_modules():
        import_module(f"{_PACKAGE}.{file.stem}")
    return tuple(_KNOWN)


@cache
def _indexed() -> Mapping[str, Mapping[str, Any]]:
    rows: Mapping[str, Mapping[str, Any]] = (
        json.loads(INDEX_FILE.read_text(encoding="utf-8"))["modules"] if INDEX_FILE.is_file() else {}
    )
    return rows


@cache
def _modules() -> Mapping[str, frozenset[str] | None]:
    """What each module is called for, by its name; None when the index does not know it as it is now."""
    found: dict[str, frozenset[str] | None] = {}
    for file in rule_modules():
        row = _indexed().get(file.stem)
        is_known = row is not None and row["size"] == file.stat().st_size
        found[f"{_PACKAGE}.{file.stem}"] = frozenset(row["on"]) if row is not None and is_known else None
    return found


def rules_by_type(kinds: Iterable[str] | None = None) -> Mapping[str, tuple[Rule, ...]]:
    """Rules over one template or assembly, by what they are called for.

    Args:
        kinds: the resource types that are there; rules over templates and assemblies come along. All rules without.
    """
    if kinds is None:
        kinds = {kind for known in rules() for kind in known.on}
    wanted = {TEMPLATE, ASSEMBLY, *kinds}
    for module, read in _modules().items():
        if module not in sys.modules and (read is None or not wanted.isdisjoint(read)):
            import_module(module)
    found: dict[str, list[Rule]] = {}
    for known in _KNOWN:
        for kind in known.on if not known.is_diff else ():
            if kind in wanted:
                found.setdefault(kind, []).append(known)
    return {kind: tuple(group) for kind, group in found.items()}
