"""The rules that are known, by id; each is one function, bound to the resource types it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

from ultracluster.policy.problem import Problem

__all__ = ["ASSEMBLY", "TEMPLATE", "Rule", "diff_rule", "rule", "rules"]

TEMPLATE = "template"
"""`on` of a rule that reads a whole template: its function gets a `Template`."""
ASSEMBLY = "assembly"
"""`on` of a rule that reads everything that is deployed together: its function gets an `Assembly`."""

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


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, with every module of `policy/rules` loaded."""
    from ultracluster.policy import rules as folder

    for module in sorted(found.name for found in iter_modules(folder.__path__)):
        import_module(f"{folder.__name__}.{module}")
    return tuple(_KNOWN)


@cache
def rules_by_type() -> Mapping[str, tuple[Rule, ...]]:
    """Rules over one template or assembly, by what they are called for."""
    found: dict[str, list[Rule]] = {}
    for known in rules():
        if not known.is_diff:
            for kind in known.on:
                found.setdefault(kind, []).append(known)
    return {kind: tuple(group) for kind, group in found.items()}
