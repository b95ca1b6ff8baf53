"""Checks resolved properties against a registry schema and words each fault for a person.

CloudFormation reads loosely typed values: `"5"` and `5` are the same integer, `"true"` and `true` the same boolean.
All faults of a resource are collected, each with the property's path, the value found and what would be right.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ultracluster.local.faults import AnySchema, Fault, Problem, Schema
from ultracluster.local.keywords import KEYWORDS
from ultracluster.local.registry import TypeSchema
from ultracluster.local.values import Location

__all__ = ["accepts", "check_properties", "explain"]


@dataclass(frozen=True, slots=True)
class _Walker:
    """Walks a value and a schema side by side; handed to every keyword."""

    schema: TypeSchema

    def problems(self, value: object, schema: AnySchema, location: Location) -> Iterator[Problem]:
        """All problems of a value under a schema; a value of the wrong type has that problem alone."""
        if isinstance(schema, bool):
            if not schema:
                yield location, "is not allowed beside the other properties given; leave it out"
            return
        schema = self.schema.resolve(schema)
        if "type" in schema and (wrong := list(KEYWORDS["type"](self, value, schema["type"], schema, location))):
            yield from wrong
            return
        for keyword, wanted in schema.items():
            if keyword != "type" and (check := KEYWORDS.get(keyword)):
                yield from check(self, value, wanted, schema, location)


def check_properties(schema: TypeSchema, properties: Mapping[str, Any]) -> tuple[Fault, ...]:
    """Every fault of a resource's properties.

    Args:
        schema: the schema of the resource's type.
        properties: the properties after all references have been resolved.

    Returns:
        the faults, without repetition, in the order of the schema; empty when the service would accept them.
    """
    walker = _Walker(schema)
    found = list(_read_only(schema, properties))
    for document in (schema.document, *schema.constraints):
        known = {fault.location for fault in found}
        found += [
            Fault(where, problem)
            for where, problem in walker.problems(dict(properties), document, ())
            if where not in known
        ]
    return tuple(dict.fromkeys(found))


def _read_only(schema: TypeSchema, properties: Mapping[str, Any]) -> Iterator[Fault]:
    for name in properties:
        if name in schema.document.get("properties", {}) and name not in schema.settable:
            close = difflib.get_close_matches(name, sorted(schema.settable), n=1)
            hint = f"; did you mean {close[0]}" if close else ""
            yield Fault((name,), f"is set by the service and cannot be given; leave it out{hint}")


def explain(type_name: str, faults: tuple[Fault, ...]) -> str:
    """One message for all faults of a resource, in the words a stack event shows."""
    return f"Properties validation failed for {type_name}: " + "; ".join(map(str, faults))


def accepts(schema: TypeSchema, node: Schema, value: object) -> bool:
    """Whether a value fits one property's schema."""
    return next(_Walker(schema).problems(value, node, ()), None) is None
