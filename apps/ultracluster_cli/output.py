"""What all sub-commands share: the `--format` option, JSON, findings on stderr, and the console for tables.

Colour goes to terminals only; `NO_COLOR` switches it off there too. What is piped is 120 columns wide, or as wide as
`COLUMNS` says.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

import click

from ultracluster.findings import Finding, Severity

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "CLEAN",
    "FINDINGS",
    "SEVERITY_COLOURS",
    "UNUSABLE",
    "console",
    "exit_status",
    "format_option",
    "print_findings",
    "print_json",
]

CLEAN = 0
FINDINGS = 1
UNUSABLE = 2
# Fits the tables of this command and a page of documentation.
_PIPED_COLUMNS = 120
SEVERITY_COLOURS = {Severity.FATAL: "red", Severity.ERROR: "red", Severity.WARNING: "yellow"}

_Command = TypeVar("_Command", bound=Callable[..., Any])


def format_option(*choices: str) -> Callable[[_Command], _Command]:
    """The option `--format`, passed on as `output_format`; text and json unless other choices are given."""
    return click.option(
        "--format",
        "output_format",
        type=click.Choice(choices or ("text", "json")),
        default="text",
        show_default=True,
        help="How to print the result.",
    )


def exit_status(findings: Iterable[Finding]) -> int:
    """The exit status that findings lead to.

    0 without findings or with warnings only; 2 when an input could not be read at all, which is a fatal finding that is
    judged on the file alone; 1 otherwise.
    """
    from ultracluster.facts.rules import rule_facts

    stopping = [found for found in findings if found.severity.stops]
    unread = [
        found
        for found in stopping
        if found.severity is Severity.FATAL and rule_facts(found.rule_id).stages == ("file",)
    ]
    return UNUSABLE if unread else FINDINGS if stopping else CLEAN


def print_findings(findings: Iterable[Finding]) -> None:
    """Write findings to stderr, one line each, with their severity in front."""
    for found in findings:
        severity = click.style(f"{found.severity}:", fg=SEVERITY_COLOURS[found.severity], bold=True)
        click.echo(f"{severity} {' '.join(str(found).split())}", err=True, color=_colour(sys.stderr.isatty()))


def _colour(terminal: bool) -> bool:
    return terminal and not os.environ.get("NO_COLOR")


def print_json(value: object) -> None:
    """Write a value as JSON, dataclasses as objects with their fields."""
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    click.echo(json.dumps(_plain(value), indent=2, ensure_ascii=not unicode))


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(entry) for entry in value]
    if isinstance(value, Path | date):  # a datetime is a date
        return str(value) if isinstance(value, Path) else value.isoformat()
    return value


class _Trimmed:
    """Standard output without the blanks with which tables fill their lines."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        return getattr(sys.stdout, name)

    def write(self, text: str) -> int:
        return sys.stdout.write(re.sub(r" +(?=\n)", "", text))


def console() -> Console:
    """A console for tables on stdout: no markup, no guessing at what to highlight."""
    from rich.console import Console

    terminal = sys.stdout.isatty()
    wide = None if terminal or "COLUMNS" in os.environ else _PIPED_COLUMNS
    stream = None if terminal else cast("IO[str]", _Trimmed())
    return Console(file=stream, width=wide, markup=False, highlight=False, emoji=False)
