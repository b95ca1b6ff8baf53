"""What somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["did_you_mean"]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean X?` for a word that is near to a known one, else nothing."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=2, cutoff=0.7)
    return f"; did you mean {' or '.join(near)}?" if near else ""
