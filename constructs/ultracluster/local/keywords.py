"""The keywords of the registry schemas: JSON Schema draft 7 as CloudFormation uses it, and the few that cfn-lint adds.

A keyword is a function over (walker, value, the keyword's own value, its schema, location) that yields (location,
problem) pairs. Keywords apply to values of their own kind only, as JSON Schema says.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ultracluster.local.combinations import COMBINATIONS
from ultracluster.local.faults import AnySchema, Keyword, Problem, Schema, Walker
from ultracluster.local.values import Location, as_number, has_type, same, show, text

__all__ = ["KEYWORDS", "format_pattern", "matches"]

_FORMATS = Path(__file__).with_name("formats.json")


@cache
def _compiled(pattern: str) -> Any:
    # The schemas hold ECMA and Java patterns (\p{L}); `regex`, which cfn-lint brings, reads them. Two of them nothing
    # reads.
    regex = import_module("regex")
    try:
        return regex.compile(pattern)
    except regex.error:
        return None


def matches(pattern: str, value: str) -> bool:
    """Whether a value matches a schema's pattern; a pattern that cannot be read refuses nothing."""
    compiled = _compiled(pattern)
    return compiled is None or compiled.search(value) is not None


def _type(_: Walker, value: object, wanted: str | list[str], __: Schema, where: Location) -> Iterator[Problem]:
    names = [wanted] if isinstance(wanted, str) else wanted
    if not any(has_type(value, name) for name in names):
        article = " or ".join(("an " if name[0] in "aoi" else "a ") + name for name in names)
        yield where, f"{show(value)} is not {article}"


def _properties(walker: Walker, value: object, wanted: Schema, _: Schema, where: Location) -> Iterator[Problem]:
    if isinstance(value, dict):
        for name, schema in wanted.items():
            if name in value:
                yield from walker.problems(value[name], schema, (*where, name))


def _pattern_properties(walker: Walker, value: object, wanted: Schema, _: Schema, where: Location) -> Iterator[Problem]:
    if isinstance(value, dict):
        for pattern, schema in wanted.items():
            for name in (name for name in value if matches(pattern, name)):
                yield from walker.problems(value[name], schema, (*where, name))


def _additional(walker: Walker, value: object, wanted: AnySchema, schema: Schema, where: Location) -> Iterator[Problem]:
    if not isinstance(value, dict) or wanted is True:
        return
    known = schema.get("properties", {})
    extra = [
        name
        for name in value
        if name not in known and not any(matches(pattern, name) for pattern in schema.get("patternProperties", {}))
    ]
    for name in extra:
        if wanted is False:
            close = difflib.get_close_matches(name, list(known), n=1)
            hint = f"did you mean {close[0]}" if close else "known are " + ", ".join(sorted(known))
            yield (*where, name), f"is not a property here; {hint}"
        else:
            yield from walker.problems(value[name], wanted, (*where, name))


def _required(_: Walker, value: object, wanted: Sequence[str], __: Schema, where: Location) -> Iterator[Problem]:
    if isinstance(value, dict):
        for name in (name for name in wanted if name not in value):
            yield (*where, name), "is required"


def _enum(_: Walker, value: object, wanted: Sequence[object], __: Schema, where: Location) -> Iterator[Problem]:
    if not any(same(value, option) for option in wanted):
        close = difflib.get_close_matches(str(value), [str(option) for option in wanted], n=1)
        hint = f"; did you mean '{close[0]}'" if close else ""
        yield where, f"{show(value)} is not one of {', '.join(map(str, wanted))}{hint}"


def _enum_any_case(
    walker: Walker, value: object, wanted: Sequence[object], schema: Schema, where: Location
) -> Iterator[Problem]:
    if not any(str(value).lower() == str(option).lower() for option in wanted):
        yield from _enum(walker, value, wanted, schema, where)


def _const(_: Walker, value: object, wanted: object, __: Schema, where: Location) -> Iterator[Problem]:
    if not same(value, wanted):
        yield where, f"{show(value)} is not {show(wanted)}"


def _pattern(_: Walker, value: object, wanted: str, __: Schema, where: Location) -> Iterator[Problem]:
    spelled = text(value)
    if spelled is not None and not matches(wanted, spelled):
        yield where, f"{show(value)} does not match {wanted}"


@cache
def _formats() -> dict[str, dict[str, str]]:
    formats: dict[str, dict[str, str]] = json.loads(_FORMATS.read_text(encoding="utf-8"))["formats"]
    return formats


def format_pattern(name: object) -> str | None:
    """The pattern behind a `format` keyword, when it has one."""
    known = _formats().get(str(name))
    return known["pattern"] if known else None


def _format(_: Walker, value: object, wanted: str, __: Schema, where: Location) -> Iterator[Problem]:
    known = _formats().get(wanted)
    if known and isinstance(value, str) and not matches(known["pattern"], value):
        yield where, f"{show(value)} is not {known['what']}"


def _length(unit: str, *, least: bool) -> Keyword:
    kinds: Mapping[str, tuple[type, ...]] = {"characters": (str,), "items": (list,), "properties": (dict,)}

    def check(_: Walker, value: object, wanted: int, __: Schema, where: Location) -> Iterator[Problem]:
        measured = text(value) if unit == "characters" else value
        if isinstance(measured, kinds[unit]) and isinstance(measured, Sized):
            size = len(measured)
            if (size < wanted) if least else (size > wanted):
                limit = "at least" if least else "at most"
                yield where, f"{show(value)} has {size} {unit}; {limit} {wanted} are allowed"

    return check


def _bound(holds: Callable[[float, float], bool], limit: str) -> Keyword:
    def check(_: Walker, value: object, wanted: float, __: Schema, where: Location) -> Iterator[Problem]:
        number = as_number(value)
        if number is not None and not holds(number, wanted):
            yield where, f"{show(value)} has to be {limit} {wanted}"

    return check


def _items(walker: Walker, value: object, wanted: Schema, schema: Schema, where: Location) -> Iterator[Problem]:
    if isinstance(value, list):
        start = len(schema.get("prefixItems", ()))
        for position, item in enumerate(value[start:], start):
            yield from walker.problems(item, wanted, (*where, position))


def _prefix_items(
    walker: Walker, value: object, wanted: Sequence[Schema], _: Schema, where: Location
) -> Iterator[Problem]:
    if isinstance(value, list):
        for position, (item, schema) in enumerate(zip(value, wanted, strict=False)):
            yield from walker.problems(item, schema, (*where, position))


def _unique_items(_: Walker, value: object, wanted: object, __: Schema, where: Location) -> Iterator[Problem]:
    if wanted and isinstance(value, list):
        for position, item in enumerate(value):
            if item in value[:position]:
                yield (*where, position), f"{show(item)} is given twice"


def _unique_keys(_: Walker, value: object, wanted: Sequence[str], __: Schema, where: Location) -> Iterator[Problem]:
    if isinstance(value, list):
        seen: list[list[object]] = []
        for position, item in enumerate(value):
            key = [item.get(name) for name in wanted] if isinstance(item, dict) else [item]
            if key in seen:
                yield (*where, position), f"{', '.join(map(show, key))} is given twice"
            seen.append(key)


KEYWORDS: Mapping[str, Keyword] = {
    "type": _type,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "required": _required,
    "enum": _enum,
    "enumCaseInsensitive": _enum_any_case,
    "const": _const,
    "pattern": _pattern,
    "format": _format,
    "minLength": _length("characters", least=True),
    "maxLength": _length("characters", least=False),
    "minItems": _length("items", least=True),
    "maxItems": _length("items", least=False),
    "minProperties": _length("properties", least=True),
    "maxProperties": _length("properties", least=False),
    "minimum": _bound(lambda number, limit: number >= limit, "at least"),
    "maximum": _bound(lambda number, limit: number <= limit, "at most"),
    "exclusiveMinimum": _bound(lambda number, limit: number > limit, "more than"),
    "exclusiveMaximum": _bound(lambda number, limit: number < limit, "less than"),
    "multipleOf": _bound(lambda number, step: number % step == 0, "a multiple of"),
    "items": _items,
    "prefixItems": _prefix_items,
    "uniqueItems": _unique_items,
    "uniqueKeys": _unique_keys,
    **COMBINATIONS,
}
