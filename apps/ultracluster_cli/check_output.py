"""How the report of `ultracluster check` is printed: width, colour, and progress on a terminal."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ultracluster.findings import Severity
    from ultracluster.policy.report import Report

__all__ = ["progress", "rendered"]

_PIPED_COLUMNS = 120
_MOST_COLUMNS = 140
_PATIENCE_S = 2.0
_ROLES: dict[str, dict[str, Any]] = {
    "fatal": {"fg": "red", "bold": True},
    "error": {"fg": "red"},
    "warning": {"fg": "yellow"},
    "id": {"bold": True},
    "place": {"fg": "cyan"},
    "dim": {"dim": True},
    "good": {"fg": "green"},
}


def rendered(report: Report, form: str, threshold: Severity, *, to_file: bool, verbose: bool) -> str:
    """The report as text.

    Args:
        report: the report.
        form: text, json, sarif, junit or github.
        threshold: severity that fails.
        to_file: whether it goes to a file: no colour, a fixed width.
        verbose: also what was not judged and what is acknowledged.
    """
    if form != "text":
        from ultracluster.policy.formats import render_for_machines

        # A file name may hold what is no UTF-8.
        return render_for_machines(report, form, threshold).encode(errors="backslashreplace").decode()
    from ultracluster.policy.formats.text import render_text

    terminal = sys.stdout.isatty() and not to_file
    paint = _painted if terminal and not os.environ.get("NO_COLOR") else None
    return render_text(report, width=_width(terminal=terminal), paint=paint, verbose=verbose)


def _width(*, terminal: bool) -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal():
        return int(columns)
    return min(shutil.get_terminal_size().columns, _MOST_COLUMNS) if terminal else _PIPED_COLUMNS


def _painted(text: str, role: str) -> str:
    return click.style(text, **_ROLES.get(role, {}))


def progress() -> Callable[[int, int], None] | None:
    """A line on a terminal once a check takes longer than two seconds; None elsewhere."""
    if not sys.stderr.isatty():
        return None
    started = time.monotonic()

    def tell(done: int, total: int) -> None:
        if time.monotonic() - started > _PATIENCE_S:
            click.echo(f"\r{done} of {total} judged", err=True, nl=False)
            if done == total:
                click.echo("\r\033[K", err=True, nl=False)

    return tell
