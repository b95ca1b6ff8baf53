"""Reader of `data/node_watch.json`: notices that a node is told of, and what follows from each."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["watch_facts"]

DATA_FILE = Path(__file__).with_name("data") / "node_watch.json"
_FOR_READERS = ("because", "source")


@cache
def watch_facts() -> dict[str, Any]:
    """What the program needs: times in seconds, and the notices without reasons and sources."""
    document = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    rows = [{key: value for key, value in row.items() if key not in _FOR_READERS} for row in document["notices"]]
    times = {name: document[name]["value"] for name in ("margin_s", "hook_reserve_s", "kill_after_s")}
    return {**times, "notices": rows}
