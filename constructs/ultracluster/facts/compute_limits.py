"""Reader of `data/compute_limits.json`: single numbers and short lists of EC2, Auto Scaling and VPC for the plans."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["limit", "limit_list"]

DATA_FILE = Path(__file__).with_name("data") / "compute_limits.json"


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return document


def limit(name: str) -> int:
    """The value of one limit; its unit and source stand beside it in the data file.

    Raises:
        KeyError: no such limit, which is a fault of this library.
    """
    return int(_document()["limits"][name]["value"])


def limit_list(name: str) -> tuple[str, ...]:
    """The values of one short list; its source stands beside it in the data file.

    Raises:
        KeyError: no such list, which is a fault of this library.
    """
    return tuple(_document()["lists"][name]["value"])
