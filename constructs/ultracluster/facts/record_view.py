"""Typed reading of loose JSON: every value that is missing or of the wrong type becomes a finding with its path."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from ultracluster.findings import Finding, finding

__all__ = ["RecordView"]

# Beyond any size that an API states; keeps arithmetic on a garbled record away from overflow.
_LARGEST = 1e15
_SHOWN_LENGTH = 60


class RecordView:
    """One object of a parsed JSON document, with its path and the list that takes the findings.

    A reader asks for what it needs and always gets a value of the right type: where the document has something else,
    the fault is noted and a neutral value is handed out, so that one pass reports everything. What stands below a
    missing or wrong object is not reported again.

    Args:
        value: the parsed JSON value; None for an object that is absent or already reported.
        path: its path in the user's terms.
        findings: where faults are noted, shared with all views of the document.
        rule_id: the id under which they are noted.
    """

    def __init__(self, value: object, path: str, findings: list[Finding], rule_id: str) -> None:
        self.path = path
        self._findings = findings
        self._rule_id = rule_id
        self._value = value if isinstance(value, Mapping) else None
        if value is not None and self._value is None:
            self.report(f"{_shown(value)} is not an object")

    def report(self, message: str, *, key: str = "") -> None:
        """Note a fault of this object, or of the value under one of its keys."""
        path = f"{self.path}.{key}" if key else self.path
        self._findings.append(finding(self._rule_id, path, message))

    def has(self, key: str) -> bool:
        """Whether there is a value under the key."""
        return self._value is not None and self._value.get(key) is not None

    def _get(self, key: str, *, optional: bool) -> object:
        if self._value is None:
            return None
        value: object = self._value.get(key)
        if value is None and not optional:
            self.report("is missing", key=key)
        return value

    def _wrong(self, key: str, value: object, wanted: str) -> None:
        self.report(f"{_shown(value)} is not {wanted}", key=key)

    def child(self, key: str, *, optional: bool = False) -> RecordView:
        """The object under a key; a silent, empty view when it is missing or is no object."""
        value = self._get(key, optional=optional)
        return RecordView(value, f"{self.path}.{key}", self._findings, self._rule_id)

    def items(self, key: str, *, optional: bool = False) -> list[RecordView]:
        """The objects of the list under a key."""
        value = self._get(key, optional=optional)
        if value is None:
            return []
        if not isinstance(value, list | tuple) or not (value or optional):
            self._wrong(key, value, "a list of objects")
            return []
        for index, entry in enumerate(value):
            if entry is None:
                self._wrong(f"{key}[{index}]", entry, "an object")
        return [
            RecordView(entry, f"{self.path}.{key}[{index}]", self._findings, self._rule_id)
            for index, entry in enumerate(value)
        ]

    def text(self, key: str, *, optional: bool = False) -> str:
        """The printable text under a key; empty when it is missing or is none."""
        value = self._get(key, optional=optional)
        if isinstance(value, str) and _is_text(value):
            return value
        if value is not None:
            self._wrong(key, value, "a text")
        return ""

    def texts(self, key: str, *, optional: bool = False) -> tuple[str, ...]:
        """The texts of the list under a key."""
        value = self._get(key, optional=optional)
        if value is None:
            return ()
        if isinstance(value, list | tuple) and (value or optional) and all(_is_text(entry) for entry in value):
            return tuple(value)
        self._wrong(key, value, "a list of texts")
        return ()

    def flag(self, key: str, *, optional: bool = False) -> bool:
        """The boolean under a key; False when it is missing or is none."""
        value = self._get(key, optional=optional)
        if isinstance(value, bool):
            return value
        if value is not None:
            self._wrong(key, value, "true or false")
        return False

    def number(self, key: str, *, minimum: float = 0, optional: bool = False) -> float:
        """The finite number under a key; the minimum when it is missing, is none, or is smaller."""
        value = self._get(key, optional=optional)
        if value is None:
            return minimum
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._wrong(key, value, "a number")
            return minimum
        if not minimum <= value <= _LARGEST:  # also turns NaN away
            self._wrong(key, value, f"a number from {minimum:g} to {_LARGEST:g}")
            return minimum
        return value

    def integer(self, key: str, *, minimum: int = 0, optional: bool = False) -> int:
        """The whole number under a key; the minimum when it is missing, is none, or is smaller."""
        value = self.number(key, minimum=minimum, optional=optional)
        if math.floor(value) != value:
            self._wrong(key, value, "a whole number")
            return minimum
        return int(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.isprintable()


def _shown(value: object) -> str:
    try:
        text = json.dumps(value, default=str, skipkeys=True)
    except (ValueError, RecursionError):  # a number too long to print, a value that holds itself
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _SHOWN_LENGTH else f"{text[: _SHOWN_LENGTH - 3]}..."
