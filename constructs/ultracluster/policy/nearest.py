"""What somebody may have meant."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["did_you_mean"]

_RULE = re.compile(r"(?:UC)?[-_]?([A-Z]{3})[-_]?0*(\d{1,3})")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean X?` for a word that is near to a known one, else nothing.

    A rule id is first understood as one that lacks zeros, hyphens or capitals.
    """
    names = list(known)
    written = _RULE.fullmatch(word.strip().upper())
    meant = f"UC-{written.group(1)}-{int(written.group(2)):03}" if written else ""
    if meant in names:
        return f"; did you mean {meant}?"
    from difflib import get_close_matches

    near = get_close_matches(word, names, n=2, cutoff=0.7)
    return f"; did you mean {' or '.join(near)}?" if near else ""
