"""Event patterns as plain values, whichever way they are written."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = ["MARK", "event_pattern", "texts_of"]

MARK = "\ufffc"
"""Stands for a text, or a part of one, that is not known."""


@remembered
def event_pattern(rule: Resource) -> Mapping[str, object] | None:
    """The pattern of a rule with marks for what is not known; None for a rule on a schedule.

    Raises:
        NotKnown: nothing of it is known.
    """
    pattern = rule.get("EventPattern")
    if not pattern.exists:
        return None
    if not pattern.is_scalar:
        return {key: _plain(value) for key, value in pattern.fields().items()}
    try:
        read = json.loads(pattern.known_text(MARK))
    except ValueError:
        raise NotKnown("an event pattern that is no JSON") from None
    if not isinstance(read, dict):
        raise NotKnown("an event pattern that is no object")
    return read


def _plain(value: Value) -> object:
    if value.is_list:
        return [_plain(entry) for entry in value.items()]
    if value.is_object:
        return {key: _plain(inner) for key, inner in value.fields().items()}
    return value.known_text(MARK) if value.is_scalar else MARK


def texts_of(pattern: Mapping[str, object], key: str) -> list[str] | None:
    """The exact texts that a field takes; None when the pattern does not ask for it, or asks in another way."""
    listed = pattern.get(key)
    entries = listed if isinstance(listed, list) else [listed]
    texts = [entry for entry in entries if isinstance(entry, str)]
    return texts if texts else None
