"""Makes an example text for a regular expression, for identifiers whose form only their pattern tells."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

__all__ = ["example"]

_CLASSES = (
    (r"\p{L}", "A-Za-z"),
    (r"\p{N}", "0-9"),
    (r"\p{Z}", "_"),
    (r"\p{S}", "+"),
    (r"\p{M}", "a"),
    (r"\P{C}", "a-z"),
    (r"\p{Graph}", "a-z"),
    (r"\p{Alnum}", "a-z0-9"),
    (r"\p{ASCII}", "a-z"),
)
_PREFERRED = string.ascii_lowercase + string.digits
_PRINTABLE = _PREFERRED + string.ascii_uppercase + "-_./:+=@,"
_SPREAD = 16
"""Repetitions where a pattern leaves the number open: long enough to be unique, short enough to read."""
_CATEGORY = {"CATEGORY_DIGIT": string.digits, "CATEGORY_WORD": _PREFERRED, "CATEGORY_SPACE": " "}


def example(pattern: str, rng: random.Random) -> str | None:
    """A text that follows a pattern, or nothing when the pattern cannot be read by Python's own engine.

    Look-arounds are ignored, so the caller checks the result against the pattern.

    Args:
        pattern: an ECMA or Java regular expression of a registry schema.
        rng: the source of choices; a seeded one makes the result repeatable.
    """
    for spelled, plain in _CLASSES:
        pattern = pattern.replace(f"[^{spelled}", "[a-z").replace(f"[{spelled}", f"[{plain}").replace(spelled, plain)
    try:
        tree = import_module("re._parser").parse(pattern)
    except (re.error, OverflowError):
        return None
    return "".join(_token(str(op), argument, rng) for op, argument in tree)


def _sequence(tree: Sequence[tuple[Any, Any]], rng: random.Random) -> str:
    return "".join(_token(str(op), argument, rng) for op, argument in tree)


def _repeat(argument: Any, rng: random.Random) -> str:
    least, most, inner = int(argument[0]), int(argument[1]), argument[2]
    spread = _SPREAD if least == 0 or int(most) - least > _SPREAD else int(most) - least
    count = least if least >= _SPREAD else min(int(most), max(least, min(spread, int(most))))
    return "".join(_sequence(inner, rng) for _ in range(count))


def _members(argument: Sequence[tuple[Any, Any]]) -> tuple[set[str], bool]:
    allowed: set[str] = set()
    negated = False
    for op, value in argument:
        match str(op):
            case "NEGATE":
                negated = True
            case "LITERAL":
                allowed.add(chr(value))
            case "RANGE":
                allowed.update(map(chr, range(value[0], min(value[1], 0x17F) + 1)))
            case "CATEGORY":
                allowed.update(_CATEGORY.get(str(value), ""))
    return allowed, negated


def _choose(argument: Sequence[tuple[Any, Any]], rng: random.Random) -> str:
    allowed, negated = _members(argument)
    pool = [char for char in _PRINTABLE if (char in allowed) is not negated]
    liked = [char for char in pool if char in _PREFERRED]
    return rng.choice(liked or pool or sorted(allowed) or ["a"])


_TOKENS: dict[str, Callable[[Any, random.Random], str]] = {
    "LITERAL": lambda code, _: chr(code),
    "NOT_LITERAL": lambda code, rng: rng.choice([char for char in _PREFERRED if ord(char) != code]),
    "ANY": lambda _, rng: rng.choice(_PREFERRED),
    "IN": _choose,
    "CATEGORY": lambda name, rng: rng.choice(_CATEGORY.get(str(name), _PREFERRED)),
    "BRANCH": lambda argument, rng: _sequence(next((branch for branch in argument[1] if len(branch)), ()), rng),
    "SUBPATTERN": lambda argument, rng: _sequence(argument[3], rng),
    "MAX_REPEAT": _repeat,
    "MIN_REPEAT": _repeat,
    "POSSESSIVE_REPEAT": _repeat,
    "ATOMIC_GROUP": _sequence,
}


def _token(op: str, argument: Any, rng: random.Random) -> str:
    handler = _TOKENS.get(op)
    return handler(argument, rng) if handler else ""
