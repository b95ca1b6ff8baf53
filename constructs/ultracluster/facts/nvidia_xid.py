"""Reader of `data/nvidia_xid.json`: what to do after an XID of the NVIDIA driver."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

__all__ = ["critical_xids", "xid_actions"]

DATA_FILE = Path(__file__).with_name("data") / "nvidia_xid.json"


@cache
def xid_actions() -> Mapping[int, str]:
    """XID to action: ignore, monitor, reboot or replace."""
    return {row["xid"]: row["action"] for row in json.loads(DATA_FILE.read_text(encoding="utf-8"))["xids"]}


@cache
def critical_xids() -> tuple[int, ...]:
    """XIDs after which the node has to be rebooted or replaced."""
    critical = json.loads(DATA_FILE.read_text(encoding="utf-8"))["critical_actions"]
    return tuple(sorted(xid for xid, action in xid_actions().items() if action in critical))
