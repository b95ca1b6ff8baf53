"""Reader of `data/nvlink.json`: how many NVLinks a healthy GPU shows."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

__all__ = ["nvlinks"]

DATA_FILE = Path(__file__).with_name("data") / "nvlink.json"


@cache
def _links() -> dict[str, int]:
    return {row["name"]: row["links"] for row in json.loads(DATA_FILE.read_text(encoding="utf-8"))["gpus"]}


def nvlinks(accelerator_name: str) -> int:
    """Links of one GPU with the catalogue's product name; 0 for one that has none."""
    return next((links for name, links in _links().items() if accelerator_name.startswith(name)), 0)
