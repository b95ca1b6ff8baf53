"""Reader of `data/node_tuning.json`: every setting of a node with its reason, its scope, its stage and its source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ultracluster.values import dataclass

__all__ = [
    "LeftAlone",
    "Source",
    "Stage",
    "TuningRow",
    "boot_opt_ins",
    "least_nodes",
    "left_alone",
    "opt_ins",
    "tuning_document",
    "tuning_rows",
    "tuning_sources",
]

DATA_FILE = Path(__file__).with_name("data") / "node_tuning.json"
Stage = Literal["image", "boot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningRow:
    """One setting.

    Attributes:
        id: by which files on a node name it.
        kind: how it is set, such as `sysctl`, `limit`, `kernel-argument`, `timer` or `module-option`.
        name: what is set.
        value: to what; `off` for what is masked.
        stages: when it is applied: while an `image` is built, at the first `boot`, or both.
        scope: conditions that all have to hold; empty for every node.
        opt_in: the name by which it is asked for; None for what every node in scope gets.
        reason: why.
        source: keys of `tuning_sources()`.
        confidence: high (documented by the vendor, or measured), medium (a mature peer sets it) or low.
    """

    id: str
    kind: str
    name: str
    value: str
    stages: tuple[Stage, ...]
    scope: Mapping[str, Any]
    reason: str
    source: tuple[str, ...]
    confidence: Literal["high", "medium", "low"]
    opt_in: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftAlone:
    """Something that others set, and this library does not.

    Attributes:
        what: the setting.
        reason: why not.
        source: key of `tuning_sources()`.
    """

    what: str
    reason: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a row comes from.

    Attributes:
        title: of the page or project.
        url: its address.
        as_of: when it was read.
    """

    title: str
    url: str
    as_of: str


@cache
def tuning_document() -> Mapping[str, Any]:
    """The whole file."""
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return document


@cache
def tuning_rows() -> tuple[TuningRow, ...]:
    """All rows, in the order in which they are applied."""
    return tuple(
        TuningRow(**row | {"stages": tuple(row["stages"]), "source": tuple(row["source"])})
        for row in tuning_document()["rows"]
    )


@cache
def opt_ins() -> Mapping[str, str]:
    """The names of what can be asked for, and what each is for."""
    return dict(tuning_document()["opt_ins"])


@cache
def boot_opt_ins() -> tuple[str, ...]:
    """The names that can be asked for on any image: those of rows that a first boot can bring into force."""
    known = {row.opt_in for row in tuning_rows() if "boot" in row.stages}
    return tuple(name for name in opt_ins() if name in known)


@cache
def least_nodes() -> int:
    """The smallest size of a fleet that any row asks for; below it no node has to know how many there are."""
    return min(int(row.scope["min_nodes"]) for row in tuning_rows() if "min_nodes" in row.scope)


@cache
def left_alone() -> tuple[LeftAlone, ...]:
    """What is not set on purpose."""
    return tuple(LeftAlone(**row) for row in tuning_document()["left_alone"])


@cache
def tuning_sources() -> Mapping[str, Source]:
    """The sources by their keys."""
    return {key: Source(**row) for key, row in tuning_document()["sources"].items()}
