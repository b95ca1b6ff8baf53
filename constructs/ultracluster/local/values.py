"""How CloudFormation reads loosely typed values, and how they are spelled in messages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

__all__ = ["Location", "as_number", "has_type", "same", "show", "spell", "text"]

Location = tuple[str | int, ...]

_INTEGER = re.compile(r"[+-]?\d+")
_SHOWN = 120
"""Characters of a value that a message shows: enough to recognise it, short enough for one event line."""


def spell(location: Location) -> str:
    """`("A", 3, "B")` as `A[3].B`."""
    spelled = ""
    for part in location:
        spelled += f"[{part}]" if isinstance(part, int) else f".{part}" if spelled else part
    return spelled


def show(value: object) -> str:
    """A value as a message shows it: strings quoted, everything else as JSON, long ones cut."""
    shown = f"'{value}'" if isinstance(value, str) else json.dumps(value, default=str)
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."


def text(value: object) -> str | None:
    """The text of a scalar as CloudFormation passes it on; nothing for lists and objects."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def as_number(value: object) -> float | None:
    """The number in a value, also when it is written as text; nothing for booleans."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def same(left: object, right: object) -> bool:
    """Whether two values are equal for CloudFormation: scalars by their text."""
    if left == right:
        return True
    spelled = text(left)
    return spelled is not None and spelled == text(right)


def _is_integer(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return (
        isinstance(value, int)
        or (isinstance(value, float) and value.is_integer())
        or (isinstance(value, str) and _INTEGER.fullmatch(value) is not None)
    )


_TYPES: Mapping[str, Callable[[object], bool]] = {
    "string": lambda value: text(value) is not None,
    "integer": _is_integer,
    "number": lambda value: as_number(value) is not None,
    "boolean": lambda value: isinstance(value, bool) or (isinstance(value, str) and value.lower() in {"true", "false"}),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}


def has_type(value: object, name: str) -> bool:
    """Whether CloudFormation takes a value for a JSON type."""
    check = _TYPES.get(name)
    return check is None or check(value)
