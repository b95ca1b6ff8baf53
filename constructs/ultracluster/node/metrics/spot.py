"""Spot notices of this node, each counted once."""

import time
import urllib.request
from typing import Any, Optional

from .statsd import send

METADATA = "http://169.254.169.254/latest/"
NOTICES = {
    "spot/instance-action": "spot_interruption_notices",
    "events/recommendations/rebalance": "spot_rebalance_recommendations",
}


def fetch(path: str, method: str = "GET", **headers: str) -> Optional[str]:
    """A value of the instance metadata; None when there is none."""
    named = {f"X-aws-ec2-metadata-{key.replace('_', '-')}": value for key, value in headers.items()}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(METADATA + path, headers=named, method=method), timeout=2
        ) as answer:
            return str(answer.read().decode())
    except OSError:
        return None


def watch(settings: dict[str, Any]) -> None:
    """Look every few seconds: two minutes are left from the notice to the end."""
    seen: set[str] = set()
    while True:
        look(seen)
        time.sleep(settings["spot_period_s"])


def look(seen: set[str]) -> None:
    """Count the notices that stand now and did not before."""
    token = fetch("api/token", "PUT", token_ttl_seconds="60")
    for path, name in NOTICES.items():
        if token and path not in seen and fetch("meta-data/" + path, token=token):
            seen.add(path)
            send(name, 1)
