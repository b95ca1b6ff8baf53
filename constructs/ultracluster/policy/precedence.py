"""One finding per fault: where two rules hit the same property only the more specific one reports."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ultracluster.policy.fault import Fault

__all__ = ["without_repeats"]

_DATA_FILE = Path(__file__).parents[1] / "facts" / "data" / "policy_precedence.json"


@cache
def _stronger() -> dict[str, frozenset[str]]:
    """For each rule those that come before it."""
    found: dict[str, set[str]] = {}
    for row in json.loads(_DATA_FILE.read_text(encoding="utf-8"))["pairs"]:
        found.setdefault(row["after"], set()).add(row["before"])
    return {rule_id: frozenset(before) for rule_id, before in found.items()}


def without_repeats(faults: Iterable[Fault]) -> list[Fault]:
    """Faults without those that a more specific rule reports at the same place, and each place once per rule."""
    kept: dict[tuple[object, ...], Fault] = {}
    for fault in faults:
        # A nested template that is used twice has its faults once.
        kept.setdefault((fault.rule_id, fault.template.name, fault.resource_id, fault.path), fault)
    by_resource: dict[tuple[str, str], list[Fault]] = {}
    for fault in kept.values():
        by_resource.setdefault((fault.template.name, fault.resource_id), []).append(fault)
    return [fault for fault in kept.values() if not _is_repeat(fault, by_resource)]


def _is_repeat(fault: Fault, by_resource: dict[tuple[str, str], list[Fault]]) -> bool:
    before = _stronger().get(fault.rule_id)
    if before is None:
        return False
    return any(
        other.rule_id in before and _same_place(other, fault)
        for other in by_resource[fault.template.name, fault.resource_id]
    )


def _same_place(one: Fault, other: Fault) -> bool:
    """Whether one place is the other, or holds it."""
    length = min(len(one.path), len(other.path))
    return one.path[:length] == other.path[:length]
