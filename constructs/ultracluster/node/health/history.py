"""Faults of the past: one that comes again after a reboot was not healed by it; a measure is taken once per fault."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import NodeError
from ..files import read_text, write_atomically
from ..results import FAIL, Result

if TYPE_CHECKING:
    from ..host import Node

__all__ = ["LOCK", "STATE", "History"]

STATE = "/var/lib/ultracluster/health.json"
LOCK = "/run/ultracluster/health.lock"
_BOOT = "/proc/sys/kernel/random/boot_id"
_DAY_S = 86400


class History:
    """What was seen and done, kept over reboots; of another instance, of which an image was made, nothing counts.

    Args:
        node: the node.
        instance: its id.
        now: seconds since 1970.
    """

    def __init__(self, node: Node, instance: str, *, now: Callable[[], float] = time.time) -> None:
        self._node, self._now = node, now
        self._boot = read_text(node.path(_BOOT), "").strip() or "unknown"
        self._state = self._read(instance)
        self._kept = json.dumps(self._state)

    def _read(self, instance: str) -> dict[str, Any]:
        try:
            found = json.loads(read_text(self._node.path(STATE), "{}"))
        except ValueError:
            self._node.say(f"{STATE} is no JSON; earlier faults are forgotten")
            found = {}
        if not isinstance(found, dict) or found.get("instance") != instance:
            found = {}
        faults = found.get("faults")
        known = {key: row for key, row in faults.items() if isinstance(row, dict)} if isinstance(faults, dict) else {}
        return {"schema": 1, "instance": instance, "faults": known}

    def escalated(self, results: Iterable[Result], facts: Mapping[str, Any]) -> tuple[Result, ...]:
        """Results with the heavier action for what a reboot did not heal; every fault is noted.

        Args:
            results: of one run.
            facts: section `health` of the facts.
        """
        rules = facts["recurring"]
        self._forget(rules["within_days"] * _DAY_S)
        return tuple(self._seen(result, rules) if result.status == FAIL else result for result in results)

    def _forget(self, seconds: float) -> None:
        faults, now = self._state["faults"], self._now()
        self._state["faults"] = {key: row for key, row in faults.items() if now - _number(row.get("last")) <= seconds}

    def _seen(self, result: Result, rules: Mapping[str, Any]) -> Result:
        row = self._state["faults"].setdefault(result.fault, {"first": self._now(), "boots": [], "measures": {}})
        boots = row.get("boots") if isinstance(row.get("boots"), list) else []
        before = [boot for boot in boots if boot != self._boot]
        row.update(last=self._now(), boots=[*before[-9:], self._boot])
        name = result.fault.partition("@")[0]
        recurs = name in rules["faults"] or name.startswith("xid-")
        heavier = rules["after_reboot"].get(result.action)
        if not (before and recurs and heavier):
            return result
        return replace(result, action=heavier, message=f"{result.message}; again after a reboot")

    def taken(self, fault: str, measure: str) -> bool:
        """Whether a measure was taken for a fault before."""
        measures = self._state["faults"].get(fault, {}).get("measures")
        return isinstance(measures, dict) and measure in measures

    def take(self, faults: Iterable[str], measure: str) -> None:
        """Note that a measure was taken for faults."""
        for fault in faults:
            row = self._state["faults"].setdefault(fault, {"first": self._now(), "last": self._now(), "boots": []})
            measures = row.get("measures")
            row["measures"] = {**(measures if isinstance(measures, dict) else {}), measure: self._now()}

    def write(self) -> None:
        """Keep it; without faults nothing changes, and nothing is written."""
        state = json.dumps(self._state)
        if state == self._kept:
            return
        try:
            write_atomically(self._node.path(STATE), state + "\n")
        except OSError as error:
            raise NodeError(f"{STATE} cannot be written ({error}); make room, and run as root") from error
        self._kept = state


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
