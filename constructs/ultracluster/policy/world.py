"""One consistent reading of an assembly: what has been decided about its conditions and parameters so far.

A rule reads the template as if everything were decided. Each time the reading meets something open (a condition, a
parameter with several allowed values) the world takes one option and remembers the others; `explore` then has the rule
read again with other decisions. Only what a rule touches is ever enumerated.

One world serves all readings of an assembly, one after another: what is worked out without touching a decision holds
for every reading and is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from ultracluster.policy.states import NotKnown

if TYPE_CHECKING:
    from ultracluster.policy.model import AssemblyModel, ResourceModel
    from ultracluster.policy.value import Value
    from ultracluster.policy.view import Resource

__all__ = ["Choice", "ChoiceKind", "World", "remembered"]

# Nothing that CloudFormation accepts refers to itself; a reading this deep goes round in a circle.
_MOST_DEPTH = 100
# Nor does one value need so many intrinsics: texts that name each other twice over would double at every level.
_MOST_STEPS = 5_000

_T = TypeVar("_T")


class ChoiceKind(Enum):
    """How the options of a choice are explored."""

    ALLOWED_VALUE = "allowed value"
    """A parameter with AllowedValues: one at a time, the others at their default."""
    EITHER_WAY = "either way"
    """Anything else: every combination."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision of a world.

    Attributes:
        key: what was decided.
        options: all options, the default one first.
        taken: index of the one that was taken.
        kind: how the others are explored.
        told: how the decision reads in a finding.
        has_default: whether the first option is what the author of the template set as default.
    """

    key: Hashable
    options: tuple[object, ...]
    taken: int
    kind: ChoiceKind
    told: str
    has_default: bool = True

    @property
    def at_default(self) -> bool:
        """Whether the default was taken."""
        return self.taken == 0 and self.has_default


@dataclass(frozen=True, slots=True)
class _Kept:
    """A result, or the doubt that it ended in, with the doubts noted on the way."""

    value: Any
    doubts: tuple[str, ...]

    def give(self, world: World) -> Any:  # noqa: ANN401 - whatever was kept
        world.doubts.extend(self.doubts)
        if isinstance(self.value, NotKnown):
            raise self.value
        return self.value


class World:
    """What has been decided in this reading, and what could not be known.

    Attributes:
        assembly: what is read.
        reading: number of the reading.
        trace: decisions in the order in which they were needed.
        doubts: reasons for which parts were not judged.
        facts: what is noted for this reading.
        touches: how often a decision was asked for, made or remembered.
        defaults_read: how often the default of a parameter stood for its value.
        defaults_stand: whether the default of a parameter without AllowedValues stands for its value at all.
        sections: what was read of resources, kept for all readings: a value knows itself how long it holds.
    """

    __slots__ = (
        "_depth",
        "_forced",
        "_kept",
        "_steps",
        "assembly",
        "defaults_read",
        "defaults_stand",
        "doubts",
        "facts",
        "reading",
        "sections",
        "touches",
        "trace",
    )

    def __init__(self, assembly: AssemblyModel) -> None:
        """Begin a first reading with everything at its default."""
        self.assembly = assembly
        self.reading = 0
        self.sections: dict[tuple[ResourceModel, str], Value] = {}
        self.touches = 0
        self._kept: dict[Hashable, _Kept] = {}
        self.restart({})

    def restart(self, forced: Mapping[Hashable, int], *, defaults_stand: bool = True) -> None:
        """Begin another reading.

        Args:
            forced: decisions that are given, as indexes of options.
            defaults_stand: whether the default of a parameter without AllowedValues stands for its value.
        """
        self.defaults_stand = defaults_stand
        self.reading += 1
        self.trace: dict[Hashable, Choice] = {}
        self.doubts: list[str] = []
        self.facts: dict[Hashable, Any] = {}
        self.defaults_read = 0
        self._forced = forced
        self._depth = 0
        self._steps = 0

    def choose(
        self,
        key: Hashable,
        options: tuple[_T, ...],
        *,
        told: Callable[[_T], str],
        kind: ChoiceKind = ChoiceKind.EITHER_WAY,
        has_default: bool = True,
    ) -> _T:
        """The option of this reading; the first one unless another is given."""
        self.touches += 1
        made = self.trace.get(key)
        if made is not None:
            return options[made.taken]
        taken = min(self._forced.get(key, 0), len(options) - 1)
        self.trace[key] = Choice(key, options, taken, kind, told(options[taken]), has_default)
        return options[taken]

    def remember(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """A result that is worked out once: for all readings when no decision was touched, else for this one.

        Raises:
            NotKnown: `make` ended so.
        """
        kept = self._kept.get(key)
        if kept is None:
            kept = self.facts.get(key)
            self.touches += kept is not None
        if kept is not None:
            found: _T = kept.give(self)
            return found
        touches, doubts = self.touches, len(self.doubts)
        try:
            value: Any = make()
        except NotKnown as doubt:
            value = doubt
        kept = _Kept(value, tuple(self.doubts[doubts:]))
        (self._kept if self.touches == touches else self.facts)[key] = kept
        if isinstance(value, NotKnown):
            raise value
        made: _T = value
        return made

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """One level further into references; circles end here."""
        if self._depth >= _MOST_DEPTH:
            raise NotKnown("the template refers to itself in a circle")
        self._steps = self._steps + 1 if self._depth else 1
        if self._steps > _MOST_STEPS:
            raise NotKnown(f"one value takes more than {_MOST_STEPS} intrinsics")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1


def remembered(ask: Callable[[Resource], _T]) -> Callable[[Resource], _T]:
    """Work out the answer of a function over one resource once, not once per rule."""

    @wraps(ask)
    def answer(resource: Resource) -> _T:
        return resource.world.remember((ask, resource.model), lambda: ask(resource))

    return answer
