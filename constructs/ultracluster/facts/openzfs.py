"""Reader of `data/openzfs.json`: deployment types of FSx for OpenZFS."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ultracluster.values import dataclass

__all__ = ["OpenZfsFacts", "openzfs_deployments"]

DATA_FILE = Path(__file__).with_name("data") / "openzfs.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenZfsFacts:
    """One deployment type.

    Attributes:
        name: as the API spells it.
        throughput_mbps: throughput capacities in MB/s.
        subnets: how many subnets it stands in.
    """

    name: str
    throughput_mbps: tuple[int, ...]
    subnets: int


@cache
def openzfs_deployments() -> Mapping[str, OpenZfsFacts]:
    """All deployment types by name."""
    rows = json.loads(DATA_FILE.read_text(encoding="utf-8"))["deployments"]
    return {
        name: OpenZfsFacts(name=name, throughput_mbps=tuple(row["throughput_mbps"]), subnets=row["subnets"])
        for name, row in rows.items()
    }
