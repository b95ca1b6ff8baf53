"""Markdown that renders the same on the documentation site and on a code host."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

__all__ = ["anchor", "bullets", "code", "linked", "page", "prose", "section", "table"]

_MARK = "<!-- written by scripts/generate_reference.py from the code: change the code, then run it again -->"
_SPANS = re.compile(r"(`[^`]+`)")
_ADDRESS = re.compile(r"https?://[^\s;,)]+[^\s;,).]")
_SPECIAL = re.compile(r"([\\*_\[\]<>])")


def page(title: str, *parts: str) -> str:
    """A whole page."""
    return "\n\n".join([f"# {title}", _MARK, *(part.strip("\n") for part in parts if part)]) + "\n"


def section(title: str, *parts: str, level: int = 2) -> str:
    """A heading with what stands below it."""
    return "\n\n".join([f"{'#' * level} {title}", *(part.strip("\n") for part in parts if part)])


def prose(text: str) -> str:
    """Text of the code as text of a page: nothing in it is markup but code spans in backticks."""
    pieces = _SPANS.split(" ".join(text.split()))
    return "".join(piece if _SPANS.fullmatch(piece) else _SPECIAL.sub(r"\\\1", piece) for piece in pieces)


def linked(text: str) -> str:
    """The same, with web addresses as links."""
    pieces: list[str] = []
    end = 0
    for match in _ADDRESS.finditer(text):
        pieces += [prose(text[end : match.start()]), f"<{match.group()}>"]
        end = match.end()
    return " ".join(piece for piece in [*pieces, prose(text[end:])] if piece)


def code(value: object) -> str:
    """A code span."""
    return f"`{value}`"


def bullets(items: Iterable[str]) -> str:
    """A list; items are Markdown already."""
    return "\n".join(f"- {item}" for item in items)


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are Markdown already."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    """One cell: a bar inside a code span would end the cell here and show a backslash there, so such a span is HTML."""
    return "".join(
        f"<code>{html.escape(piece[1:-1])}</code>".replace("|", "&#124;")
        if _SPANS.fullmatch(piece) and "|" in piece
        else piece
        if _SPANS.fullmatch(piece)
        else piece.replace("|", "\\|")
        for piece in _SPANS.split(text.replace("\n", " "))
    )


def anchor(heading: str) -> str:
    """The address of a heading inside its page, as the documentation site and code hosts derive it."""
    kept = re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower()
    return re.sub(r"\s", "-", kept)
