"""What a check says, ready for every format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ultracluster.findings import Finding, Severity
from ultracluster.policy.engine import NotJudged
from ultracluster.policy.load import NotRead

__all__ = ["Acknowledged", "Report", "TemplateFinding"]

_MOST_SHOWN = 240
_RANK = {Severity.FATAL: 2, Severity.ERROR: 1, Severity.WARNING: 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateFinding(Finding):
    """A finding with its place in a template.

    Attributes:
        file: the template as it was given.
        line: line, from 1; 0 when it is not known.
        column: column, from 1; 0 when it is not known.
        end_column: column after the last character of the key or entry.
        excerpt: the source line.
        logical_id: the resource; empty for a template as a whole.
        resource_type: its type.
        construct_path: its construct, where the CDK notes it.
        property_path: the property below the resource.
        value: the offending value in short; empty when something is missing or counted.
        scenario: conditions and parameters under which it shows; empty when it always does.
        engine: what found it.
    """

    file: str
    line: int = 0
    column: int = 0
    end_column: int = 0
    excerpt: str = ""
    logical_id: str = ""
    resource_type: str = ""
    construct_path: str = ""
    property_path: str = ""
    value: str = ""
    scenario: tuple[str, ...] = ()
    engine: str = "ultracluster"

    @property
    def fingerprint(self) -> str:
        """A mark of the fault that survives other lines, other values and other words."""
        import hashlib  # loads a library of its own, which most runs do not need

        parts = (self.engine, self.rule_id, self.portable_file, self.logical_id, self.property_path)
        return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:20]

    @property
    def portable_file(self) -> str:
        """The file from the working folder on, however it was named: `./a.yaml` and its full path are one."""
        file = Path(self.file)
        if file.is_absolute() and file.is_relative_to(Path.cwd()):
            file = file.relative_to(Path.cwd())
        return file.as_posix().replace("\\", "/")

    @property
    def snippet(self) -> str:
        """The source line, or the part of a long one around the fault: JSON may be one line as a whole."""
        if len(self.excerpt) <= _MOST_SHOWN:
            return self.excerpt
        start = max(0, min(self.column - 1, len(self.excerpt) - _MOST_SHOWN))
        return self.excerpt[start : start + _MOST_SHOWN]


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A finding that somebody has accepted.

    Attributes:
        finding: the finding.
        reason: why it is right as it is.
        noted_in: where the acknowledgement stands.
        by_cdk: whether the CDK notes it.
    """

    finding: TemplateFinding
    reason: str
    noted_in: str
    by_cdk: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcome of a check.

    Attributes:
        findings: what is open, by file and line.
        acknowledged: what somebody has accepted, with the reasons.
        known: findings of the baseline.
        not_judged: rules that could not decide about something.
        not_read: files that could not be read.
        templates: how many templates were judged, nested ones once per use.
        resources: how many resources they hold.
        judged: how many times a rule was applied to something.
        skipped: how many files of the folders are no templates.
        serverless: how many AWS::Serverless resources were left alone.
        failures: rules that ended in an error of their own; always empty unless this library is at fault.
    """

    findings: tuple[TemplateFinding, ...] = ()
    acknowledged: tuple[Acknowledged, ...] = ()
    known: tuple[TemplateFinding, ...] = ()
    not_judged: tuple[NotJudged, ...] = ()
    not_read: tuple[NotRead, ...] = ()
    templates: int = 0
    resources: int = 0
    judged: int = 0
    skipped: int = 0
    serverless: int = 0
    failures: tuple[str, ...] = ()

    @property
    def counts(self) -> Counter[Severity]:
        """Open findings by severity."""
        return Counter(found.severity for found in self.findings)

    def fails(self, threshold: Severity = Severity.ERROR) -> bool:
        """Whether an open finding is at least as severe as the threshold."""
        return any(_RANK[found.severity] >= _RANK[threshold] for found in self.findings)

    def exit_status(self, threshold: Severity = Severity.ERROR) -> int:
        """2 when something could not be read, 1 with findings at or above the threshold, else 0."""
        return 2 if self.not_read else int(self.fails(threshold))


def in_order(findings: Iterable[TemplateFinding]) -> tuple[TemplateFinding, ...]:
    """By file, line and severity."""
    return tuple(sorted(findings, key=lambda found: (found.file, found.line, -_RANK[found.severity], found.rule_id)))
