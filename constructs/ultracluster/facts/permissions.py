"""Reader of `data/permissions.json`: what is too broad for nodes, and which roles launch them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["launching_roles", "permission_list"]

DATA_FILE = Path(__file__).with_name("data") / "permissions.json"


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return document


@cache
def permission_list(name: str) -> frozenset[str]:
    """One list: `broad_policies`, `read_every_bucket_policies`, `hyperpod_policies`, `broad_actions` or others.

    Raises:
        KeyError: no such list, which is a fault of this library.
    """
    return frozenset(_document()[name]["value"])


@cache
def launching_roles() -> Mapping[str, tuple[str, ...]]:
    """Service-linked roles that launch the instances of a resource type, any of them; `<service>/<name>`."""
    rows: Mapping[str, list[str]] = _document()["launching_roles"]["value"]
    return {kind: tuple(roles) for kind, roles in rows.items()}
