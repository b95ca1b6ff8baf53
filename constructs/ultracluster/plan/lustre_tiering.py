"""Rules on Intelligent-Tiering: throughput and read cache instead of capacity and tier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ultracluster.facts.lustre import lustre_facts
from ultracluster.findings import Finding, finding
from ultracluster.plan.lustre_grid import nearest_on_grid, on_grid, tiering_values
from ultracluster.plan.paths import check_choice

if TYPE_CHECKING:
    from ultracluster.plan.lustre_deployments import DeploymentFields, ReadCache

__all__ = ["check_tiering", "check_without_tiering"]


def check_tiering(fields: DeploymentFields, subject: str) -> Iterator[Finding]:
    """Every fault of an Intelligent-Tiering file system."""
    for name in ("capacity_gib", "throughput_mbps_per_tib"):
        value = getattr(fields, name)
        if value is not None:
            yield finding(
                "UC-LUS-014",
                f"{subject}.{name}",
                f"{value} cannot be set: Intelligent-Tiering grows by itself and is bought by throughput",
                "leave it out, and give throughput_capacity_mbps",
            )
    yield from _check_throughput(fields, subject)
    if fields.read_cache is None:
        yield finding(
            "UC-LUS-014",
            f"{subject}.read_cache",
            "is missing; Intelligent-Tiering needs a read cache configuration",
            "size it in proportion to the throughput, or ask for NO_CACHE",
        )
    else:
        yield from _check_read_cache(fields.read_cache, fields.throughput_capacity_mbps, f"{subject}.read_cache")


def check_without_tiering(fields: DeploymentFields, subject: str) -> Iterator[Finding]:
    """Settings of Intelligent-Tiering on a file system that is none."""
    for name in ("throughput_capacity_mbps", "read_cache"):
        if getattr(fields, name) is not None:
            yield finding(
                "UC-LUS-014",
                f"{subject}.{name}",
                f"belongs to Intelligent-Tiering, not to {fields.storage_type or 'SSD'} storage",
                "leave it out, or use Intelligent-Tiering",
            )


def _check_throughput(fields: DeploymentFields, subject: str) -> Iterator[Finding]:
    where, value = f"{subject}.throughput_capacity_mbps", fields.throughput_capacity_mbps
    listed, step, most = tiering_values()
    grid = f"{', '.join(map(str, listed))} or n x {step} up to {most} MB/s"
    if value is None:
        yield finding("UC-LUS-014", where, f"is missing; it is {grid}", f"use {step} or more")
    elif value > most:
        yield finding("UC-LUS-014", where, f"{value} is above {most} MB/s", f"use {most} or less")
    elif not on_grid(value, listed=listed, step=step):
        nearest = " and ".join(map(str, nearest_on_grid(value, listed=listed, step=step)))
        yield finding("UC-LUS-014", where, f"{value} is not {grid}", f"nearest: {nearest}")
    elif fields.efa and value % step:
        yield finding(
            "UC-LUS-014",
            where,
            f"{value} does not go with EFA, which needs a multiple of {step} MB/s",
            f"use {(value // step + 1) * step}, or drop efa",
        )


def _check_read_cache(cache: ReadCache, throughput: int | None, subject: str) -> Iterator[Finding]:
    facts = lustre_facts()
    yield from check_choice(cache.mode, facts.tiering_cache_modes, subject=f"{subject}.mode")
    fixed = cache.mode == "USER_PROVISIONED"
    if not fixed and cache.size_gib is not None:
        yield finding(
            "UC-LUS-014",
            f"{subject}.size_gib",
            f"{cache.size_gib} GiB goes with USER_PROVISIONED, not with {cache.mode}",
            "leave it out",
        )
    if not fixed or not throughput or throughput < 0:
        return
    low, high = (bound * throughput // facts.tiering_throughput_step for bound in facts.tiering_cache_gib_per_step)
    if cache.size_gib is None or not low <= cache.size_gib <= high:
        found = "is missing" if cache.size_gib is None else f"{cache.size_gib} GiB is out of range"
        yield finding(
            "UC-LUS-014",
            f"{subject}.size_gib",
            f"{found}; at {throughput} MB/s the cache is {low} to {high} GiB",
            f"use {low} to {high}, or size it in proportion to the throughput",
        )
