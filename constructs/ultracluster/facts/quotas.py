"""Reader of `data/vcpu_quotas.json`: names of the EC2 vCPU quotas and where a larger one is asked for."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from ultracluster.facts.regions import partitions

__all__ = ["QUOTA_SERVICE", "quota_console_url", "quota_name"]

DATA_FILE = Path(__file__).with_name("data") / "vcpu_quotas.json"
QUOTA_SERVICE = "ec2"
"""The service code under which Service Quotas keeps them."""


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return document


def quota_name(code: str) -> str:
    """Name of a quota in the console; empty for a code that is not on record."""
    return str(_document()["quotas"].get(code, ""))


def quota_console_url(code: str, *, region: str) -> str | None:
    """Page of the console on which a larger quota is asked for; None outside the partition whose address is known."""
    document = _document()
    if partitions().get(region) != document["console_partition"]:
        return None
    return str(document["console"].format(service=document["service_code"], code=code, region=region))
