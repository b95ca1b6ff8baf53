"""Reader of `data/secrets.json`: how secrets look, what their names end with, where templates hold them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ultracluster.values import dataclass

__all__ = ["SecretFacts", "SecretFormats", "secret_facts", "secret_formats"]

DATA_FILE = Path(__file__).with_name("data") / "secrets.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretFacts:
    """What gives a secret away by its name, and where secrets stand.

    Attributes:
        containers: paths of environment variables by resource type; `*` stands for every entry.
        passwords: properties that hold a password, by resource type.
    """

    containers: Mapping[str, tuple[tuple[str, ...], ...]]
    passwords: Mapping[str, tuple[str, ...]]
    _secret_name: re.Pattern[str]
    _no_secret_name: re.Pattern[str]
    _no_secret: re.Pattern[str]

    def is_secret_name(self, name: str) -> bool:
        """Whether a parameter or variable of this name holds a secret itself, not where to find one."""
        return bool(self._secret_name.search(name)) and not self._no_secret_name.search(name)

    def is_secret(self, text: str) -> bool:
        """Whether a text under such a name is one: no placeholder, path, address or reference."""
        return bool(text.strip()) and not self._no_secret.search(text.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretFormats:
    """What gives a secret away by its look; apart, because most checks never come to it.

    Attributes:
        formats: what a key or token of a known format is called, with its pattern and how all of them begin.
        assignment: `NAME=value` in a script, with groups for name and value.
        assignment_ends: what such a script holds for certain, which is looked for first: it is much faster.
    """

    formats: tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...]
    assignment: re.Pattern[str]
    assignment_ends: tuple[str, ...]


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return document


@cache
def secret_facts() -> SecretFacts:
    """Names and places, read once."""
    document = _document()
    containers = document["containers"]["value"].items()
    return SecretFacts(
        containers={kind: tuple(tuple(path.split(".")) for path in paths) for kind, paths in containers},
        passwords={kind: tuple(keys) for kind, keys in document["passwords"]["value"].items()},
        _secret_name=re.compile(document["secret_name"], re.IGNORECASE),
        _no_secret_name=re.compile(document["no_secret_name"], re.IGNORECASE),
        _no_secret=re.compile(f"{document['placeholder']}|{document['reference']}", re.IGNORECASE),
    )


@cache
def secret_formats() -> SecretFormats:
    """Formats, read once."""
    return SecretFormats(
        formats=tuple(
            (row["kind"], re.compile(row["pattern"]), tuple(row["begins"])) for row in _document()["formats"]
        ),
        assignment=re.compile(_document()["assignment"], re.MULTILINE),
        assignment_ends=tuple(_document()["assignment_ends"]),
    )
