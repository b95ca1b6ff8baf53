"""What rules hold scripts of nodes against: variables, limits, timers, clocks; out of `data/node_tuning.json`."""

from __future__ import annotations

from functools import cache
from typing import Literal, cast

from ultracluster.facts.node_tuning import tuning_document, tuning_rows
from ultracluster.values import dataclass

__all__ = [
    "EnvironmentRow",
    "ForbiddenVariable",
    "environment_rows",
    "forbidden_variables",
    "highest_collective_floor",
    "least_collective_message",
    "locked_memory_floor",
    "restarting_units",
    "time_sources",
]


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


_KINDS = ("variable", "limit", "timer")


@cache
def environment_rows() -> tuple[EnvironmentRow, ...]:
    """All rows of these kinds, in the order of the file."""
    return tuple(
        EnvironmentRow(
            kind=cast("Literal['variable', 'limit', 'timer']", row.kind),
            name=row.name,
            value=row.value,
            reason=row.reason,
            source=row.source[0],
            confidence=row.confidence,
            vendor=row.scope.get("vendor"),
            efa=row.scope.get("efa", False),
        )
        for row in tuning_rows()
        if row.kind in _KINDS
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ForbiddenVariable:
    """A variable that no job may get.

    Attributes:
        name: its name; a trailing `*` stands for any ending.
        reason: why not.
        source: key of the source.
        value: the one harmful value; None for any.
        value_like: a pattern that harmful values match; None for any.
        breaks: whether it costs the fabric or does nothing at all; the others are superseded.
        needed_on: operating systems whose kernel still needs it.
    """

    name: str
    reason: str
    source: str
    value: str | None = None
    value_like: str | None = None
    breaks: bool = False
    needed_on: tuple[str, ...] = ()


@cache
def forbidden_variables() -> tuple[ForbiddenVariable, ...]:
    """Variables that no node may get, in the order of the file."""
    rows = tuning_document()["never"]
    return tuple(ForbiddenVariable(**row | {"needed_on": tuple(row.get("needed_on", ()))}) for row in rows)


def locked_memory_floor() -> int:
    """The smallest limit of locked memory that EFA works with, in bytes."""
    return int(tuning_document()["locked_memory_floor"]["gib"]) * 2**30


def restarting_units() -> tuple[str, ...]:
    """Units that install updates and restart services on their own."""
    return tuple(tuning_document()["restarting_units"]["value"])


def time_sources() -> tuple[str, ...]:
    """Addresses of Amazon Time Sync."""
    return tuple(tuning_document()["time_sources"]["value"])


def highest_collective_floor() -> float:
    """The largest share of the line rate that a collective can be held to."""
    return float(tuning_document()["collective_floor"]["of_line_rate"])


def least_collective_message() -> int:
    """The smallest message in bytes for which a collective can be held to a floor."""
    return int(tuning_document()["collective_floor"]["least_message_gib"]) * 2**30
