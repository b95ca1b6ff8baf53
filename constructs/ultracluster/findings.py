"""The one noun of every stage: a finding says what is wrong, where, and what would be right.

The cluster file, the plan, the constructs, the policy rules and the node checks all report `Finding` values. A stage
collects every finding and raises once, so that a user mends a file in one pass.

Errors raised: `FindingsError` (a `ValueError`) from `raise_if_errors`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from ultracluster.values import dataclass

__all__ = ["Finding", "FindingsError", "Severity", "finding", "raise_if_errors"]


class Severity(StrEnum):
    """How a finding is treated.

    `FATAL`: the service refuses it, so nobody can acknowledge it. `ERROR`: almost always wrong; can be acknowledged
    with a reason. `WARNING`: legal but wasteful or fragile.
    """

    FATAL = "fatal"
    ERROR = "error"
    WARNING = "warning"

    @property
    def stops(self) -> bool:
        """Whether a stage with such a finding ends in an error."""
        return self is not Severity.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault, in words a user can act on.

    Attributes:
        rule_id: stable id, `UC-<AREA>-<nnn>`; `ultracluster rules ID` explains it.
        severity: fatal, error or warning.
        subject: the path in the user's own terms, for example `fleets[0].count`.
        message: the value found and the limit with its origin; lower case, no final period.
        fix: the change that would make it right; lower case, no final period.
    """

    rule_id: str
    severity: Severity
    subject: str
    message: str
    fix: str

    def __str__(self) -> str:
        """`subject: message; fix [id]`, the form every door prints."""
        joint = " " if self.message.endswith("?") else "; "
        fix = f"{joint}{self.fix}" if self.fix else ""
        return f"{self.subject}: {self.message}{fix} [{self.rule_id}]"


class FindingsError(ValueError):
    """Everything that a stage found wrong, at once.

    Attributes:
        findings: all findings of the stage, warnings included, in the order in which they were found.
    """

    def __init__(self, findings: Iterable[Finding]) -> None:
        """Keep the findings; the message is one line per finding."""
        self.findings = tuple(findings)
        super().__init__("\n".join(str(found) for found in self.findings))


def finding(rule_id: str, subject: str, message: str, fix: str = "") -> Finding:
    """Make a finding whose severity is the one registered for its id.

    Args:
        rule_id: an id of the registry (`facts/data/rules/`).
        subject: the path in the user's own terms.
        message: the value found and the limit.
        fix: what would be right; the registered fix when left empty.

    Raises:
        KeyError: the id is not registered, which is a fault of this library.
    """
    from ultracluster.facts.rules import rule_facts  # read only when something is wrong

    facts = rule_facts(rule_id)
    return Finding(rule_id=rule_id, severity=facts.severity, subject=subject, message=message, fix=fix or facts.fix)


def raise_if_errors(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Raise when any finding stops the stage; otherwise hand the warnings back.

    Raises:
        FindingsError: with all findings, when at least one is fatal or an error.
    """
    kept = tuple(findings)
    if any(found.severity.stops for found in kept):
        raise FindingsError(kept)
    return kept
