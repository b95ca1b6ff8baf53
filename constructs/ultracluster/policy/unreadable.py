"""Input that cannot be read: one clear reason, with the place where there is one."""

from __future__ import annotations

__all__ = ["MOST_DEPTH", "MOST_RESOURCES", "MOST_VALUES", "Unreadable"]

MOST_DEPTH = 128
"""Levels of nesting that are read; templates seldom have 30."""
MOST_RESOURCES = 2_000
"""Resources of a template that are read, four times as many as CloudFormation takes."""
MOST_VALUES = 100_000
"""Values of a JSON text that are read; 1 MB, which is the limit of CloudFormation, seldom holds half as many."""


class Unreadable(Exception):  # noqa: N818 - reads as what it is
    """A file that is no template, or none that this command reads.

    Attributes:
        reason: what is wrong, in lower case and without a final period.
        line: line, from 1; None when the whole file is meant.
        column: column, from 1.
    """

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        """Keep the reason and the place."""
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column
