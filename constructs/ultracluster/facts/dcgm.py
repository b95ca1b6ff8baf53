"""Reader of `data/dcgm.json`: which DCGM release knows which accelerators."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

__all__ = ["first_release", "first_releases"]

DATA_FILE = Path(__file__).with_name("data") / "dcgm.json"


@cache
def first_release(family: str) -> tuple[str, str] | None:
    """The first release for an instance family and why; None where any will do."""
    for row in json.loads(DATA_FILE.read_text(encoding="utf-8"))["releases"]:
        if family in row["families"]:
            return row["first"], row["reason"]
    return None


@cache
def first_releases() -> Mapping[str, str]:
    """Instance family to the first release, for those that need a certain one."""
    rows = json.loads(DATA_FILE.read_text(encoding="utf-8"))["releases"]
    return {family: row["first"] for row in rows for family in row["families"]}
