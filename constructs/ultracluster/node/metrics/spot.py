"""Spot notices of this node, each counted once."""

from __future__ import annotations

import time
from typing import Any

from ..imds import Imds, ImdsError
from .statsd import send

NOTICES = {
    "spot/instance-action": "spot_interruption_notices",
    "events/recommendations/rebalance": "spot_rebalance_recommendations",
}


def watch(settings: dict[str, Any]) -> None:
    """Look every few seconds: two minutes are left from the notice to the end."""
    imds, seen = Imds(timeout_s=2, attempts=1), set[str]()
    while True:
        look(imds, seen)
        time.sleep(settings["spot_period_s"])


def look(imds: Imds, seen: set[str]) -> None:
    """Count the notices that stand now and did not before; a service that is silent has none to count."""
    for path, name in NOTICES.items():
        if path in seen:
            continue
        try:
            notice = imds.get(path)
        except ImdsError:
            return
        if notice:
            seen.add(path)
            send(name, 1)
