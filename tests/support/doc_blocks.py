"""Fenced blocks of Markdown pages, with what the page says about testing them.

A comment right before a fence, `<!-- test: WORDS -->`, says how its block is tested:

- `file NAME`: the block is written to NAME before anything of the page runs.
- `faulty`: a cluster file that must not pass.
- `continues`: Python that goes on in the namespace of the block before it.
- `exit N`: the commands of the block end with N in place of 0.
- `elsewhere`: not run here, because tests of its own do so.
- `output`: what the command before it prints, `...` for anything.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.sources import ROOT

_FENCE = re.compile(
    r"""
    ^ (?: [ ]* <!--[ ]test:[ ] (?P<words> [^\n]*? ) [ ]--> \n )?
    (?P<indent> [ ]* ) ``` (?P<language> [a-z]* ) [^\n]* \n
    (?P<text> .*? )
    ^ (?P=indent) ``` $
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_SPAN = re.compile(r"`[^`\n]*`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block.

    Attributes:
        line: line of the fence in the page.
        language: as written behind the fence.
        text: without indentation of the list it may stand in.
        words: what is said about testing it.
    """

    line: int
    language: str
    text: str
    words: tuple[str, ...]

    def word_after(self, word: str) -> str | None:
        """The word that follows another one, for example the name after `file`."""
        return self.words[self.words.index(word) + 1] if word in self.words else None


def pages() -> list[Path]:
    """The pages of the documentation, and the README."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def written_pages() -> list[Path]:
    """Pages that people wrote for readers: the README, guides and concepts."""
    return [
        ROOT / "README.md",
        *sorted((ROOT / "docs").glob("guides/*.md")),
        *sorted((ROOT / "docs").glob("concepts/*.md")),
    ]


def blocks(page: Path) -> list[Block]:
    """The blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            line=text.count("\n", 0, match.start("indent")) + 1,
            language=match["language"],
            text=textwrap.dedent(match["text"]),
            words=tuple((match["words"] or "").split()),
        )
        for match in _FENCE.finditer(text)
    ]


def prose(page: Path) -> str:
    """The text of a page without fenced blocks and code spans."""
    return _SPAN.sub("", _FENCE.sub("", page.read_text(encoding="utf-8")))


def headings(page: Path) -> Iterator[str]:
    """Addresses of the headings inside a page, as the site and code hosts derive them."""
    for title in re.findall(r"(?m)^#{1,6} (.+)$", _FENCE.sub("", page.read_text(encoding="utf-8"))):
        bare = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        yield re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", bare).strip().lower())
