"""Reading a rule in every world that matters.

Combinations of conditions are all read. Parameters with AllowedValues are tried one at a time with the others at their
default: a fault counts when the defaults show it, or when a value shows it whatever the others are, because a pair that
the user has to choose together is no fault of the template. Only decisions that the rule touches are varied.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ultracluster.policy.assertions import forbidden
from ultracluster.policy.model import AssemblyModel
from ultracluster.policy.problem import Problem
from ultracluster.policy.states import Impossible, NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Template
from ultracluster.policy.world import Choice, ChoiceKind, World

__all__ = ["Exploration", "Fault", "explore"]

_MOST_COMBINATIONS = 64
_MOST_READINGS = 512

Read = Callable[[World], Iterable[Problem]]
Forced = Mapping[Hashable, int]


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem with the decisions under which it shows."""

    problem: Problem
    scenario: tuple[str, ...]


@dataclass(slots=True)
class Exploration:
    """What all worlds together say.

    Attributes:
        faults: problems, each once.
        doubts: reasons for which something was not judged.
    """

    faults: list[Fault] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Reading:
    trace: Mapping[Hashable, Choice]
    problems: list[Problem]
    doubts: list[str]
    possible: bool = True

    @property
    def scenario(self) -> tuple[str, ...]:
        return tuple(choice.told for choice in self.trace.values())

    @property
    def at_defaults(self) -> bool:
        return all(c.at_default for c in self.trace.values() if c.kind is ChoiceKind.ALLOWED_VALUE)


def explore(assembly: AssemblyModel, read: Read) -> Exploration:
    """Read a rule in the worlds that it touches."""
    first = _read(assembly, read, {})
    if not first.trace:
        return Exploration([Fault(problem, ()) for problem in first.problems], first.doubts)
    return _Explorer(assembly, read).explore(first)


def _read(assembly: AssemblyModel, read: Read, forced: Forced) -> _Reading:
    world = World(assembly, forced)
    problems: list[Problem] = []
    possible = True
    try:
        for problem in read(world):  # one by one: what was found before a doubt stays
            problems.append(problem)  # noqa: PERF402
    except NotKnown as doubt:
        world.doubts.append(doubt.reason)
    except Impossible:
        possible = False
    if possible and world.trace and forbidden(world):
        possible = False
    if not possible:
        return _Reading(world.trace, [], [], possible=False)
    return _Reading(world.trace, problems, world.doubts)


class _Explorer:
    """The bookkeeping of one exploration."""

    def __init__(self, assembly: AssemblyModel, read: Read) -> None:
        self.assembly = assembly
        self.read = read
        self.readings = 0
        self.result = Exploration()
        self.known: set[Hashable] = set()
        self.places: set[Hashable] = set()

    def explore(self, first: _Reading) -> Exploration:
        base = list(self._combinations({}, first))
        for reading in base:
            self.result.doubts.extend(reading.doubts)
            if reading.at_defaults:
                self._keep(reading)
        values = {
            (key, at): None
            for reading in base
            for key, choice in reading.trace.items()
            if choice.kind is ChoiceKind.ALLOWED_VALUE
            for at in range(len(choice.options))
            if at != choice.taken or not choice.has_default
        }
        for key, at in values:
            self._try_value(key, at)
        return self.result

    def _try_value(self, key: Hashable, at: int) -> None:
        for reading in self._combinations({key: at}):
            self.result.doubts.extend(reading.doubts)
            fresh = [problem for problem in reading.problems if _identity(problem) not in self.known]
            others = [
                (other, choice)
                for other, choice in reading.trace.items()
                if other != key and choice.kind is ChoiceKind.ALLOWED_VALUE
            ]
            if fresh and all(self._shows_with(fresh, reading, other, choice) for other, choice in others):
                self._keep(reading)

    def _shows_with(self, fresh: list[Problem], reading: _Reading, other: Hashable, choice: Choice) -> bool:
        """Whether a fault of one value stays when another parameter takes its other values."""
        wanted = {_identity(problem) for problem in fresh}
        forced = {name: made.taken for name, made in reading.trace.items() if name != other}
        for at in range(len(choice.options)):
            if at == choice.taken:
                continue
            self.readings += 1
            if self.readings > _MOST_READINGS:
                return False
            again = _read(self.assembly, self.read, {**forced, other: at})
            if again.possible and not wanted & {_identity(problem) for problem in again.problems}:
                return False
        return True

    def _combinations(self, forced: Forced, first: _Reading | None = None) -> Iterator[_Reading]:
        """All readings over the decisions that are taken either way, some parameters being given."""
        pending: list[Forced] = [forced]
        count = 0
        while pending:
            given = pending.pop()
            count += 1
            self.readings += 1
            if count > _MOST_COMBINATIONS or self.readings > _MOST_READINGS:
                self.result.doubts.append(f"more than {_MOST_COMBINATIONS} combinations of conditions and parameters")
                return
            reading = first if first is not None and count == 1 else _read(self.assembly, self.read, given)
            pending.extend(_alternatives(reading.trace, given))
            if reading.possible:
                yield reading

    def _keep(self, reading: _Reading) -> None:
        for problem in reading.problems:
            place = (*_identity(problem), _place(problem))
            if place not in self.places:
                self.places.add(place)
                self.known.add(_identity(problem))
                self.result.faults.append(Fault(problem, reading.scenario))


def _alternatives(trace: Mapping[Hashable, Choice], given: Forced) -> Iterator[Forced]:
    prefix = dict(given)
    for key, choice in trace.items():
        if choice.kind is ChoiceKind.EITHER_WAY and key not in given:
            for at in range(len(choice.options)):
                if at != choice.taken:
                    yield {**prefix, key: at}
            prefix[key] = choice.taken


def _identity(problem: Problem) -> tuple[Hashable, ...]:
    """Equal for the same rule on the same resource: with another value of a parameter it is the same fault."""
    where = problem.where
    if isinstance(where, Value):
        return (problem.rule_id, where.owner or where.path)
    return (problem.rule_id, where.model if isinstance(where, Template) else where)


def _place(problem: Problem) -> Hashable:
    return problem.where.place.path if isinstance(problem.where, Value) else None
