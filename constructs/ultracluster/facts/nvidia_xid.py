"""Reader of `data/nvidia_xid.json`: what to do after an XID of the NVIDIA driver."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

__all__ = ["critical_xids", "xid_actions", "xid_meanings"]

DATA_FILE = Path(__file__).with_name("data") / "nvidia_xid.json"


@cache
def xid_actions() -> Mapping[int, str]:
    """XID to action: ignore, monitor, reboot, isolate or replace."""
    return {row["xid"]: row["action"] for row in json.loads(DATA_FILE.read_text(encoding="utf-8"))["xids"]}


@cache
def xid_meanings() -> Mapping[int, str]:
    """XID to what it says, in few words."""
    return {row["xid"]: row["meaning"] for row in json.loads(DATA_FILE.read_text(encoding="utf-8"))["xids"]}


@cache
def critical_xids() -> tuple[int, ...]:
    """XIDs after which the node takes no more work: it is rebooted, kept out or replaced."""
    critical = json.loads(DATA_FILE.read_text(encoding="utf-8"))["critical_actions"]
    return tuple(sorted(xid for xid, action in xid_actions().items() if action in critical))
