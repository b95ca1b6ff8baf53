"""One consistent reading of an assembly: what has been decided about its conditions and parameters so far.

A rule reads the template as if everything were decided. Each time the reading meets something open (a condition, a
parameter with several allowed values) the world takes one option and remembers the others; `explore` then has the rule
read again in the other worlds. Only what a rule touches is ever enumerated.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from ultracluster.policy.states import NotKnown

if TYPE_CHECKING:
    from ultracluster.policy.model import AssemblyModel

__all__ = ["Choice", "ChoiceKind", "World"]

# Nothing that CloudFormation accepts refers to itself; a reading this deep goes round in a circle.
_MOST_DEPTH = 100

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


class World:
    """What has been decided, and what could not be known.

    Attributes:
        assembly: what is read.
        trace: decisions in the order in which they were needed.
        doubts: reasons for which parts were not judged.
        facts: what is remembered for this reading, by whoever needs it.
        defaults_read: how often the default of a parameter stood for its value.
    """

    __slots__ = ("_depth", "_forced", "assembly", "defaults_read", "doubts", "facts", "trace")

    def __init__(self, assembly: AssemblyModel, forced: Mapping[Hashable, int] | None = None) -> None:
        """Start a reading in which some decisions are given, as indexes of options."""
        self.assembly = assembly
        self.trace: dict[Hashable, Choice] = {}
        self.doubts: list[str] = []
        self.facts: dict[Hashable, object] = {}
        self._forced = forced or {}
        self.defaults_read = 0
        self._depth = 0

    def choose(
        self,
        key: Hashable,
        options: tuple[_T, ...],
        *,
        told: Callable[[_T], str],
        kind: ChoiceKind = ChoiceKind.EITHER_WAY,
        has_default: bool = True,
    ) -> _T:
        """The option of this world; the first one unless another is given."""
        made = self.trace.get(key)
        if made is not None:
            return options[made.taken]
        taken = min(self._forced.get(key, 0), len(options) - 1)
        self.trace[key] = Choice(key, options, taken, kind, told(options[taken]), has_default)
        return options[taken]

    def remember(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """A result that is the same for the whole reading."""
        if key not in self.facts:
            self.facts[key] = make()
        found: _T = self.facts[key]  # type: ignore[assignment]  # made by the same key
        return found

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """One level further into references; circles end here."""
        if self._depth >= _MOST_DEPTH:
            raise NotKnown("the template refers to itself in a circle")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
