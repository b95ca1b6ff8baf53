"""Reader of `data/node_environment.json`: the smallest environment of a node, every row with its reason."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

__all__ = ["EnvironmentRow", "environment_rows", "forbidden_variables"]

DATA_FILE = Path(__file__).with_name("data") / "node_environment.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentRow:
    """One setting.

    Attributes:
        kind: `variable` of jobs, `limit` of login shells and services, `timer` of systemd.
        name: of the setting.
        value: its value; `off` for a timer.
        reason: why every node gets it.
        source: key of the source.
        confidence: high or medium.
        vendor: makes of accelerator that get it; None for all.
        efa: whether only nodes with EFA get it.
    """

    kind: Literal["variable", "limit", "timer"]
    name: str
    value: str
    reason: str
    source: str
    confidence: str
    vendor: str | None
    efa: bool


@cache
def environment_rows() -> tuple[EnvironmentRow, ...]:
    """All rows, in the order of the file."""
    rows = json.loads(DATA_FILE.read_text(encoding="utf-8"))["rows"]
    return tuple(
        EnvironmentRow(
            **{key: value for key, value in row.items() if key != "scope"},
            vendor=row["scope"].get("vendor"),
            efa=row["scope"].get("efa", False),
        )
        for row in rows
    )


@cache
def forbidden_variables() -> tuple[tuple[str, str | None, str], ...]:
    """Variables that no node may get: name, the harmful value (None for any), and why."""
    rows = json.loads(DATA_FILE.read_text(encoding="utf-8"))["never"]
    return tuple((row["name"], row.get("value"), row["reason"]) for row in rows)
