"""YAML to plain values, from the events of PyYAML's C parser.

An explicit stack instead of recursion, no objects of Python's making, a budget for aliases: whatever a file holds,
it is read or refused in bounded time. Short tags become their long forms, as CloudFormation does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from ultracluster.policy.unreadable import MOST_DEPTH, Unreadable

__all__ = ["MOST_NODES", "DuplicateKey", "read_yaml", "yaml_events"]

MOST_NODES = 200_000
"""Values in a file with its aliases written out; a template of 1 MB has some 60,000."""
_MOST_DIGITS = 40

_PLAIN_TAGS = {"!Ref": "Ref", "!Condition": "Condition"}
_TEXT_TAGS = frozenset({"!Ref", "!Condition", "!GetAtt", "!Sub", "!ImportValue", "!Base64"})
_YAML_TAG = "tag:yaml.org,2002:"
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)$")
_OCTAL = re.compile(r"[-+]?0[0-7_]+$")
_HEXADECIMAL = re.compile(r"[-+]?0x[0-9a-fA-F_]+$")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?$")
_SPELLINGS: tuple[tuple[object, str], ...] = ((True, "true yes on"), (False, "false no off"), (None, "null"))
_WORDS: dict[str, object] = {
    word: value
    for value, words in _SPELLINGS
    for lower in words.split()
    for word in (lower, lower.capitalize(), lower.upper())
}
_WORDS |= {"~": None, "": None}
_NUMBER_START = frozenset("0123456789+-.")


@dataclass(frozen=True, slots=True)
class DuplicateKey:
    """A key that an object has twice.

    Attributes:
        key: the key.
        line: line of the later one, from 1.
        column: column, from 1.
    """

    key: str
    line: int
    column: int


def yaml_events(text: str | bytes) -> Iterator[Any]:
    """The events of a text.

    Raises:
        Unreadable: it is no YAML.
    """
    try:
        next_event = getattr(yaml, "CLoader", yaml.SafeLoader)(text).get_event
        event = next_event()
        while type(event) is not yaml.StreamEndEvent:
            yield event
            event = next_event()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        problem = " ".join(str(error.problem or error.context or "not well formed").split())
        raise Unreadable(
            f"no YAML: {problem}", line=mark.line + 1 if mark else None, column=mark.column + 1 if mark else None
        ) from None
    except (yaml.YAMLError, UnicodeError, ValueError) as error:
        raise Unreadable(f"no YAML: {' '.join(str(error).split())}") from None


@dataclass(slots=True)
class _Frame:
    """One open list or object."""

    value: list[Any] | dict[str, Any]
    tag: str | None
    anchor: str | None
    key: str | None = None
    has_key: bool = False
    size: int = 1
    merges: list[dict[str, Any]] = field(default_factory=list)


def read_yaml(text: str | bytes) -> tuple[object, list[DuplicateKey]]:
    """The one document of a text, and the keys that an object has twice.

    Raises:
        Unreadable: no YAML, more than one document, too deep or too large.
    """
    reader = _Reader()
    for event in yaml_events(text):
        reader.take(event)
    return reader.document, reader.duplicates


class _Reader:
    def __init__(self) -> None:
        self.stack: list[_Frame] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.nodes = 0
        self.documents = 0
        self.document: object = None
        self.duplicates: list[DuplicateKey] = []

    def take(self, event: Any) -> None:  # noqa: ANN401 - events of PyYAML have no types
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._take_scalar(event)
        elif kind is yaml.MappingStartEvent:
            self._open({}, event)
        elif kind is yaml.SequenceStartEvent:
            self._open([], event)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._close(event)
        elif kind is yaml.AliasEvent:
            self._alias(event)
        elif kind is yaml.DocumentStartEvent:
            self.documents += 1
            if self.documents > 1:
                raise Unreadable("more than one YAML document in one file, a template is one", *_mark(event))

    def _take_scalar(self, event: Any) -> None:  # noqa: ANN401 - libyaml has no types
        if self.stack and event.tag is None and event.anchor is None:
            self._take_plain(self.stack[-1], event.value, event)  # nearly all of them, so by a short way
        else:
            self._add(_scalar(event), 1, event, event.anchor)

    def _take_plain(self, frame: _Frame, text: str, event: Any) -> None:  # noqa: ANN401 - libyaml has no types
        frame.size += 1
        if frame.size > MOST_NODES:
            raise Unreadable(f"more than {MOST_NODES} values with its aliases written out", *_mark(event))
        inner = frame.value
        if type(inner) is list:
            inner.append(plain_scalar(text) if event.implicit[0] else text)
        elif frame.has_key:
            frame.has_key = False
            _put(frame, plain_scalar(text) if event.implicit[0] else text)
        else:
            self._take_key(frame, text, event)

    def _open(self, value: list[Any] | dict[str, Any], event: Any) -> None:  # noqa: ANN401 - libyaml has no types
        if len(self.stack) >= MOST_DEPTH:
            raise Unreadable(f"nested deeper than {MOST_DEPTH} levels", *_mark(event))
        self.stack.append(_Frame(value, event.tag, event.anchor))

    def _close(self, event: Any) -> None:  # noqa: ANN401 - libyaml has no types
        frame = self.stack.pop()
        value: object = frame.value
        if isinstance(value, dict):
            for merged in reversed(frame.merges):
                for key, inner in merged.items():
                    value.setdefault(key, inner)
        self._add(_tagged(frame.tag, value), frame.size, event, frame.anchor)

    def _alias(self, event: Any) -> None:  # noqa: ANN401 - libyaml has no types
        if event.anchor not in self.anchors:
            raise Unreadable(f"alias {event.anchor} names nothing before it, or itself", *_mark(event))
        value, size = self.anchors[event.anchor]
        self._add(value, size, event, None)

    def _add(self, value: Any, size: int, event: Any, anchor: str | None) -> None:  # noqa: ANN401 - libyaml has no types
        if anchor is not None:
            self.anchors[anchor] = (value, size)
        if not self.stack:
            self.document = value
            return
        frame = self.stack[-1]
        frame.size += size
        if frame.size > MOST_NODES:
            raise Unreadable(f"more than {MOST_NODES} values with its aliases written out", *_mark(event))
        if type(frame.value) is list:
            frame.value.append(value)
        elif frame.has_key:
            frame.has_key = False
            _put(frame, value)
        else:
            self._take_key(frame, value, event)

    def _take_key(self, frame: _Frame, value: object, event: Any) -> None:  # noqa: ANN401 - libyaml has no types
        if isinstance(value, dict | list):
            raise Unreadable("a list or object as the key of an object", *_mark(event))
        # Keys are texts in CloudFormation, whatever they look like.
        frame.key = event.value if type(event) is yaml.ScalarEvent else str(value)
        frame.has_key = True
        if frame.key in frame.value and frame.key != "<<":
            line, column = _mark(event)
            self.duplicates.append(DuplicateKey(str(frame.key), line, column))


def _put(frame: _Frame, value: Any) -> None:  # noqa: ANN401 - libyaml has no types
    if frame.key == "<<" and isinstance(value, dict | list):
        frame.merges.extend(
            entry for entry in (value if isinstance(value, list) else [value]) if isinstance(entry, dict)
        )
    elif isinstance(frame.value, dict) and frame.key is not None:
        frame.value[frame.key] = value


def _mark(event: Any) -> tuple[int, int]:  # noqa: ANN401 - libyaml has no types
    return event.start_mark.line + 1, event.start_mark.column + 1


def _scalar(event: Any) -> object:  # noqa: ANN401 - libyaml has no types
    tag, text = event.tag, event.value
    if tag is None or tag == "!":
        return plain_scalar(text) if event.implicit[0] else text
    if tag.startswith(_YAML_TAG):
        return text if tag != f"{_YAML_TAG}int" else plain_scalar(text)
    return _tagged(tag, text if tag in _TEXT_TAGS or not event.implicit[1] else plain_scalar(text))


def _tagged(tag: str | None, value: object) -> object:
    """A short tag in its long form."""
    if tag is None or not tag.startswith("!") or tag == "!":
        return value
    if tag == "!GetAtt" and isinstance(value, str):
        return {"Fn::GetAtt": value.split(".", 1)}
    return {_PLAIN_TAGS.get(tag) or f"Fn::{tag[1:]}": value}


def plain_scalar(text: str) -> object:
    """An unquoted scalar by the rules of YAML 1.1, except that dates, times and account numbers stay texts."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START or len(text) > _MOST_DIGITS:
        return text
    if _INTEGER.match(text):
        return int(text.replace("_", ""))
    if _OCTAL.match(text):
        return int(text.replace("_", ""), 8)
    if _HEXADECIMAL.match(text):
        return int(text.replace("_", ""), 16)
    return float(text.replace("_", "")) if _FLOAT.match(text) else text
