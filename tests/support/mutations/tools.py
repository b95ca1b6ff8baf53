"""What a change gets to see, and the shapes that most changes have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

Body = dict[str, Any]
Path = tuple[str | int, ...]


class DoesNotApply(Exception):  # noqa: N818 - an answer, not an error
    """The place has nothing that could be broken in this way."""


@dataclass(frozen=True)
class Place:
    """A resource that is about to be broken.

    Attributes:
        logical_id: its name.
        body: the resource.
        template: its template.
        templates: all templates of the app.
        pick: what chooses among several ways.
    """

    logical_id: str
    body: Body
    template: Body
    templates: tuple[Body, ...]
    pick: Random

    @property
    def properties(self) -> Body:
        """The properties of the resource."""
        made: Body = self.body.setdefault("Properties", {})
        return made

    @property
    def data(self) -> Body:
        """What a launch template holds."""
        return self.at("LaunchTemplateData")

    def at(self, *path: str | int) -> Any:
        """A property; does not apply where it is missing."""
        value: Any = self.properties
        for key in path:
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                raise DoesNotApply from None
        return value

    def add(self, logical_id: str, kind: str, **properties: Any) -> None:
        """Add a resource to the template."""
        self.template["Resources"][logical_id] = {"Type": full_type(kind), "Properties": properties}

    def others(self, kind: str) -> list[tuple[str, Body]]:
        """Names and bodies of the resources of a type in the same template."""
        wanted = full_type(kind)
        return [(name, body) for name, body in self.template["Resources"].items() if body["Type"] == wanted]

    def entries(self, *kinds: str) -> list[Body]:
        """Entries of a launch template's interface list, of some interface types."""
        found = [entry for entry in self.data.get("NetworkInterfaces", ()) if entry.get("InterfaceType") in kinds]
        needs(bool(found))
        return found


def full_type(kind: str) -> str:
    """The type of a resource that is named without `AWS::`."""
    return kind if kind.startswith("Custom::") else f"AWS::{kind}"


Change = Callable[[Place], None]


@dataclass(frozen=True)
class Mutation:
    """One way to break one rule.

    Attributes:
        rule: the id of the rule, without the project's prefix.
        on: the type of the resources that are broken.
        change: breaks one of them.
        also: further rules that the change breaks, each with a cause: a value that is wrong in two ways, or a finding
            on what the broken resource no longer serves.
        at: type of the resource where the finding stands; the broken one when it is empty, `*` for the whole template.
        is_update: whether the fault is one of the update from the clean app to the broken one.
    """

    rule: str
    on: str
    change: Change
    also: frozenset[str] = frozenset()
    at: str = ""
    is_update: bool = False


def needs(holds: object) -> None:
    """Give a place up unless something holds."""
    if not holds:
        raise DoesNotApply


def put(*path: Any) -> Change:
    """Set the property at a path; the last argument is its value, and the objects above it are made."""
    *keys, last, value = path

    def change(place: Place) -> None:
        target: Any = place.properties
        for key in keys:
            target = target.setdefault(key, {}) if isinstance(target, dict) else target[key]
        target[last] = value

    return change


def drop(*path: str | int) -> Change:
    """Remove the property at a path."""
    *keys, last = path

    def change(place: Place) -> None:
        target = place.at(*keys)
        needs(last in target)
        del target[last]

    return change


def attribute(name: str, value: object) -> Change:
    """Set an attribute of the resource, beside its properties; None removes it."""

    def change(place: Place) -> None:
        needs(place.body.get(name) != value)
        place.body.pop(name, None)
        if value is not None:
            place.body[name] = value

    return change


def each(*changes: Change) -> Change:
    """Several changes, one after another."""

    def change(place: Place) -> None:
        for one in changes:
            one(place)

    return change


def one_of(*changes: Change) -> Change:
    """Any one of several changes."""
    return lambda place: place.pick.choice(changes)(place)
