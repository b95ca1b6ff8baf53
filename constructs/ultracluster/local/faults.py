"""What a schema check says of a value, and the types that the checks share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ultracluster.local.values import Location, spell

__all__ = ["AnySchema", "Fault", "Keyword", "Problem", "Schema", "Walker"]

Problem = tuple[Location, str]
Schema = Mapping[str, Any]
AnySchema = Schema | bool
"""A schema, or `true` for anything and `false` for nothing."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One property that the schema refuses.

    Attributes:
        location: property names and list positions from the top of the resource.
        problem: the value found and what would be right.
    """

    location: Location
    problem: str

    def __str__(self) -> str:
        """`LaunchTemplateData.NetworkInterfaces[3].InterfaceType: problem`."""
        return f"{spell(self.location)}: {self.problem}" if self.location else self.problem


class Walker(Protocol):
    """Walks inner values for a keyword."""

    def problems(self, value: object, schema: AnySchema, location: Location) -> Iterator[Problem]:
        """All problems of an inner value."""
        ...


# A keyword looks at (walker, value, the keyword's own value, its schema, where).
Keyword = Callable[[Walker, object, Any, Schema, Location], Iterator[Problem]]
