"""Reader of `data/agent_sections.json`: what the CloudWatch agent can publish, section by section."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ultracluster.values import dataclass

__all__ = [
    "AgentSection",
    "agent_sections",
    "container_insights_metrics",
    "default_namespace",
    "host_dimension",
    "nitro_of_metric",
    "placeholders_since",
]

DATA_FILE = Path(__file__).with_name("data") / "agent_sections.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSection:
    """One section of `metrics_collected`.

    Attributes:
        name: as in the configuration.
        prefix: in front of a measurement, it is the name in CloudWatch.
        dimensions: that every metric of the section carries.
        measurements: all that exist.
    """

    name: str
    prefix: str
    dimensions: frozenset[str]
    measurements: frozenset[str]


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return document


@cache
def agent_sections() -> Mapping[str, AgentSection]:
    """The sections by name; what others publish is not told by a configuration."""
    return {
        name: AgentSection(
            name=name,
            prefix=row["prefix"],
            dimensions=frozenset(row["dimensions"]),
            measurements=frozenset(row["measurements"]),
        )
        for name, row in _document()["sections"].items()
    }


def default_namespace() -> str:
    """The namespace of an agent that names none."""
    return str(_document()["default_namespace"])


def host_dimension() -> str:
    """The dimension of an agent that appends none."""
    return str(_document()["host_dimension"])


def placeholders_since() -> str:
    """The first version that fills placeholders in below a section."""
    return str(_document()["placeholders_in_sections_from"]["version"])


@cache
def nitro_of_metric(name: str) -> int | None:
    """The lowest Nitro version whose devices count a metric; None for one that all have."""
    row = _document()["only_from_nitro"]
    return int(row["nitro_version"]) if name in row["metrics"] else None


@cache
def container_insights_metrics() -> tuple[str, frozenset[str]]:
    """The namespace of Container Insights, and its metrics of accelerators and fabric."""
    row = _document()["container_insights"]
    return row["namespace"], frozenset(row["metrics"])
