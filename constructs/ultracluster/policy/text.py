"""Texts of which parts are known: how Fn::Sub, Fn::Join and Fn::Split treat them."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import lru_cache

from ultracluster.policy.parameters import as_text
from ultracluster.policy.states import ABSENT, Encoded, Opaque, Reference, Text, Unknown

__all__ = ["join", "literal_text", "split_text", "substitute"]

# Far more than a template holds.
_MOST_LENGTH = 1_000_000
_DYNAMIC = re.compile(r"\{\{resolve:[^{}]*\}\}")
_PLACEHOLDER = re.compile(r"\$\{\s*(!?)([^{}]*?)\s*\}")


def literal_text(raw: str) -> object:
    """A text with dynamic references: they are read at deployment."""
    return _whole(_around(raw, _DYNAMIC, lambda found: Opaque("a dynamic reference", name=found.group(0))))


def _around(text: str, pattern: re.Pattern[str], replace: Callable[[re.Match[str]], object]) -> Iterator[object]:
    end = 0
    for found in pattern.finditer(text):
        yield text[end : found.start()]
        yield replace(found)
        end = found.end()
    yield text[end:]


@lru_cache(maxsize=512)
def _pieces(pattern: str) -> tuple[tuple[str, str], ...]:
    """Each placeholder's name with the text before it, last the rest; a text is read anew for every assignment."""
    pieces: list[tuple[str, str]] = []
    end, before = 0, ""
    for found in _PLACEHOLDER.finditer(pattern):
        escaped, name = found.groups()
        before += pattern[end : found.start()]
        end = found.end()
        if escaped:
            before += f"${{{name}}}"
        else:
            pieces.append((before, name))
            before = ""
    return (*pieces, (before + pattern[end:], ""))


def substitute(pattern: str, value: Callable[[str], object]) -> object:
    """Fn::Sub: a text, a partly known text, or the one state that the pattern consists of."""
    *named, (rest, _) = _pieces(pattern)
    parts: list[object] = []
    for before, name in named:
        if before:
            parts.append(before)
        parts.append(_named(value(name), name))
    if rest:
        parts.append(rest)
    parts = [part for part in parts if part != ""]
    if len(parts) == 1 and not isinstance(parts[0], str):
        state = value(pattern[2:-1].strip())
        return state if isinstance(state, Reference | Unknown) else _whole(_flat(parts))
    return _whole(_flat(parts))


def _named(state: object, name: str) -> object:
    part = _part(state)
    return Opaque(part.reason, part.reference, name) if isinstance(part, Opaque) else part


def join(delimiter: str, states: list[object]) -> object:
    """Fn::Join of resolved entries."""
    if len(states) == 1 and isinstance(states[0], Reference | Unknown | Text):
        return states[0]
    parts: list[object] = []
    for at, state in enumerate(states):
        if at:
            parts.append(delimiter)
        parts.append(_part(state))
    return _whole(_flat(parts))


def _part(state: object) -> str | Text | Opaque:
    """A resolved value as a part of a text."""
    match state:
        case Text():
            return state
        case Reference():
            return Opaque(f"{state} is known at deployment only", state, str(state))
        case Unknown(reason=reason, symbol=symbol):
            return Opaque(reason, name=_pseudo(symbol))
        case Encoded() | dict() | list():
            return Opaque("no text in the place of one")
        case _ if state is ABSENT:
            return Opaque("nothing in the place of a text")
        case _:
            return as_text(state) or ""


def _pseudo(symbol: Hashable) -> str:
    """The name of a pseudo parameter; empty for any other symbol."""
    match symbol:
        case ("pseudo", str(name)):
            return name
    return ""


def _flat(parts: Iterable[object]) -> Iterator[object]:
    for part in parts:
        if isinstance(part, Text):
            yield from part.parts
        else:
            yield part


def _whole(parts: Iterable[object]) -> object:
    """One text when everything is known, else the parts with neighbouring texts put together."""
    merged: list[str | Opaque] = []
    length = 0
    for part in parts:
        length += 1 if isinstance(part, Opaque) else len(str(part))
        if length > _MOST_LENGTH:
            return Unknown(f"a text of more than {_MOST_LENGTH} characters")
        if isinstance(part, Opaque):
            merged.append(part)
        elif merged and isinstance(merged[-1], str):
            merged[-1] += str(part)
        elif part:
            merged.append(str(part))
    if not any(isinstance(part, Opaque) for part in merged):
        return str(merged[0]) if merged else ""
    return Text(tuple(merged))


def split_text(text: str | Text, delimiter: str) -> Iterator[object]:
    """The parts between delimiters; what is not known is taken to hold none, as references do."""
    if isinstance(text, str):
        yield from text.split(delimiter)
        return
    piece: list[object] = []
    for part in text.parts:
        if isinstance(part, Opaque):
            piece.append(part)
            continue
        first, *others = part.split(delimiter)
        piece.append(first)
        for other in others:
            yield _piece(piece)
            piece = [other]
    yield _piece(piece)


def _piece(parts: list[object]) -> object:
    state = _whole(parts)
    if isinstance(state, Text) and len(state.parts) == 1 and isinstance(state.parts[0], Opaque):
        opaque = state.parts[0]
        return opaque.reference or Unknown(opaque.reason, ("part", opaque.name))
    return state
