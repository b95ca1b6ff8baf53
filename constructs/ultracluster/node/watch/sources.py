"""Where notices come from, and how each kind is written.

A source gives the notices that stand at the moment as `{id: when it happens}`, in seconds since 1970, None when the
notice does not say. The id tells one notice from the next of the same kind.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable

from ..host import Node

TYPE_CHECKING = False  # that of `typing` would load it, half a megabyte for the program that watches
if TYPE_CHECKING:
    from typing import Any

Found = dict[str, "float | None"]
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z", re.ASCII)
_NAMED = re.compile(r"(\d\d?) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT", re.ASCII)
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_MARCH, _DECEMBER = 3, 12
_DAYS_TO_1970 = 719468  # from the first of March of the year 0
_FOREVER = 10**9


class Source:
    """One kind of notice.

    Attributes:
        kind: its name.
        poll_s: seconds between two looks.
        notice_s: time that is left at most.
        leaving: whether the node goes away.
        completes: whether the termination hook may wait for the node.
    """

    def __init__(self, row: dict[str, Any], read: Callable[[str | None], Found]) -> None:
        self.kind: str = row["kind"]
        self.path: str | None = row["path"]
        self.poll_s: float = row["poll_s"]
        self.notice_s: float = row["notice_s"]
        self.leaving: bool = row["leaving"]
        self.completes: bool = row["completes"]
        self._read = read

    def look(self, node: Node) -> Found:
        """The notices that stand now.

        Raises:
            ImdsError: the metadata service gives no answer; then nothing is known.
        """
        return self._read(node.imds.get(self.path) if self.path else None)


def sources(node: Node, wall: Callable[[], float] = time.time) -> list[Source]:
    """The sources of this node, those first that leave the least time.

    Args:
        node: with its settings; a fleet that is not on Spot cannot be interrupted.
        wall: seconds since 1970.
    """
    rows = sorted(node.facts["watch"]["notices"], key=lambda row: row["poll_s"])
    return [Source(row, _reader(row, node, wall)) for row in rows if _applies(row, node)]


def _applies(row: dict[str, Any], node: Node) -> bool:
    if row["shape"] in ("spot", "rebalance"):
        return bool(node.settings.get("spot", True))
    if row["shape"] == "capacity-block":
        return bool(node.settings.get("capacity_block_end"))
    return row["shape"] != "lifecycle" or bool(node.settings.get("group", True))


def _reader(row: dict[str, Any], node: Node, wall: Callable[[], float]) -> Callable[[str | None], Found]:
    if row["shape"] == "maintenance-start":
        return lambda text: _soon(maintenance(text), row["notice_s"], wall())
    if row["shape"] == "capacity-block":
        return CapacityBlock(node, row["notice_s"], wall)
    readers = {"spot": spot, "rebalance": rebalance, "lifecycle": lifecycle, "maintenance": maintenance}
    return readers[row["shape"]]


def spot(text: str | None) -> Found:
    """`{"action": "terminate", "time": "2026-09-18T08:22:00Z"}`; what cannot be read still is a notice."""
    if text is None:
        return {}
    found = _object(text)
    when = str(found.get("time", ""))
    return {f"spot-interruption {found.get('action', 'terminate')} {when}".strip(): seconds(when)}


def rebalance(text: str | None) -> Found:
    """`{"noticeTime": "2026-11-05T08:22:00Z"}`, the time at which it was given."""
    if text is None:
        return {}
    return {f"rebalance {_object(text).get('noticeTime', '')}".strip(): None}


def lifecycle(text: str | None) -> Found:
    """The state that the group moves the node to."""
    return {"termination": None} if text is not None and text.strip() == "Terminated" else {}


def maintenance(text: str | None) -> Found:
    """A list of `{"Code", "EventId", "NotBefore": "21 Jan 2026 09:00:43 GMT", "State": "active"}`."""
    found: Found = {}
    for event in _list(text):
        if isinstance(event, dict) and event.get("State", "active") == "active":
            name = f"maintenance {event.get('Code', 'event')} {event.get('EventId', '')}".strip()
            found[name] = seconds(str(event.get("NotBefore", "")))
    return found


def _soon(events: Found, notice_s: float, now: float) -> Found:
    return {
        name.replace("maintenance", "maintenance-start", 1): when
        for name, when in events.items()
        if when is not None and when - now <= notice_s
    }


class CapacityBlock:
    """The end of the node's Capacity Block, which no metadata tell: it stands in the settings.

    A single look may fall into a jump of the clock, so two in a row have to agree.

    Args:
        node: with `capacity_block_end` in its settings.
        notice_s: how long before the fleet is scaled in.
        wall: seconds since 1970.
    """

    def __init__(self, node: Node, notice_s: float, wall: Callable[[], float]) -> None:
        self._name = f"capacity-block-end {node.settings['capacity_block_end']}"
        end = seconds(node.settings["capacity_block_end"])
        lead = node.instance_type().get("block_lead_s", 0) if end is not None else 0
        self._leaves = (end or float(_FOREVER) * _FOREVER) - lead
        self._notice_s, self._wall, self._seen = notice_s, wall, False

    def __call__(self, _text: str | None) -> Found:
        """The notice, from its time on."""
        due = self._leaves - self._wall() <= self._notice_s
        before, self._seen = self._seen, due
        return {self._name: self._leaves} if due and before else {}


def seconds(text: str) -> float | None:
    """Seconds since 1970 of either way in which times are written; None for anything else.

    By hand: `time.strptime` loads a calendar, a locale and a megabyte with them.
    """
    iso, named = _ISO.fullmatch(text), _NAMED.fullmatch(text)
    if iso:
        year, month, day, hour, minute, second = map(int, iso.groups())
    elif named and named[2] in _MONTHS:
        day, year, hour, minute, second = (int(named[group]) for group in (1, 3, 4, 5, 6))
        month = _MONTHS.index(named[2]) // 3 + 1
    else:
        return None
    if not (1 <= month <= _DECEMBER and year):
        return None
    return ((_days(year, month) + day - 1) * 24 + hour) * 3600 + minute * 60 + second


def _days(year: int, month: int) -> int:
    """Days from the first of January 1970 to the first of a month: years are taken to begin in March."""
    year -= month < _MARCH
    ahead = (153 * ((month - _MARCH) % 12) + 2) // 5
    return 365 * year + year // 4 - year // 100 + year // 400 + ahead - _DAYS_TO_1970


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _list(text: str | None) -> list[Any]:
    try:
        found = json.loads(text or "[]")
    except ValueError:
        return []
    return found if isinstance(found, list) else []
