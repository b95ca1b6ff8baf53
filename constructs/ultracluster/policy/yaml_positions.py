"""Where each key and entry of a YAML text stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from ultracluster.policy.document import Position
from ultracluster.policy.positions import Places
from ultracluster.policy.states import Path
from ultracluster.policy.yaml_events import yaml_events

__all__ = ["yaml_positions"]


def yaml_positions(text: str) -> Mapping[Path, Position]:
    """Places of a YAML text; short tags count as the objects that they stand for."""
    walk = _YamlWalk()
    for event in yaml_events(text):
        walk.take(event)
    return walk.places.found


class _YamlWalk:
    def __init__(self) -> None:
        self.places = Places()
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

    def _scalar(self, event: Any) -> None:  # noqa: ANN401 - libyaml has no types
        if self.objects and self.objects[-1] and self.awaits_key:
            self.places.key(str(getattr(event, "value", "")), _position(event))
            self.awaits_key = False
            return
        position = _position(event)
        self.places.enter(position)
        self.places.extend(position)
        self._over()

    def _start(self, event: Any, *, is_object: bool) -> None:  # noqa: ANN401 - libyaml has no types
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


def _position(event: Any) -> Position:  # noqa: ANN401 - libyaml has no types
    start, end = event.start_mark, event.end_mark
    width = end.column - start.column if end.line == start.line else 1
    return Position(start.line + 1, start.column + 1, start.column + 1 + max(width, 1))
