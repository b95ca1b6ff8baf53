"""Reader of `data/event_names.json`: how events of AWS services are called."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["known_events", "pattern_keys", "watched_events"]

DATA_FILE = Path(__file__).with_name("data") / "event_names.json"


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return document


@cache
def pattern_keys() -> frozenset[str]:
    """What an event has at its top, and so what a pattern can ask for."""
    return frozenset(_document()["pattern_keys"])


def watched_events(source: str) -> tuple[str, ...]:
    """Names in detail-type of a source whose misspelling is worth a finding; none for other sources."""
    return tuple(_document()["sources_of_events"].get(source, {}).get("watched", ()))


def known_events(source: str) -> frozenset[str]:
    """All names in detail-type that are known of a source."""
    row = _document()["sources_of_events"].get(source, {})
    return frozenset([*row.get("watched", ()), *row.get("others", ()), *_document()["any_source"]])
