"""Reader of `data/efs.json`: modes, limits and client options of Amazon EFS."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from ultracluster.values import dataclass

__all__ = ["EfsFacts", "efs_facts"]

DATA_FILE = Path(__file__).with_name("data") / "efs.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class EfsFacts:
    """What EFS accepts.

    Attributes:
        throughput_modes: spelled as in the API.
        performance_modes: likewise.
        provisioned_mibps: lowest and highest provisioned throughput in MiB/s.
        lifecycle_days: days after which a file can move to a colder class.
        port: TCP port of NFS.
        access_point_path: shape of an access point's directory.
        access_point_path_length: most characters of it.
        highest_id: highest POSIX user or group id.
        permissions: shape of an octal mode.
        client_actions: what a client may be allowed to do.
        mount_options: options of the mount helper for a client that keeps TLS.
        large_fleet_nodes: nodes from which reads of one file system become the limit.
    """

    throughput_modes: tuple[str, ...]
    performance_modes: tuple[str, ...]
    provisioned_mibps: tuple[float, float]
    lifecycle_days: tuple[int, ...]
    port: int
    access_point_path: re.Pattern[str]
    access_point_path_length: int
    highest_id: int
    permissions: re.Pattern[str]
    client_actions: tuple[str, ...]
    mount_options: tuple[str, ...]
    large_fleet_nodes: int


@cache
def efs_facts() -> EfsFacts:
    """The facts, read once."""
    document = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    value = {key: row["value"] for key, row in document.items() if isinstance(row, dict) and "value" in row}
    low, high = value["provisioned_mibps"]
    return EfsFacts(
        throughput_modes=tuple(value["throughput_modes"]),
        performance_modes=tuple(value["performance_modes"]),
        provisioned_mibps=(low, high),
        lifecycle_days=tuple(value["lifecycle_days"]),
        port=value["port"],
        access_point_path=re.compile(value["access_point_path"]),
        access_point_path_length=value["access_point_path_length"],
        highest_id=value["highest_id"],
        permissions=re.compile(value["permissions"]),
        client_actions=tuple(value["client_actions"]),
        mount_options=tuple(value["mount_options"]),
        large_fleet_nodes=value["large_fleet_nodes"],
    )
