"""Reader of `data/batch.json`: what AWS Batch accepts in environments and multi-node job definitions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ultracluster.values import dataclass

__all__ = ["BatchFacts", "batch_facts"]

DATA_FILE = Path(__file__).with_name("data") / "batch.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFacts:
    """What Batch accepts.

    Attributes:
        most_node_ranges: ranges of one multi-node job definition.
        job_definition_bytes: size of one job definition.
        most_overrides: launch template overrides of one environment.
        bundles: names that leave the instance types to Batch.
        spot_strategies: allocation strategies of Type SPOT only.
        on_demand_strategies: allocation strategies of Type EC2 only.
        fixed_strategy: the default strategy, which excludes infrastructure updates.
        blocked_image_types: image types that new environments cannot have, each with the one in its place.
        blocked_since: since when, as YYYY-MM-DD.
        ignored_settings: launch template properties without effect, each with where the setting belongs.
        device_permissions: what a container may do with an EFA device.
        efa_device: path of an EFA device before its number.
        neuron_device: path of a Neuron device before its number.
        managed_type: Type of the managed environments that run multi-node jobs.
    """

    most_node_ranges: int
    job_definition_bytes: int
    most_overrides: int
    bundles: tuple[str, ...]
    spot_strategies: tuple[str, ...]
    on_demand_strategies: tuple[str, ...]
    fixed_strategy: str
    blocked_image_types: Mapping[str, str]
    blocked_since: str
    ignored_settings: Mapping[str, str]
    device_permissions: tuple[str, ...]
    efa_device: str
    neuron_device: str
    managed_type: str


@cache
def batch_facts() -> BatchFacts:
    """The facts, read once."""
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    value: dict[str, Any] = {
        key: tuple(row["value"]) if isinstance(row["value"], list) else row["value"]
        for key, row in document.items()
        if isinstance(row, dict) and "value" in row
    }
    return BatchFacts(**value)
