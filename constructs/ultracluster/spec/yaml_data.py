"""Turns YAML text into plain data with the line of every value, and refuses what cannot be read safely.

The types are those of YAML 1.2, as in editors: only `true` and `false` are truth values, `12:30` and `NO` are text.

Errors raised: `FindingsError` with UC-SPC-001 for several documents, tags, very deep or endlessly repeated structures.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import Final

import yaml

from ultracluster.findings import Finding, FindingsError, finding
from ultracluster.spec.paths import Place, path_text
from ultracluster.values import dataclass

__all__ = ["Plain", "Reading", "read_yaml", "unreadable"]

MAX_DEPTH: Final = 40
"""The models are 6 deep."""

MAX_VALUES: Final = 100_000
"""After aliases are followed: ten nested aliases of ten entries each would make ten thousand million values."""

Plain = str | int | float | bool | None | list["Plain"] | dict[str, "Plain"]


def unreadable(subject: str, message: str, fix: str) -> FindingsError:
    """The error of a file of which nothing can be used."""
    return FindingsError((finding("UC-SPC-001", subject, message, fix),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a text says.

    Attributes:
        data: the plain data; None for an empty text.
        lines: line of each value, counted from 1, by its place.
        findings: keys that stand twice in one mapping; the first of them counts.
    """

    data: Plain
    lines: dict[Place, int]
    findings: tuple[Finding, ...]


def read_yaml(text: str, *, name: str) -> Reading:
    """Parse one YAML document.

    Args:
        text: YAML.
        name: what to call the file in messages.

    Raises:
        FindingsError: it is not one YAML document that is safe to read.
    """
    builder = _Builder(name=name)
    try:
        _refuse_depth(text, name)
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise _syntax(error, text, name) from None
    data = None if node is None else builder.value(node, ())
    return Reading(data=data, lines=builder.lines, findings=tuple(builder.findings))


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A parser with the scalar types of YAML 1.2; the one in C where PyYAML has it."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own protocol


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", [*"~nN", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", [*"tTfF"]),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", [*"-+0123456789"]),
    ("float", r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", [*"-+.0123456789"]),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", [*"-+."]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), _first)


def _refuse_depth(text: str, name: str) -> None:
    """Judge the nesting on the flat stream of events, before anything recursive touches it."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            line = event.start_mark.line + 1 if event.start_mark else 1
            raise _too_deep(f"{name}:{line}")


def _too_deep(subject: str) -> FindingsError:
    return unreadable(subject, f"is nested more than {MAX_DEPTH} deep", "write fewer levels")


def _syntax(error: yaml.YAMLError, text: str, name: str) -> FindingsError:
    """What PyYAML says, in one line and with a fix for the usual slips."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    subject = name if mark is None else f"{name}:{mark.line + 1}"
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error).splitlines()[0]
    if mark is not None and _indented_with_tab(text, mark.line):
        return unreadable(subject, "is indented with a tab", "indent with spaces")
    for sign, message, fix in _SLIPS:
        if sign in f"{problem} {getattr(error, 'context', '')}":
            return unreadable(subject, message, fix)
    return unreadable(subject, f"is not YAML: {problem}", "mend the line or the one before it")


def _indented_with_tab(text: str, index: int) -> bool:
    lines = text.splitlines()
    line = lines[index] if index < len(lines) else ""
    return "\t" in line[: len(line) - len(line.lstrip())]


_SLIPS = (
    ("maximum nesting depth", f"is nested more than {MAX_DEPTH} deep", "write fewer levels"),
    ("cannot start any token", "has a value that begins with a character of YAML's own", "put the value in quotes"),
    ("but found another document", "holds more than one document", "keep one document per file (no --- in between)"),
    ("expected a single document", "holds more than one document", "keep one document per file (no --- in between)"),
    (
        "undefined alias",
        "uses an alias whose anchor is not in the file",
        "define the anchor (&name) above, or drop the *name",
    ),
    ("control characters", "holds control characters", "remove them; save the file as plain text"),
    ("special characters", "holds control characters", "remove them; save the file as plain text"),
    (
        "mapping values are not allowed",
        "has a colon where no key can be",
        "put the value in quotes, or mend the indentation",
    ),
)


@dataclass(slots=True, kw_only=True)
class _Builder:
    """Turns nodes into plain data; keeps lines and findings on the way."""

    name: str
    lines: dict[Place, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    values: int = 0

    def value(self, node: yaml.Node, place: Place) -> Plain:
        """The plain value of a node."""
        line = node.start_mark.line + 1
        self.lines.setdefault(place, line)
        self.values += 1
        if self.values > MAX_VALUES:
            raise unreadable(f"{self.name}:{line}", f"has more than {MAX_VALUES:,} values", "repeat less with aliases")
        if len(place) > MAX_DEPTH:
            raise _too_deep(f"{self.name}:{line}")
        match node:
            case yaml.MappingNode(tag="tag:yaml.org,2002:map"):
                return self._mapping(node, place)
            case yaml.SequenceNode(tag="tag:yaml.org,2002:seq"):
                return [self.value(item, (*place, index)) for index, item in enumerate(node.value)]
            case yaml.ScalarNode() if node.tag in _SCALARS:
                return _scalar(node)
        tag = node.tag.replace("tag:yaml.org,2002:", "!!")
        raise unreadable(
            f"{self.name}:{line}", f"has the tag {tag}, which means nothing here", "write the value without a tag"
        )

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Plain]:
        data: dict[str, Plain] = {}
        first_lines: dict[str, int] = {}
        merged: dict[str, Plain] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise unreadable(f"{self.name}:{line}", "has a key that is not a single word", "write key: value")
            key = str(key_node.value)
            if key == "<<" and not key_node.style:
                merged = {**self._merged(value_node, place), **merged}
                continue
            here = (*place, key)
            if key in first_lines:
                self._twice(here, line, first_lines[key])
                continue
            first_lines[key] = line
            self.lines[here] = line
            data[key] = self.value(value_node, here)
        return {**merged, **data}

    def _merged(self, node: yaml.Node, place: Place) -> dict[str, Plain]:
        """The keys that `<<` brings in; the first of several mappings wins, as YAML has it."""
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        result: dict[str, Plain] = {}
        for source in sources:
            value = self.value(source, (*place, "<<"))
            if not isinstance(value, dict):
                line = node.start_mark.line + 1
                raise unreadable(
                    f"{self.name}:{line}", "merges something that is not a mapping", "write <<: *name of a mapping"
                )
            result = {**value, **result}
        return result

    def _twice(self, place: Place, line: int, first: int) -> None:
        message = f"stands twice, on lines {first} and {line} ({self.name}:{line})"
        self.findings.append(finding("UC-SPC-002", path_text(place), message, "keep one of them"))


_SCALARS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float", "str"))


def _scalar(node: yaml.ScalarNode) -> Plain:
    text = str(node.value)
    match node.tag.rpartition(":")[2]:
        case "null":
            return None
        case "bool":
            return {"true": True, "false": False}.get(text.lower(), text)
        case "int":
            return _number(text, int)
        case "float":
            return _number(text.lower().replace(".inf", "inf").replace(".nan", "nan"), float)
        case _:
            return text


def _number(text: str, kind: type[int] | type[float]) -> int | float | str:
    """The number, or the text where it has more digits than Python converts or an explicit tag does not fit."""
    try:
        return kind(text)
    except ValueError:
        return text
