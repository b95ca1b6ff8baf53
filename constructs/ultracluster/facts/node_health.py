"""Reader of `data/node_health.json`: what the health program looks for, and what a fault leads to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["actions", "collective_facts", "fabric_software", "fault_actions", "health_facts"]

DATA_FILE = Path(__file__).with_name("data") / "node_health.json"
_SECTIONS = ("limits", "throttle_reasons", "recovery_actions", "network_counters", "dcgm", "measures")
_PROSE = {"reason", "source", "confidence", "evidence"}


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return document


def actions() -> tuple[str, ...]:
    """The scale on which every fault is judged, from `none` to `replace`."""
    return tuple(row["name"] for row in _document()["actions"])


def fault_actions() -> Mapping[str, str]:
    """Fault to the action that it leads to when it is seen for the first time."""
    return {row["fault"]: row["action"] for row in _document()["faults"]}


def health_facts() -> dict[str, Any]:
    """What a node needs for its checks: scale, faults, limits, meanings of codes; without reasons and sources."""
    document = _document()
    rows = document["faults"]
    return {
        "actions": list(actions()),
        "unfit_from": document["unfit_from"],
        "faults": dict(fault_actions()),
        "recurring": {**_bare(document["recurring"]), "faults": [row["fault"] for row in rows if row["recurs"]]},
        **{key: _bare(document[key]) for key in _SECTIONS},
    }


def collective_facts() -> dict[str, Any]:
    """Floors for collectives by number of nodes, as shares of the line rate, and the least message in GiB."""
    bare: dict[str, Any] = _bare(_document()["collectives"])
    return bare


def fabric_software() -> list[dict[str, Any]]:
    """Least versions of libfabric, plugin, EFA installer, driver and kernel; a row without families is for all."""
    rows: list[dict[str, Any]] = _bare(_document()["fabric_software"])
    return rows


def _bare(value: Any) -> Any:  # noqa: ANN401 - any part of a JSON document
    if isinstance(value, dict):
        return {key: _bare(entry) for key, entry in value.items() if key not in _PROSE}
    return [_bare(entry) for entry in value] if isinstance(value, list) else value
