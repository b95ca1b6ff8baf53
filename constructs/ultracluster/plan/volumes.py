"""The root volume: size, IOPS and throughput that go together, under the device name of the image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ultracluster.findings import Finding
    from ultracluster.plan.decision import Decision

__all__ = ["RootVolume", "RootVolumePlan", "check_root_volume", "plan_root_volume"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RootVolume:
    """The gp3 root volume of a node."""

    size_gib: int = 500
    iops: int | None = None
    throughput_mibps: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RootVolumePlan:
    """The block device mapping of the root volume: gp3, encrypted, deleted with the instance."""

    device_name: str
    size_gib: int
    iops: int
    throughput_mibps: int
    decisions: tuple[Decision, ...]
    warnings: tuple[Finding, ...]


def check_root_volume(
    volume: RootVolume, *, recommended_size_gib: int | None = None, subject: str
) -> tuple[Finding, ...]:
    """All faults of a root volume."""
    raise NotImplementedError


def plan_root_volume(
    volume: RootVolume, *, device_name: str, recommended_size_gib: int | None = None, subject: str
) -> RootVolumePlan:
    """Fill in IOPS and throughput."""
    raise NotImplementedError
