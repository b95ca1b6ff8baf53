"""One consistent reading of an assembly: what has been decided about its conditions and parameters so far.

A rule reads the template as if everything were decided. Each time the reading meets something open (a condition, a
parameter with several allowed values) the world takes one option and remembers the others; `explore` then has the rule
read again with other decisions. Only what a rule touches is ever enumerated.

One world serves all readings of an assembly, one after another: what is worked out is kept with the decisions that it
depends on, and holds for every reading that takes them alike.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from ultracluster.policy.choice import Choice, ChoiceKind
from ultracluster.policy.memo import EVERY_READING, IN_WORK, Ask, Leaf, Likeness, Memo
from ultracluster.policy.states import Impossible, NotKnown

if TYPE_CHECKING:
    from ultracluster.policy.model import AssemblyModel
    from ultracluster.policy.parameters import FreeParameter
    from ultracluster.policy.value import Value
    from ultracluster.policy.view import Resource

__all__ = ["World", "remembered"]

# Nothing that CloudFormation accepts refers to itself; a reading this deep goes round in a circle.
_MOST_DEPTH = 100
# Nor does one value need so many intrinsics: texts that name each other twice over would double at every level.
_MOST_STEPS = 5_000

_T = TypeVar("_T")


class World:
    """What has been decided in this reading, and what could not be known.

    Attributes:
        assembly: what is read.
        reading: number of the reading.
        trace: decisions in the order in which they were needed.
        doubts: reasons for which parts were not judged.
        defaults_read: how often the default of a parameter stood for its value.
        defaults_stand: whether the default of a parameter without AllowedValues stands for its value at all.
        sections: what was read of resources and templates, kept for all readings.
        free: the state of parameters without AllowedValues; each knows the reading that it belongs to.
    """

    __slots__ = (
        "_asked",
        "_depth",
        "_forced",
        "_kept",
        "_steps",
        "assembly",
        "defaults_read",
        "defaults_stand",
        "doubts",
        "free",
        "reading",
        "sections",
        "trace",
    )

    def __init__(self, assembly: AssemblyModel) -> None:
        """Begin a first reading with everything at its default."""
        self.assembly = assembly
        self.reading = 0
        self.sections: dict[Hashable, Value] = {}
        self.free: dict[Hashable, FreeParameter] = {}
        self._kept: dict[Hashable, Memo] = {}
        # What was asked since the calculation began that is being worked out; None where nobody wants to know.
        self._asked: dict[Hashable, tuple[Ask, Hashable]] | None = None
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
        made = self.trace.get(key)
        if made is None:
            taken = min(self._forced.get(key, 0), len(options) - 1)
            made = self.trace[key] = Choice(key, options, taken, kind, told, has_default=has_default)
        option = options[made.taken]
        if self._asked is not None:
            self.note(key, lambda: self.choose(key, options, told=told, kind=kind, has_default=has_default), option)
        return option

    def note(self, key: Hashable, ask: Ask, answer: Hashable) -> None:
        """Tell a calculation that is going on what its outcome depends on.

        Args:
            key: what was asked.
            ask: asks it again in another reading, and decides what has to be decided for it.
            answer: the answer.
        """
        asked = self._asked
        if asked is None:
            return
        known = asked.get(key)
        if known is None:
            asked[key] = (ask, answer)
        elif known[1] != answer:  # something was decided in between
            asked[key, len(asked)] = (ask, answer)

    def question(self, key: Hashable, ask: Callable[[], _T]) -> _T:
        """Ask something that is noted as a whole: not what it asks in its turn.

        Args:
            key: what is asked.
            ask: asks it, in this reading or another.
        """
        outer, self._asked = self._asked, None
        try:
            answer = ask()
        finally:
            self._asked = outer
        self.note(key, ask, answer)
        return answer

    def recall(self, memo: Memo, make: Callable[[], Any], likeness: Likeness | None = None) -> Leaf:
        """The outcome of a calculation, worked out only where a decision that it depends on differs.

        Args:
            memo: its outcomes so far.
            make: works it out.
            likeness: a mark that is equal for outcomes that are as good as each other.

        Raises:
            NotKnown: the calculation needs its own outcome.
        """
        if memo.reading == EVERY_READING:
            return memo.leaf
        if memo.reading != self.reading:
            self._look_up(memo, make, likeness)
            if memo.reading == EVERY_READING:
                return memo.leaf
        if self._asked is not None:
            self.note(memo, lambda: self.recall(memo, make, likeness), memo.leaf)
        return memo.leaf

    def _look_up(self, memo: Memo, make: Callable[[], Any], likeness: Likeness | None) -> None:
        if memo.reading == IN_WORK:
            raise NotKnown("the template refers to itself in a circle")
        outer, before = self._asked, memo.reading
        memo.reading = IN_WORK
        try:
            self._asked = None
            leaf, reading = memo.find(), self.reading
            if leaf is None:
                made, asked = self.work_out(make)
                leaf = memo.keep(asked, made, _mark(made, likeness))
                reading = reading if asked else EVERY_READING
            memo.leaf, before = leaf, reading
        finally:
            self._asked = outer
            memo.reading = before

    def work_out(self, make: Callable[[], Any]) -> tuple[Leaf, Mapping[Hashable, tuple[Ask, Hashable]]]:
        """The outcome of a calculation, and what was asked on the way."""
        outer, noted = self._asked, len(self.doubts)
        asked: dict[Hashable, tuple[Ask, Hashable]] = {}
        self._asked = asked
        value: Any
        try:
            value = make()
        except (NotKnown, Impossible) as end:
            value = end
        finally:
            self._asked = outer
        doubts = tuple(self.doubts[noted:])
        del self.doubts[noted:]
        return Leaf(value, doubts), asked

    def give(self, leaf: Leaf) -> Any:  # noqa: ANN401 - whatever was worked out
        """The result of an outcome, with its doubts.

        Raises:
            NotKnown, Impossible: it ended so.
        """
        if leaf.doubts:
            self.doubts.extend(leaf.doubts)
        value = leaf.value
        if isinstance(value, NotKnown | Impossible):
            raise value
        return value

    def remember(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """A result that is worked out once for all readings that agree about what it depends on.

        Args:
            key: what it is.
            make: works it out, however often it is called: an iterator that it has used up would end it early.

        Raises:
            NotKnown: `make` ended so.
        """
        memo = self._kept.get(key)
        if memo is None:
            memo = self._kept[key] = Memo()
        found: _T = self.give(self.recall(memo, make, _plain_likeness))
        return found

    def deeper(self) -> World:
        """One level further into references; circles end here."""
        if self._depth >= _MOST_DEPTH:
            raise NotKnown("the template refers to itself in a circle")
        self._steps = self._steps + 1 if self._depth else 1
        if self._steps > _MOST_STEPS:
            raise NotKnown(f"one value takes more than {_MOST_STEPS} intrinsics")
        return self

    def __enter__(self) -> None:
        """See `deeper`."""
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        """One level back."""
        self._depth -= 1


def _mark(leaf: Leaf, likeness: Likeness | None) -> Hashable:
    """What outcomes have in common that are as good as each other; None for one that stands alone."""
    value = leaf.value
    if isinstance(value, NotKnown | Impossible):
        return (type(value), str(value), leaf.doubts)
    mark = likeness(value) if likeness is not None else None
    return None if mark is None else (mark, leaf.doubts)


def _plain_likeness(value: object) -> Hashable:
    return (type(value), value) if isinstance(value, str | int | None) else None


def remembered(ask: Callable[[Resource], _T]) -> Callable[[Resource], _T]:
    """Work out the answer of a function over one resource once, not once per rule."""

    @wraps(ask)
    def answer(resource: Resource) -> _T:
        return resource.world.remember((ask, resource.model), lambda: ask(resource))

    return answer
