"""Reader of `data/regions.json`: the Regions of AWS and their partitions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

__all__ = ["partitions"]

DATA_FILE = Path(__file__).with_name("data") / "regions.json"


@cache
def partitions() -> Mapping[str, str]:
    """Partition of each known Region; a Region that is missing may be newer than the file."""
    document = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return {region: partition for partition, regions in document["regions"].items() for region in regions}
