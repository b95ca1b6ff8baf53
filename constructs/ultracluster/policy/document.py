"""A file, or a text from elsewhere, as a template document: bytes in, plain values out, positions when asked for.

Whatever comes in ends in bounded time: with a value, or with `Unreadable` and one reason.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ultracluster.policy.states import Path
from ultracluster.policy.unreadable import MOST_DEPTH, MOST_RESOURCES, MOST_VALUES, Unreadable

if TYPE_CHECKING:
    from ultracluster.policy.positions import Spot

__all__ = ["MOST_BYTES", "Document", "Position", "is_template", "looks_like_template", "read_document"]

MOST_BYTES = 8_000_000
"""Size of a file that is read at all: CloudFormation takes 1 MB once spaces are removed."""
# Far below the limit of CloudFormation there is nothing to count.
_SMALL = 500_000
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_RESOURCE_TYPE = re.compile(r"[A-Za-z0-9]+::[A-Za-z0-9:@_-]+$")
# What YAML counts as a new line.
_YAML_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a file, from 1."""

    line: int
    column: int
    end_column: int


@dataclass(eq=False)
class Document:
    """One template as it was read.

    Attributes:
        name: the file as it was given; `<stdin>` for standard input.
        text: its text; empty for a template that came as a value.
        value: what it says, short tags in their long form.
        is_json: whether the text is JSON.
        duplicates: keys that an object has twice, with line and column.
    """

    name: str
    text: str
    value: Mapping[str, Any]
    is_json: bool = False
    duplicates: list[tuple[str, int, int]] = field(default_factory=list)

    @cached_property
    def _expansion(self) -> tuple[Mapping[str, Any], Mapping[tuple[str, str], Path], list[str]]:
        if self.text and "Fn::ForEach" not in self.text:
            return self.value, {}, []
        from ultracluster.policy.foreach import expand

        return expand(self.value)

    @property
    def expanded(self) -> Mapping[str, Any]:
        """The template with the loops written out whose collection is known."""
        return self._expansion[0]

    @property
    def unexpanded(self) -> list[str]:
        """Names of loops over something that only the deployment knows."""
        return self._expansion[2]

    def origin(self, section: str, name: str) -> Path:
        """Where an entry of a section is written: itself, or the loop that makes it."""
        return self._expansion[1].get((section, name), (section, name))

    @cached_property
    def upload_bytes(self) -> int:
        """Size of the template as it is, or without the spaces of JSON, whichever is less."""
        size = len(self.text.encode())
        if size and size <= _SMALL:
            return size
        minified = len(json.dumps(self.value, separators=(",", ":"), ensure_ascii=False).encode())
        return min(size, minified) if size else minified

    @cached_property
    def places(self) -> Spot:
        """The place of every key and entry; a second pass over the text, made only when something was found."""
        if self.is_json:
            from ultracluster.policy.positions import json_positions

            return json_positions(self.text)
        from ultracluster.policy.yaml_positions import yaml_positions

        return yaml_positions(self.text)

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n") if self.is_json else _YAML_BREAK.split(self.text)

    def line(self, number: int) -> str:
        """A source line, from 1; empty beyond the text."""
        return self._lines[number - 1].rstrip("\r") if 1 <= number <= len(self._lines) else ""

    def position(self, path: Path) -> Position | None:
        """The place of a value, or of the nearest that is written around it."""
        found = self.places.nearest(path) if self.text else None
        return Position(found.line, found.column, found.end_column) if found is not None else None


def read_document(name: str, data: bytes) -> Document:
    """Read a file.

    Args:
        name: how it is called in findings.
        data: its bytes.

    Raises:
        Unreadable: binary, badly encoded, too large, too deep, no YAML or JSON, no object.
    """
    text = _decoded(data)
    is_json = text.lstrip()[:1] == "{" and (name.endswith((".json", ".template")) or _json_like(text))
    if is_json:
        value, duplicates = _json(text)
    else:
        from ultracluster.policy.yaml_events import read_yaml

        value, found = read_yaml(text)
        duplicates = [(entry.key, entry.line, entry.column) for entry in found]
    if not isinstance(value, dict):
        raise Unreadable("no template: an object with Resources was expected")
    resources = value.get("Resources")
    if isinstance(resources, dict) and len(resources) > MOST_RESOURCES:
        raise Unreadable(
            f"{len(resources)} resources are over the {MOST_RESOURCES} that are read (CloudFormation takes 500)"
        )
    return Document(name, text, value, is_json, duplicates)


def _decoded(data: bytes) -> str:
    if len(data) > MOST_BYTES:
        raise Unreadable(f"{len(data)} bytes are over the {MOST_BYTES} that are read (CloudFormation takes 1 MB)")
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise Unreadable(f"no text in UTF-8: byte {error.start} does not fit") from None
    if "\0" in text:
        raise Unreadable("binary data, no text")
    return text


def _json_like(text: str) -> bool:
    return re.match(r'\s*\{\s*(?:"|\})', text) is not None


def _json(text: str) -> tuple[object, list[tuple[str, int, int]]]:
    twice: list[str] = []

    def pairs(entries: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(entries)
        if len(made) != len(entries):
            counts = Counter(key for key, _ in entries)
            twice.extend(sorted(key for key, count in counts.items() if count > 1))
        return made

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=str)
    except json.JSONDecodeError as error:
        raise Unreadable(f"no JSON: {error.msg[:1].lower()}{error.msg[1:]}", error.lineno, error.colno) from None
    except (RecursionError, ValueError):
        raise Unreadable("no JSON: nested too deep, or a number too long") from None
    _check_size(value)
    # An escape may stand for half a character, which no encoding can write again.
    if _HALF_CHARACTER.search(text) and re.search("[\ud800-\udfff]", json.dumps(value, ensure_ascii=False)):
        raise Unreadable("no text: half of a character stands alone")
    return value, [(key, 0, 0) for key in twice]


def _check_size(value: object) -> None:
    level, values = [value], 0
    for _ in range(MOST_DEPTH):
        values += sum(len(outer) for outer in level if isinstance(outer, dict | list))
        if values > MOST_VALUES:
            raise Unreadable(f"more than {MOST_VALUES} values")
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise Unreadable(f"nested deeper than {MOST_DEPTH} levels")


def looks_like_template(data: bytes) -> bool:
    """A cheap look at the bytes: whether a file found in a folder is worth reading."""
    return b"Resources" in data and (b"::" in data or b"AWSTemplateFormatVersion" in data)


def is_template(value: Mapping[str, Any]) -> bool:
    """Whether a document is a CloudFormation template: resources, and one of them with a type of AWS's form."""
    resources = value.get("Resources")
    if not isinstance(resources, dict):
        return False
    if "AWSTemplateFormatVersion" in value or any(key.startswith("Fn::ForEach::") for key in resources):
        return True
    return any(
        isinstance(body, dict) and isinstance(body.get("Type"), str) and _RESOURCE_TYPE.match(body["Type"])
        for body in resources.values()
    )
