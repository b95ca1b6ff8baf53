"""The schema keywords that combine others: all, any, one of, if and then, and which properties go together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ultracluster.local.faults import AnySchema, Keyword, Problem, Schema, Walker
from ultracluster.local.values import Location, show

__all__ = ["COMBINATIONS"]


def _faults(walker: Walker, value: object, schema: AnySchema, where: Location) -> list[Problem]:
    return list(walker.problems(value, schema, where))


def _all_of(walker: Walker, value: object, wanted: Sequence[Schema], _: Schema, where: Location) -> Iterator[Problem]:
    for schema in wanted:
        yield from _faults(walker, value, schema, where)


def _nearest(branches: list[list[Problem]], where: Location) -> Iterator[Problem]:
    # The branch that came furthest tells what was meant; a list of every branch's faults helps nobody.
    alternatives = [branch[0] for branch in branches if len(branch) == 1 and branch[0][1] == "is required"]
    if len(alternatives) == len(branches):
        yield where, "one of " + ", ".join(str(place[-1]) for place, _ in alternatives) + " is required"
        return
    yield from min(branches, key=lambda branch: (len(branch), -max(len(place) for place, _ in branch)))


def _any_of(walker: Walker, value: object, wanted: Sequence[Schema], _: Schema, where: Location) -> Iterator[Problem]:
    branches = [_faults(walker, value, schema, where) for schema in wanted]
    if branches and all(branches):
        yield from _nearest(branches, where)


def _one_of(walker: Walker, value: object, wanted: Sequence[Schema], _: Schema, where: Location) -> Iterator[Problem]:
    branches = [_faults(walker, value, schema, where) for schema in wanted]
    fitting = [schema for schema, branch in zip(wanted, branches, strict=True) if not branch]
    if not fitting:
        yield from _nearest(branches, where)
    elif len(fitting) > 1:
        named = sorted({name for schema in fitting for name in schema.get("required", ())})
        hint = "only one of " + ", ".join(named) if named else "only one form"
        yield where, f"{hint} may be given"


def _not(walker: Walker, value: object, wanted: Schema, _: Schema, where: Location) -> Iterator[Problem]:
    if not _faults(walker, value, wanted, where):
        yield where, f"{show(value)} is not allowed here"


def _if(walker: Walker, value: object, wanted: Schema, schema: Schema, where: Location) -> Iterator[Problem]:
    branch = "else" if _faults(walker, value, wanted, where) else "then"
    if branch in schema:
        yield from _faults(walker, value, schema[branch], where)


def _dependencies(
    walker: Walker, value: object, wanted: Mapping[str, Any], _: Schema, where: Location
) -> Iterator[Problem]:
    if isinstance(value, dict):
        for name, needs in wanted.items():
            if name not in value:
                continue
            if isinstance(needs, list):
                yield from (((*where, other), f"is required beside {name}") for other in needs if other not in value)
            else:
                yield from _faults(walker, value, needs, where)


def _dependent_excluded(
    _: Walker, value: object, wanted: Mapping[str, Sequence[str]], __: Schema, where: Location
) -> Iterator[Problem]:
    if isinstance(value, dict):
        for name, excluded in wanted.items():
            for other in excluded:
                if name in value and other in value:
                    yield (*where, other), f"may not be given beside {name}; leave one of them out"


def _required_count(most: int | None) -> Keyword:
    def check(_: Walker, value: object, wanted: Sequence[str], __: Schema, where: Location) -> Iterator[Problem]:
        if not isinstance(value, dict):
            return
        given = [name for name in wanted if name in value]
        if not given:
            yield where, f"one of {', '.join(wanted)} is required"
        elif most and len(given) > most:
            yield where, f"only one of {', '.join(given)} may be given"

    return check


COMBINATIONS: Mapping[str, Keyword] = {
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "dependencies": _dependencies,
    "dependentRequired": _dependencies,
    "dependentExcluded": _dependent_excluded,
    "requiredXor": _required_count(1),
    "requiredOr": _required_count(None),
}
