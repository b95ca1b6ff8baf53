"""Reader of `data/ebs.json`: the limits of EBS volume types."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from ultracluster.values import dataclass

__all__ = ["VolumeTypeFacts", "gp3"]

DATA_FILE = Path(__file__).with_name("data") / "ebs.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeTypeFacts:
    """Limits of one volume type.

    Attributes:
        min_size_gib: smallest volume in GiB.
        max_size_gib: largest volume in GiB.
        baseline_iops: IOPS that come with every volume, whatever its size.
        max_iops: most IOPS that can be provisioned.
        max_iops_per_gib: most IOPS per GiB, above the baseline.
        baseline_throughput_mibps: throughput that comes with every volume in MiB/s.
        max_throughput_mibps: most throughput that can be provisioned in MiB/s.
        max_throughput_mibps_per_iops: most throughput in MiB/s per provisioned IOPS.
        source: key of the source in the data file.
    """

    min_size_gib: int
    max_size_gib: int
    baseline_iops: int
    max_iops: int
    max_iops_per_gib: int
    baseline_throughput_mibps: int
    max_throughput_mibps: int
    max_throughput_mibps_per_iops: float
    source: str


@cache
def gp3() -> VolumeTypeFacts:
    """The limits of gp3, the type of every root volume."""
    document = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return VolumeTypeFacts(**document["volume_types"]["gp3"])
