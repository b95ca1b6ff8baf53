"""Reader of `data/create_only.json`: properties of stateful resources whose change replaces them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

__all__ = ["create_only"]

DATA_FILE = Path(__file__).with_name("data") / "create_only.json"


@cache
def create_only() -> Mapping[str, tuple[tuple[str, ...], ...]]:
    """Stateful resource types, each with the keys down to its create-only properties."""
    types = json.loads(DATA_FILE.read_text(encoding="utf-8"))["types"]
    return {
        kind: tuple(tuple(path.split("/")) for paths in rows.values() for path in paths) for kind, rows in types.items()
    }
