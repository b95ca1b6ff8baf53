"""Where each key and entry of a JSON text stands: the second pass, made only when there is something to point at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ultracluster.policy.document import Position
from ultracluster.policy.states import Path

__all__ = ["Places", "json_positions"]

_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


class Places:
    """Paths of what is open, and the places that were passed."""

    def __init__(self) -> None:
        self.found: dict[Path, Position] = {}
        self.path: list[str | int] = []
        # One entry per open list or object: its next index, or None for an object that waits for a key.
        self.open: list[int | None] = []
        self.waits_for_key = False

    def enter(self, position: Position) -> None:
        """Note the value that begins here as an entry of the list it stands in, if it stands in one."""
        if self.open and isinstance(self.open[-1], int):
            self.path.append(self.open[-1])
            self.found.setdefault(tuple(self.path), position)

    def leave(self) -> None:
        """The value is over."""
        if not self.open:
            return
        count = self.open[-1]
        self.path.pop()
        self.open[-1] = count + 1 if isinstance(count, int) else None

    def extend(self, position: Position) -> None:
        """A single value on the line of its key is marked with it."""
        path = tuple(self.path)
        key = self.found.get(path)
        if key is not None and key.line == position.line and key.column < position.column:
            self.found[path] = Position(key.line, key.column, position.end_column)

    def key(self, text: str, position: Position) -> None:
        """A key of the open object."""
        self.path.append(text)
        self.found[tuple(self.path)] = position


def json_positions(text: str) -> Mapping[Path, Position]:
    """Places of a JSON text that has been read before."""
    places = Places()
    awaits_key = False
    for token, position in _json_tokens(text):
        head = token[0]
        if head in "{[":
            places.enter(position)
            places.open.append(None if head == "{" else 0)
            awaits_key = head == "{"
        elif head in "}]":
            places.open.pop()
            places.leave()
            awaits_key = False
        elif head == ",":
            awaits_key = bool(places.open) and places.open[-1] is None
        elif head == ":":
            awaits_key = False
        elif awaits_key:
            places.key(_unquoted(token), position)
        else:
            places.enter(position)
            places.extend(position)
            places.leave()
    return places.found


def _unquoted(token: str) -> str:
    import json

    return str(json.loads(token)) if "\\" in token else token[1:-1]


def _json_tokens(text: str) -> Iterator[tuple[str, Position]]:
    line, line_start, at = 1, 0, 0
    for found in _JSON_TOKEN.finditer(text):
        start = found.start()
        breaks = text.count("\n", at, start)
        if breaks:
            line += breaks
            line_start = text.rindex("\n", at, start) + 1
        at = start
        column = start - line_start + 1
        yield found.group(0), Position(line, column, column + len(found.group(0)))
