"""Reading a rule in every way that matters.

Combinations of conditions are all read. Parameters with AllowedValues are tried one at a time with the others at their
default: a fault counts when the defaults show it, or when a value shows it whatever the others are, because a pair that
the user has to choose together is no fault of the template. Only decisions that the rule touches are varied.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ultracluster.policy.assertions import forbidden
from ultracluster.policy.choice import Choice, ChoiceKind
from ultracluster.policy.fault import Fault, fault_of
from ultracluster.policy.memo import Leaf, Memo
from ultracluster.policy.parameters import is_default
from ultracluster.policy.problem import Problem
from ultracluster.policy.resolve import exists
from ultracluster.policy.states import Impossible, NotKnown
from ultracluster.policy.world import World

__all__ = ["Exploration", "explore", "read_once"]

_MOST_COMBINATIONS = 64
_MOST_READINGS = 512

Read = Callable[[World], Iterable[Problem]]
Forced = Mapping[Hashable, int]


@dataclass(slots=True)
class Exploration:
    """What all readings together say.

    Attributes:
        faults: each once.
        doubts: reasons for which something was not judged.
    """

    faults: list[Fault] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Reading:
    trace: Mapping[Hashable, Choice]
    faults: list[Fault]
    doubts: list[str]
    possible: bool = True

    @property
    def at_defaults(self) -> bool:
        return all(made.at_default for made in self.trace.values() if made.kind is ChoiceKind.ALLOWED_VALUE)


def explore(world: World, read: Read) -> Exploration:
    """Read a rule in the ways that it touches."""
    world.restart({})
    found, asked = world.work_out(lambda: _faults(world, read))
    first = _reading(world, found)
    if not first.trace:
        return Exploration(first.faults, first.doubts)
    memo = Memo()
    memo.keep(asked, found, None)
    return _Explorer(world, read, memo).explore(first)


def read_once(world: World, read: Read) -> list[Fault]:
    """Read a rule once, with everything at its default."""
    world.restart({})
    return _reading(world, world.work_out(lambda: _faults(world, read))[0]).faults


def _faults(world: World, read: Read) -> list[Fault]:
    faults: list[Fault] = []
    try:
        faults.extend(map(fault_of, read(world)))
    except NotKnown as doubt:
        world.doubts.append(doubt.reason)  # what was found before a doubt stays
    return faults


def _reading(world: World, found: Leaf) -> _Reading:
    trace = world.trace
    if isinstance(found.value, Impossible) or (trace and forbidden(world)):
        return _Reading(trace, [], [], possible=False)
    faults: list[Fault] = found.value
    if faults and trace:
        scenario = tuple(choice.told for choice in trace.values())
        faults = [replace(fault, scenario=scenario) for fault in faults]
    return _Reading(trace, faults, list(found.doubts))


class _Explorer:
    """The bookkeeping of one exploration."""

    def __init__(self, world: World, read: Read, memo: Memo) -> None:
        self.world = world
        self.read = read
        self.memo = memo
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
        for key, at in dict.fromkeys(_other_values(base)):
            self._try_value(key, at)
        return self.result

    def _read(self, forced: Forced, *, defaults_stand: bool = True) -> _Reading:
        self.world.restart(forced, defaults_stand=defaults_stand)
        return _reading(self.world, self.world.recall(self.memo, lambda: _faults(self.world, self.read)))

    def _try_value(self, key: Hashable, at: int) -> None:
        for reading in self._combinations({key: at}):
            self.result.doubts.extend(reading.doubts)
            fresh: set[Hashable] = {
                identity for fault in reading.faults if (identity := _identity(fault)) not in self.known
            }
            others = [
                (other, choice)
                for other, choice in reading.trace.items()
                if other != key and choice.kind is ChoiceKind.ALLOWED_VALUE
            ]
            shows = fresh and all(self._shows_with(fresh, reading, other, choice) for other, choice in others)
            if shows and self._shows_without_defaults(fresh, reading):
                self._keep(reading)

    def _shows_without_defaults(self, wanted: set[Hashable], reading: _Reading) -> bool:
        """Whether a fault of one value stays when no default stands for a parameter that must be chosen with it.

        A resource that this value brings about meets the defaults for the first time: there they count.
        """
        chosen = {name: made.taken for name, made in reading.trace.items() if not is_default(name)}
        if len(chosen) == len(reading.trace) or not all(map(self._is_there_by_default, reading.faults)):
            return True
        self.readings += 1
        again = self._read(chosen, defaults_stand=False)
        self.result.doubts.extend(again.doubts)
        return bool(wanted & {_identity(fault) for fault in again.faults})

    def _is_there_by_default(self, fault: Fault) -> bool:
        self.world.restart({})
        resource = fault.resource
        return resource is None or exists(self.world, resource.template, resource.logical_id)

    def _shows_with(self, wanted: set[Hashable], reading: _Reading, other: Hashable, choice: Choice) -> bool:
        """Whether a fault of one value stays when another parameter takes its other values."""
        forced = {name: made.taken for name, made in reading.trace.items() if name != other}
        for at in range(len(choice.options)):
            if at == choice.taken:
                continue
            self.readings += 1
            if self.readings > _MOST_READINGS:
                return False
            again = self._read({**forced, other: at})
            if again.possible and not wanted & {_identity(fault) for fault in again.faults}:
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
            reading = first if first is not None and count == 1 else self._read(given)
            pending.extend(_alternatives(reading.trace, given))
            if reading.possible:
                yield reading

    def _keep(self, reading: _Reading) -> None:
        for fault in reading.faults:
            place = (*_identity(fault), fault.path)
            if place not in self.places:
                self.places.add(place)
                self.known.add(_identity(fault))
                self.result.faults.append(fault)


def _other_values(base: list[_Reading]) -> Iterator[tuple[Hashable, int]]:
    for reading in base:
        for key, choice in reading.trace.items():
            if choice.kind is ChoiceKind.ALLOWED_VALUE:
                yield from ((key, at) for at in range(len(choice.options)) if at or not choice.has_default)


def _alternatives(trace: Mapping[Hashable, Choice], given: Forced) -> Iterator[Forced]:
    prefix = dict(given)
    for key, choice in trace.items():
        if choice.kind is ChoiceKind.EITHER_WAY and key not in given:
            for at in range(len(choice.options)):
                if at != choice.taken:
                    yield {**prefix, key: at}
            prefix[key] = choice.taken


def _identity(fault: Fault) -> tuple[Hashable, ...]:
    """Equal for the same rule on the same resource: with another value of a parameter it is the same fault."""
    return (fault.rule_id, fault.resource or fault.property_path, id(fault.template))
