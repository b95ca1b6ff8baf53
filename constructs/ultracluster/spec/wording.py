"""Small words for values and choices, shared by everything that explains a fault of the cluster file."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["SHOWN_CHARACTERS", "did_you_mean", "either", "shown", "truth_word"]

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


def truth_word(value: object) -> str | None:
    """`true` or `false` when a text is one of the words that other formats use for it."""
    word = str(value).lower()
    if word in {"yes", "on", "true", "y", "1"}:
        return "true"
    return "false" if word in {"no", "off", "false", "n", "0"} else None


def did_you_mean(word: object, choices: Iterable[str]) -> str | None:
    """The choice that comes nearest to a word, or None when none comes near.

    Case and the two separators `-` and `_` do not count as a difference, and a word may be one part of a longer choice
    (`zone` for `availability_zone`).
    """
    plain = {choice.lower().replace("-", "_"): choice for choice in choices}
    asked = str(word).lower().replace("-", "_")[:SHOWN_CHARACTERS]
    distances = {text: _distance(asked, text) for text in plain}
    near = min(distances, key=lambda text: distances[text], default="")
    if near and distances[near] <= max(len(asked), len(near)) // 3:
        return plain[near]
    parts = [choice for text, choice in plain.items() if asked in text.split("_") or text in asked.split("_")]
    return parts[0] if len(parts) == 1 and asked else None


def _distance(one: str, other: str) -> int:
    """Letters to add, drop, replace or swap with their neighbour to get from one word to the other."""
    earlier: list[int] = []
    above = list(range(len(other) + 1))
    for at, letter in enumerate(one):
        row = [at + 1]
        for place, wanted in enumerate(other):
            cost = min(above[place + 1] + 1, row[place] + 1, above[place] + (letter != wanted))
            if at and place and letter == other[place - 1] and one[at - 1] == wanted:
                cost = min(cost, earlier[place - 1] + 1)
            row.append(cost)
        earlier, above = above, row
    return above[-1]
