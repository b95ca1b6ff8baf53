"""Where each key and entry of a text stands: the second pass, made only when there is something to point at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from ultracluster.policy.document import Position
from ultracluster.policy.states import Path
from ultracluster.policy.yaml_events import yaml_events

__all__ = ["json_positions", "yaml_positions"]

_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_SHORT_LISTS = "!GetAtt"


class _Places:
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


def yaml_positions(text: str) -> Mapping[Path, Position]:
    """Places of a YAML text; short tags count as the objects that they stand for."""
    walk = _YamlWalk()
    for event in yaml_events(text):
        walk.take(event)
    return walk.places.found


class _YamlWalk:
    def __init__(self) -> None:
        self.places = _Places()
        self.objects: list[bool] = []
        self.tags: list[str | None] = []
        self.awaits_key = False

    def take(self, event: Any) -> None:  # noqa: ANN401 - events of PyYAML have no types
        kind = type(event)
        if kind is yaml.ScalarEvent or kind is yaml.AliasEvent:
            self._scalar(event)
        elif kind is yaml.MappingStartEvent:
            self._start(event, is_object=True)
        elif kind is yaml.SequenceStartEvent:
            self._start(event, is_object=False)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._end()

    def _scalar(self, event: Any) -> None:  # noqa: ANN401
        if self.objects and self.objects[-1] and self.awaits_key:
            self.places.key(str(getattr(event, "value", "")), _position(event))
            self.awaits_key = False
            return
        position = _position(event)
        self.places.enter(position)
        self.places.extend(position)
        self._over()

    def _start(self, event: Any, *, is_object: bool) -> None:  # noqa: ANN401
        self.places.enter(_position(event))
        tag = event.tag if event.tag and event.tag.startswith("!") and event.tag != "!" else None
        if tag is not None:
            self.places.key("Ref" if tag == "!Ref" else f"Fn::{tag[1:]}", _position(event))
        self.tags.append(tag)
        self.objects.append(is_object)
        self.places.open.append(None if is_object else 0)
        self.awaits_key = is_object

    def _end(self) -> None:
        self.objects.pop()
        self.places.open.pop()
        if self.tags.pop() is not None:
            self.places.path.pop()
        self._over()

    def _over(self) -> None:
        self.places.leave()
        self.awaits_key = bool(self.objects and self.objects[-1])


def _position(event: Any) -> Position:  # noqa: ANN401
    start, end = event.start_mark, event.end_mark
    width = end.column - start.column if end.line == start.line else 1
    return Position(start.line + 1, start.column + 1, start.column + 1 + max(width, 1))


def json_positions(text: str) -> Mapping[Path, Position]:
    """Places of a JSON text that has been read before."""
    places = _Places()
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
