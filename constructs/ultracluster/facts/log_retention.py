"""Reader of `data/log_retention.json`: for how many days CloudWatch Logs can keep events."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

__all__ = ["retention_days"]

DATA_FILE = Path(__file__).with_name("data") / "log_retention.json"


@cache
def retention_days() -> tuple[int, ...]:
    """The allowed numbers of days, in rising order."""
    return tuple(json.loads(DATA_FILE.read_text(encoding="utf-8"))["retention_days"])
