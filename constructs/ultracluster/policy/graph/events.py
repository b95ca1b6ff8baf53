"""EventBridge rules, and the events they hear."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Assembly, Resource

__all__ = ["EVENT_RULE", "MARK", "PatternText", "hears", "is_heard", "pattern_texts"]

EVENT_RULE = "AWS::Events::Rule"
MARK = "\ufffc"
"""Stands in `PatternText.text` for a part that is not known."""
_EC2 = "aws.ec2"


@dataclass(frozen=True, slots=True)
class PatternText:
    """One text that a field of an event pattern takes.

    Attributes:
        where: the entry, or the whole pattern when it is written as one text.
        text: the text, with marks.
        is_prefix: whether it is the beginning only.
    """

    where: Value
    text: str
    is_prefix: bool = False

    def takes(self, wanted: str) -> bool:
        """Whether it takes a text.

        Raises:
            NotKnown: a part of it is not known.
        """
        if MARK in self.text:
            raise NotKnown(f"the event pattern {self.where.shown}")
        return wanted.startswith(self.text) if self.is_prefix else wanted == self.text


def is_heard(assembly: Assembly, detail_types: Iterable[str]) -> bool:
    """Whether an EventBridge rule of the assembly hears one of these EC2 events and hands it on.

    Args:
        assembly: where to look.
        detail_types: names of the events.

    Raises:
        NotKnown: none is known to, and one is not known.
    """
    doubt: NotKnown | None = None
    names = tuple(detail_types)
    for rule in assembly.resources(EVENT_RULE):
        try:
            if any(hears(rule, name) for name in names):
                return True
        except NotKnown as found:
            doubt = found
    if doubt is not None:
        raise doubt
    return False


def hears(rule: Resource, detail_type: str) -> bool:
    """Whether a rule hands on an EC2 event of this name.

    Raises:
        NotKnown: its pattern or its targets are not known.
    """
    if not rule.get("EventPattern").exists or rule.get("State").text("ENABLED") == "DISABLED":
        return False
    wanted = {"source": _EC2, "detail-type": detail_type}
    return all(_matches(rule, key, text) for key, text in wanted.items()) and bool(rule.get("Targets").items())


def _matches(rule: Resource, key: str, text: str) -> bool:
    """Whether a field of the pattern takes a text; a field that is not there takes every one."""
    found = pattern_texts(rule, key)
    if found is None:
        return True
    doubt: NotKnown | None = None
    for entry in found:
        try:
            if isinstance(entry, NotKnown):
                doubt = entry
            elif entry.takes(text):
                return True
        except NotKnown as unknown:
            doubt = unknown
    if doubt is not None:
        raise doubt
    return False


def pattern_texts(rule: Resource, key: str) -> list[PatternText | NotKnown] | None:
    """What a field at the top of the event pattern takes, each text or a doubt about it; None when it is not there.

    Raises:
        NotKnown: the pattern, or the list, is not known.
    """
    pattern = rule.get("EventPattern")
    if pattern.is_scalar:
        return _from_text(pattern, key)
    return list(_entries(pattern[key])) if pattern[key].exists else None


def _entries(listed: Value) -> Iterator[PatternText | NotKnown]:
    for entry in listed.items():
        try:
            is_prefix = entry.is_object and entry["prefix"].exists
            text = entry["prefix"] if is_prefix else entry
            yield PatternText(entry, text.known_text(MARK), is_prefix)
        except NotKnown as doubt:
            yield doubt


def _from_text(pattern: Value, key: str) -> list[PatternText | NotKnown] | None:
    try:
        read = json.loads(pattern.text())
    except ValueError:
        raise NotKnown("an event pattern that is no JSON") from None
    listed = read.get(key) if isinstance(read, dict) else None
    if listed is None:
        return None
    return [_from_json(pattern, entry) for entry in (listed if isinstance(listed, list) else [listed])]


def _from_json(pattern: Value, entry: object) -> PatternText | NotKnown:
    prefix = entry.get("prefix") if isinstance(entry, dict) else None
    text = entry if prefix is None else prefix
    if not isinstance(text, str):
        return NotKnown("an event pattern that is more than texts and prefixes")
    return PatternText(pattern, text, prefix is not None)
