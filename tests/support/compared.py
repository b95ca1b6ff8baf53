"""Judging what an update changes, in tests of rules over two versions."""

from __future__ import annotations

from typing import Any

from ultracluster.policy.compare import compare
from ultracluster.policy.document import Document
from ultracluster.policy.load import Loaded, assembly_of


def changes(rule_id: str, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What a rule says of an update, as `place: message`."""
    before, after = (Loaded([assembly_of([Document("template.json", "", body)])]) for body in (old, new))
    faults = compare(before, after, wanted=lambda known: known == rule_id)
    return [f"{fault.property_path}: {fault.message}" for fault in faults if fault.rule_id == rule_id]


def assert_change_finds(rule_id: str, old: dict[str, Any], new: dict[str, Any], *, place: str = "") -> None:
    """The rule finds a fault in the update, with `place` in its place or message."""
    found = changes(rule_id, old, new)
    assert any(place in text for text in found), found


def assert_change_passes(rule_id: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    """The rule finds nothing in the update."""
    assert not changes(rule_id, old, new)
