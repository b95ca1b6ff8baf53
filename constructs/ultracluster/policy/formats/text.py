"""The report for people: the source line, the value at fault, the fix."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator

from ultracluster.findings import Severity
from ultracluster.policy.report import Report, TemplateFinding

__all__ = ["render_text"]

_INDENT = "  "
_MOST_REASONS = 6
_LEAST_WIDTH = 40
# What moves the cursor or colours the screen is shown as it is written, never sent.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

Paint = Callable[[str, str], str]
"""(text, role) to the text in colour; roles: fatal, error, warning, id, place, dim, good."""


def render_text(report: Report, *, width: int = 100, paint: Paint | None = None, verbose: bool = False) -> str:
    """The report as lines of text.

    Args:
        report: the report.
        width: columns to fill.
        paint: puts colour on a terminal; none by default.
        verbose: also each rule that could not be judged, and each acknowledged finding.
    """
    lines = list(_Text(report, max(width, _LEAST_WIDTH), paint or (lambda text, _: text), verbose=verbose).lines())
    return "\n".join(lines)


class _Text:
    def __init__(self, report: Report, width: int, paint: Paint, *, verbose: bool) -> None:
        self.report = report
        self.width = width
        self.paint = paint
        self.verbose = verbose

    def lines(self) -> Iterator[str]:
        for entry in self.report.not_read:
            place = ":".join(str(part) for part in (entry.name, entry.line, entry.column) if part is not None)
            yield f"{self.paint(_visible(place), 'place')} {self.paint('unreadable', 'fatal')}"
            yield from self._wrapped(entry.reason)
            yield ""
        for found in self.report.findings:
            yield from self._finding(found)
            yield ""
        yield from self._acknowledged()
        yield from self._not_judged()
        yield from self._summary()

    def _finding(self, found: TemplateFinding) -> Iterator[str]:
        place = f"{found.file}:{found.line}:{found.column}" if found.line else found.file
        head = f"{self.paint(found.severity, found.severity)} {self.paint(found.rule_id, 'id')}"
        engine = "" if found.engine == "ultracluster" else f" ({found.engine})"
        yield f"{self.paint(_visible(place), 'place')} {head}{engine}"
        yield from self._wrapped(f"{found.subject}: {found.message}")
        yield from self._excerpt(found)
        if found.fix:
            yield from self._wrapped(found.fix, label="fix: ")
        if found.scenario:
            yield from self._wrapped(", ".join(found.scenario), label="when: ")

    def _wrapped(self, text: str, label: str = "") -> Iterator[str]:
        line = _visible(" ".join(text.split()))
        if line and len(_INDENT) + len(label) + len(line) <= self.width:
            yield _INDENT + label + line
            return
        after = _INDENT + " " * len(label)
        yield from textwrap.wrap(
            line,
            self.width,
            initial_indent=_INDENT + label,
            subsequent_indent=after,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def _excerpt(self, found: TemplateFinding) -> Iterator[str]:
        source = found.excerpt.rstrip()
        if not source:
            return
        gutter = f"{_INDENT}{found.line:>5} | "
        room = self.width - len(gutter)
        # The value stands at the end of a long line as often as at its start: keep the marked part in sight.
        start = max(0, min(found.column - 1, len(source) - room)) if len(source) > room else 0
        length = max(1, min(found.end_column - found.column, len(source) - found.column + 1, room))
        yield self.paint(gutter, "dim") + _CONTROL.sub(" ", source[start : start + room])
        mark = " " * (found.column - 1 - start) + "^" * length
        yield self.paint(" " * (len(gutter) - 2) + "| ", "dim") + self.paint(mark, found.severity)

    def _acknowledged(self) -> Iterator[str]:
        if not self.verbose or not self.report.acknowledged:
            return
        yield "acknowledged:"
        for each in self.report.acknowledged:
            yield from self._wrapped(f"{each.finding.rule_id} {each.finding.subject}: {each.reason}")
        yield ""

    def _not_judged(self) -> Iterator[str]:
        entries = self.report.not_judged
        if not entries:
            return
        yield f"not judged, because only a deployment tells ({len(entries)}):"
        if self.verbose:
            for entry in entries:
                where = entry.where or "the templates"
                yield from self._wrapped(f"{', '.join(entry.rule_ids)} {where}: {entry.reason} ({entry.template})")
        else:
            reasons = Counter(entry.reason for entry in entries)
            for reason, count in reasons.most_common(_MOST_REASONS):
                yield from self._wrapped(f"{count} x {reason}")
            rest = len(reasons) - _MOST_REASONS
            if rest > 0:
                yield f"{_INDENT}and {rest} more reason{'s' if rest > 1 else ''}; --verbose lists all"
        yield ""

    def _summary(self) -> Iterator[str]:
        report = self.report
        counts = report.counts
        found = [
            f"{counts[severity]} {_counted(severity, counts[severity])}" for severity in Severity if counts[severity]
        ]
        head = self.paint(", ".join(found), "error" if report.fails() else "warning") if found else "no findings"
        if not found and not report.not_read:
            head = self.paint(head, "good")
        judged = f"{_many(report.templates, 'template')}, {_many(report.resources, 'resource')}"
        if report.templates or not report.not_read:
            yield f"{head} in {judged}"
        notes = [
            (len(report.not_judged), "not judged"),
            (len(report.acknowledged), "acknowledged"),
            (len(report.known), "in the baseline"),
            (report.skipped, f"file{'' if report.skipped == 1 else 's'} passed over"),
            (report.serverless, f"AWS::Serverless resource{'' if report.serverless == 1 else 's'} left alone"),
            (len(report.not_read), "unreadable"),
        ]
        told = "; ".join(f"{count} {what}" for count, what in notes if count)
        if told:
            yield told
        for failure in report.failures:
            yield f"{self.paint('fault of this command:', 'error')} {failure}; please report it"


def _visible(text: str) -> str:
    return _CONTROL.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def _counted(severity: Severity, count: int) -> str:
    return severity if severity is Severity.FATAL or count == 1 else f"{severity}s"


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
