"""Records of DescribeInstanceTopology for tests, and a reader of `topology.conf` by its documented grammar."""

from __future__ import annotations

import re
from typing import Any


def records(leaves: int, hosts: int, *, top: str = "nn-top") -> list[dict[str, Any]]:
    """Hosts on leaves below one network node."""
    return [
        {
            "InstanceId": f"i-{leaf * hosts + host:05x}",
            "InstanceType": "p5.48xlarge",
            "GroupName": "train",
            "NetworkNodes": [top, f"nn-mid{leaf // 2:03x}", f"nn-leaf{leaf:03x}"],
            "ZoneId": "use1-az5",
            "AvailabilityZone": "us-east-1e",
        }
        for leaf in range(leaves)
        for host in range(hosts)
    ]


def fleet(size: int) -> list[dict[str, Any]]:
    """A fleet with leaves of sixteen hosts."""
    return records(-(-size // 16), 16)[:size]


def expanded(text: str) -> list[str]:
    """Names of a host list."""
    names: list[str] = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", text):
        prefix, bracket, inside = part.partition("[")
        if not bracket:
            names.append(prefix)
        for span in filter(None, inside.rstrip("]").split(",")):
            first, _, last = span.partition("-")
            names += [f"{prefix}{number}" for number in range(int(first), int(last or first) + 1)]
    return names


def parse_conf(text: str) -> dict[str, dict[str, list[str]]]:
    """`SwitchName=... Nodes=...|Switches=...` lines: switch to what hangs on it, sorted."""
    found = {}
    for line in text.splitlines():
        pairs = dict(word.split("=", 1) for word in line.split())
        name = pairs.pop("SwitchName")
        assert len(pairs) == 1
        assert name not in found
        found[name] = {key: sorted(expanded(value)) for key, value in pairs.items()}
    return found
