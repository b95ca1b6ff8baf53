"""The report as workflow commands of GitHub Actions: annotations at the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.findings import Severity
from ultracluster.policy.report import Report, TemplateFinding

__all__ = ["render_github"]

_DATA = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))
_PROPERTY = (*_DATA, (":", "%3A"), (",", "%2C"))


def render_github(report: Report) -> str:
    """One command per finding and unreadable file."""
    return "\n".join(_commands(report))


def _commands(report: Report) -> Iterator[str]:
    for entry in report.not_read:
        where = {"file": entry.name, "line": entry.line or 1, "title": "UC-DOC-001"}
        yield _command("error", where, f"cannot be read: {entry.reason}")
    for found in report.findings:
        level = "warning" if found.severity is Severity.WARNING else "error"
        yield _command(level, _place(found), str(found))


def _place(found: TemplateFinding) -> dict[str, object]:
    place: dict[str, object] = {"file": found.file}
    if found.line:
        place |= {"line": found.line, "col": found.column, "endColumn": max(found.end_column - 1, found.column)}
    return {**place, "title": found.rule_id}


def _command(level: str, properties: dict[str, object], text: str) -> str:
    told = ",".join(f"{key}={_escaped(str(value), _PROPERTY)}" for key, value in properties.items())
    return f"::{level} {told}::{_escaped(text, _DATA)}"


def _escaped(text: str, pairs: tuple[tuple[str, str], ...]) -> str:
    for plain, code in pairs:
        text = text.replace(plain, code)
    return text
