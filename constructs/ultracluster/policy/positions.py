"""Where each key and entry of a text stands: the second pass, made only when there is something to point at."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ultracluster.policy.states import Path

__all__ = ["Places", "Spot", "json_positions"]

_JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]|[^\s{}\[\],:"]+')


class Spot:
    """The place of a key or an entry, from 1, with the places below it."""

    __slots__ = ("column", "end_column", "inner", "line")

    def __init__(self, line: int, column: int, end_column: int) -> None:
        """A place with nothing below it yet."""
        self.line = line
        self.column = column
        self.end_column = end_column
        self.inner: dict[str | int, Spot] = {}

    def nearest(self, path: Path) -> Spot | None:
        """The place of a value below, or of the nearest around it that is written; None when nothing is."""
        found = self
        for key in path:
            below = found.inner.get(key)
            if below is None:
                break
            found = below
        return found if found is not self else None


class Places:
    """The places that were passed, and the way to what is open."""

    def __init__(self) -> None:
        self.root = Spot(1, 1, 1)
        self._way = [self.root]
        # One entry per open list or object: its next index, or None for an object.
        self.open: list[int | None] = []

    def enter(self, line: int, column: int, end_column: int) -> None:
        """Note the value that begins here as an entry of the list it stands in, if it stands in one."""
        at = self.open[-1] if self.open else None
        if at is not None:
            self._way.append(self._way[-1].inner.setdefault(at, Spot(line, column, end_column)))

    def leave(self) -> None:
        """The value is over."""
        if not self.open:
            return
        self._way.pop()
        at = self.open[-1]
        if at is not None:
            self.open[-1] = at + 1

    def extend(self, line: int, column: int, end_column: int) -> None:
        """A single value on the line of its key is marked with it."""
        key = self._way[-1]
        if key.line == line and key.column < column and key is not self.root:
            key.end_column = end_column

    def key(self, text: str, line: int, column: int, end_column: int) -> None:
        """A key of the open object."""
        found = self._way[-1].inner[text] = Spot(line, column, end_column)
        self._way.append(found)

    def back(self) -> None:
        """What a short tag stands for is over."""
        self._way.pop()


def json_positions(text: str) -> Spot:
    """Places of a JSON text that has been read before."""
    places = Places()
    awaits_key = False
    opened = places.open
    for token, *place in _json_tokens(text):
        head = token[0]
        if head in "{[":
            places.enter(*place)
            opened.append(None if head == "{" else 0)
            awaits_key = head == "{"
            continue
        if awaits_key and head == '"':
            places.key(_unquoted(token), *place)
            awaits_key = False
            continue
        if head in "}]":
            opened.pop()
        else:
            places.enter(*place)
            places.extend(*place)
        places.leave()
        awaits_key = bool(opened) and opened[-1] is None
    return places.root


def _unquoted(token: str) -> str:
    import json

    return str(json.loads(token)) if "\\" in token else token[1:-1]


def _json_tokens(text: str) -> Iterator[tuple[str, int, int, int]]:
    """Brackets and single values with line, column and the column behind them; the rest follows from these."""
    line, line_start, line_end = 1, 0, text.find("\n")
    for found in _JSON_TOKEN.finditer(text):
        start, end = found.span()
        if start > line_end >= 0:
            line += text.count("\n", line_start, start)
            line_start, line_end = text.rindex("\n", 0, start) + 1, text.find("\n", start)
        column = start - line_start + 1
        yield text[start:end], line, column, column + end - start
