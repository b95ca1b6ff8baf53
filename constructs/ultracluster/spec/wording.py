"""Small words for values and choices, shared by everything that explains a fault of the cluster file."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["did_you_mean", "either", "shown"]

_NAMES = {type(None): "nothing", dict: "a mapping", list: "a list", tuple: "a list"}

SHOWN_CHARACTERS = 60
"""A longer text is cut in messages: the reader has the line, and a finding stays one line."""


def shown(value: object) -> str:
    """A value of the file as a reader would say it.

    Args:
        value: what the YAML parser made of the text.
    """
    if isinstance(value, str):
        text = value if value.isprintable() else ascii(value)[1:-1]
        return f'"{text}"' if len(text) <= SHOWN_CHARACTERS else f'"{text[:SHOWN_CHARACTERS]}..."'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return "a very large number" if abs(value) >= 10**SHOWN_CHARACTERS else str(value)
    return _NAMES.get(type(value), f"a {type(value).__name__}")


def either(choices: Iterable[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    words = list(choices)
    if len(words) <= 1:
        return "".join(words)
    return f"{', '.join(words[:-1])} or {words[-1]}"


def did_you_mean(word: object, choices: Iterable[str]) -> str | None:
    """The choice that comes nearest to a word, or None when none comes near.

    Case and the two separators `-` and `_` do not count as a difference.
    """
    plain = {choice.lower().replace("-", "_"): choice for choice in choices}
    asked = str(word).lower().replace("-", "_")[:SHOWN_CHARACTERS]
    near = get_close_matches(asked, plain, n=1, cutoff=0.6)
    if near:
        return plain[near[0]]
    parts = [
        choice for text, choice in plain.items() if asked and (asked in text.split("_") or text in asked.split("_"))
    ]
    return parts[0] if len(parts) == 1 else None
