"""Environment variables of jobs that cost the fabric, or that current releases have made superfluous."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from ultracluster.facts.node_environment import ForbiddenVariable, forbidden_variables
from ultracluster.findings import Finding, finding
from ultracluster.values import dataclass

__all__ = ["Assignment", "assignments", "check_assignments", "check_variables", "without_comments"]

_COMMENT = re.compile(r"(?m)^[ \t]*#(?![!]).*$")
# `NAME=value` as shells, unit files and `mpirun -x` write it; not `$NAME`, not a pattern that removes it.
_VALUE = r"""=(?!=)["']?(?P<value>[^\s"';)]+)"""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One harmful assignment.

    Attributes:
        variable: the row of the table.
        name: the name that is set.
        value: the value it gets.
    """

    variable: ForbiddenVariable
    name: str
    value: str


def without_comments(text: str) -> str:
    """A script without the lines that are comments."""
    return _COMMENT.sub("", text)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], ForbiddenVariable], ...]:
    rows = [
        (row.name.removesuffix("*"), r"\w*" if row.name.endswith("*") else "", row) for row in forbidden_variables()
    ]
    return tuple((re.compile(rf"(?<![\w$/^])(?P<name>{name}{rest}){_VALUE}"), row) for name, rest, row in rows)


def assignments(text: str) -> Iterator[Assignment]:
    """Every harmful assignment in a script or environment file, each name once."""
    for pattern, row in _patterns():
        names: set[str] = set()
        if row.name.removesuffix("*") not in text:
            continue
        for found in pattern.finditer(text):
            name, value = found["name"], found["value"]
            if name not in names and _is_harmful(row, value):
                names.add(name)
                yield Assignment(row, name, value)


def _is_harmful(row: ForbiddenVariable, value: str) -> bool:
    if row.value is not None:
        return value == row.value
    return row.value_like is None or re.search(row.value_like, value) is not None


def check_assignments(found: Iterable[Assignment], *, subject: str) -> tuple[Finding, ...]:
    """UC-NOD-001 for variables that break something, UC-NOD-002 for those that are superseded; one finding each.

    Args:
        found: what is set at one place.
        subject: its path in the user's terms.
    """
    texts: dict[str, list[str]] = {}
    for each in found:
        rule_id = "UC-NOD-001" if each.variable.breaks else "UC-NOD-002"
        texts.setdefault(rule_id, []).append(f"{each.name}={each.value} is set: {each.variable.reason}")
    return tuple(finding(rule_id, subject, "; ".join(listed)) for rule_id, listed in texts.items())


def check_variables(script: str, *, os: str, subject: str) -> Iterator[Finding]:
    """Findings for the harmful assignments of a script.

    Args:
        script: its text.
        os: operating system of the nodes; empty when it is not known, which excuses nothing.
        subject: the script's path in the user's terms.
    """
    found = assignments(without_comments(script))
    yield from check_assignments((each for each in found if os not in each.variable.needed_on), subject=subject)
