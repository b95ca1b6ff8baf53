"""Where each key and entry of a YAML text stands."""

from __future__ import annotations

from typing import Any

import yaml

from ultracluster.policy.positions import Places, Spot
from ultracluster.policy.yaml_events import yaml_events

__all__ = ["yaml_positions"]


def yaml_positions(text: str) -> Spot:
    """Places of a YAML text; short tags count as the objects that they stand for."""
    walk = _YamlWalk()
    take = {
        yaml.ScalarEvent: walk.scalar,
        yaml.AliasEvent: walk.scalar,
        yaml.MappingStartEvent: walk.start_object,
        yaml.SequenceStartEvent: walk.start_list,
        yaml.MappingEndEvent: walk.end,
        yaml.SequenceEndEvent: walk.end,
    }
    for event in yaml_events(text):
        handler = take.get(type(event))
        if handler is not None:
            handler(event)
    return walk.places.root


class _YamlWalk:
    def __init__(self) -> None:
        self.places = Places()
        self.tags: list[str | None] = []
        self.awaits_key = False

    def scalar(self, event: Any) -> None:  # noqa: ANN401 - events of PyYAML have no types
        line, column, end_column = _place(event)
        places = self.places
        if self.awaits_key:
            places.key(str(getattr(event, "value", "")), line, column, end_column)
            self.awaits_key = False
            return
        places.enter(line, column, end_column)
        places.extend(line, column, end_column)
        self._over()

    def start_object(self, event: Any) -> None:  # noqa: ANN401 - likewise
        self._start(event, None)
        self.awaits_key = True

    def start_list(self, event: Any) -> None:  # noqa: ANN401 - likewise
        self._start(event, 0)
        self.awaits_key = False

    def _start(self, event: Any, first: int | None) -> None:  # noqa: ANN401 - likewise
        place = _place(event)
        self.places.enter(*place)
        tag = event.tag if event.tag and event.tag.startswith("!") and event.tag != "!" else None
        if tag is not None:
            self.places.key("Ref" if tag == "!Ref" else f"Fn::{tag[1:]}", *place)
        self.tags.append(tag)
        self.places.open.append(first)

    def end(self, _: Any) -> None:  # noqa: ANN401 - likewise
        self.places.open.pop()
        if self.tags.pop() is not None:
            self.places.back()
        self._over()

    def _over(self) -> None:
        self.places.leave()
        still = self.places.open
        self.awaits_key = bool(still) and still[-1] is None


def _place(event: Any) -> tuple[int, int, int]:  # noqa: ANN401 - likewise
    start, end = event.start_mark, event.end_mark
    column = start.column + 1
    width = end.column - column + 1 if end.line == start.line else 1
    return start.line + 1, column, column + max(width, 1)
