"""What a rule yields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ultracluster.findings import Finding, Severity
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource, Template

__all__ = ["Problem", "Where", "from_findings"]

Where = Value | Resource | Template


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault at one place.

    Attributes:
        where: the value at fault (its line and its text are shown), or the resource or template when something is
            missing or counted.
        message: the value and the limit with its origin; lower case, no final period; the place is added in front.
        fix: what would be right; the registered fix of the rule when left empty.
        rule_id: only where one function stands for several rules.
        severity: only to soften: a finding that rests on a disputed fact.
    """

    where: Where
    message: str
    fix: str = ""
    rule_id: str = ""
    severity: Severity | None = None


def from_findings(
    findings: Iterable[Finding],
    where: Callable[[str], Where],
    *,
    names: Mapping[str, str] | None = None,
) -> Iterator[Problem]:
    """Findings of a plan function as problems of a template, so that plan and rules cannot disagree.

    Args:
        findings: what the plan function found, with paths below the `subject` it was given.
        where: the value that such a path stands for.
        names: words of the plan (`capacity_gib`) and the property names that take their place in the texts.
    """
    for found in findings:
        message, fix = (_renamed(text, names or {}) for text in (found.message, found.fix))
        yield Problem(where(found.subject), message, fix, found.rule_id, found.severity)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    # The longest first: `capacity_gib` must not spoil `throughput_capacity_gib`.
    for word in sorted(names, key=len, reverse=True):
        text = text.replace(word, names[word])
    return text
