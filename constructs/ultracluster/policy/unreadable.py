"""Input that cannot be read: one clear reason, with the place where there is one."""

from __future__ import annotations

__all__ = ["MOST_DEPTH", "Unreadable"]

MOST_DEPTH = 128
"""Levels of nesting that are read; templates seldom have 30."""


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
