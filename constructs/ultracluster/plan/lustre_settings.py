"""Rules on what surrounds the shape: key, backups, logs, root squash, times, checkpoints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ultracluster.facts.lustre import DeploymentFacts, lustre_facts
from ultracluster.findings import Finding, finding
from ultracluster.plan.paths import check_choice, check_mount_path

if TYPE_CHECKING:
    from ultracluster.plan.lustre_request import LustreRequest, LustreThroughput

__all__ = ["check_checkpoints", "check_settings"]

_WEEKLY = re.compile(r"[1-7]:([01]\d|2[0-3]):[0-5]\d")
_DAILY = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_SQUASH = re.compile(r"(\d{1,10}):(\d{1,10})")
_HIGHEST_ID = 2**32 - 2  # 2**32 - 1 means "no user" to the kernel


def check_settings(request: LustreRequest, facts: DeploymentFacts | None, subject: str) -> Iterator[Finding]:
    """Every fault of the settings; those that need a known deployment are left out when there is none."""
    limits = lustre_facts()
    yield from check_mount_path(request.mount_path, subject=f"{subject}.mount_path")
    yield from check_choice(request.compression, limits.compressions, subject=f"{subject}.compression")
    yield from check_choice(request.removal_policy, ("retain", "destroy"), subject=f"{subject}.removal_policy")
    if request.log_level is not None and request.log_level not in limits.log_levels:
        yield finding(
            "UC-LUS-022",
            f"{subject}.log_level",
            f"{request.log_level!r} is none of {', '.join(limits.log_levels)}",
            "use WARN_ERROR, or DISABLED for none",
        )
    if request.maintenance_start_time is not None and not _WEEKLY.fullmatch(request.maintenance_start_time):
        yield finding(
            "UC-STG-004",
            f"{subject}.maintenance_start_time",
            f"{request.maintenance_start_time!r} is not d:HH:MM with d from 1 (Monday) to 7",
            'write it like "7:04:30"',
        )
    if request.customer_key and facts is not None and not facts.persistent:
        yield finding(
            "UC-LUS-016",
            f"{subject}.encryption_key",
            f"{facts.deployment_type} is encrypted with a key of the service and takes no other",
            "leave the key out, or use a persistent deployment",
        )
    yield from _check_backups(request, facts, subject)
    yield from _check_root_squash(request, subject)


def check_checkpoints(
    request: LustreRequest, facts: DeploymentFacts, throughput: LustreThroughput, subject: str
) -> Iterator[Finding]:
    """Warnings for a file system that checkpoints are written to."""
    load = request.checkpoints
    if load is None:
        return
    if not facts.persistent and not any(link.auto_export for link in request.data_repositories):
        yield finding(
            "UC-LUS-024",
            f"{subject}.checkpoints",
            f"{facts.deployment_type} keeps one copy on servers that are not replaced: a lost server loses checkpoints",
            "export the checkpoint directory to S3 (auto_export), or use a persistent deployment",
        )
    seconds = load.size_gb * 1000 / throughput.baseline_mbps
    allowed = load.interval_minutes * 60 * lustre_facts().checkpoint_share
    if seconds > allowed:
        needed = load.size_gb * 1000 / max(allowed, 1)
        yield finding(
            "UC-LUS-025",
            f"{subject}.checkpoints",
            f"{load.size_gb:g} GB at {throughput.baseline_mbps} MB/s take {seconds / 60:.1f} min of every "
            f"{load.interval_minutes:g} min",
            f"raise tier or capacity to {needed:.0f} MB/s, or save less often",
        )


def _check_backups(request: LustreRequest, facts: DeploymentFacts | None, subject: str) -> Iterator[Finding]:
    days, linked = request.backup_retention_days, bool(request.data_repositories)
    low, high = lustre_facts().backup_days
    if days is not None and not low <= days <= high:
        yield finding(
            "UC-LUS-017", f"{subject}.backup_retention_days", f"{days} days is out of range", f"use {low} to {high}"
        )
    elif days and facts is not None and not facts.persistent:
        yield finding(
            "UC-LUS-017",
            f"{subject}.backup_retention_days",
            f"{facts.deployment_type} has no backups",
            "leave it out, and export to S3 what has to last",
        )
    elif days and linked:
        yield finding(
            "UC-LUS-017",
            f"{subject}.backup_retention_days",
            "a file system that is linked to S3 cannot be backed up",
            "leave it out: what has to last is exported to S3",
        )
    yield from _check_backup_time(request, subject)
    if request.copy_tags_to_backups and linked:
        yield finding(
            "UC-LUS-017",
            f"{subject}.copy_tags_to_backups",
            "is refused on a file system that is linked to S3",
            "leave it out",
        )


def _check_backup_time(request: LustreRequest, subject: str) -> Iterator[Finding]:
    if request.backup_start_time is not None and not _DAILY.fullmatch(request.backup_start_time):
        yield finding(
            "UC-LUS-017",
            f"{subject}.backup_start_time",
            f"{request.backup_start_time!r} is not HH:MM",
            'write it like "04:30"',
        )
    if request.backup_start_time is not None and not request.backup_retention_days:
        yield finding(
            "UC-LUS-017",
            f"{subject}.backup_start_time",
            "has no effect without a retention, and the service refuses it",
            "set backup_retention_days, or leave it out",
        )


def _check_root_squash(request: LustreRequest, subject: str) -> Iterator[Finding]:
    limits = lustre_facts()
    where, value = f"{subject}.root_squash", request.root_squash
    if value is not None:
        match = _SQUASH.fullmatch(value)
        ids = tuple(int(part) for part in match.groups()) if match else ()
        if not match or any(each > _HIGHEST_ID for each in ids) or (0 in ids and any(ids)):
            yield finding(
                "UC-LUS-023",
                where,
                f"{value!r} is not UID:GID with both 1 to {_HIGHEST_ID}, or 0:0 for off",
                'write it like "65534:65534"',
            )
    nids = request.no_squash_nids
    if nids and value is None:
        yield finding(
            "UC-LUS-023",
            f"{subject}.no_squash_nids",
            "has no meaning without root_squash",
            "set root_squash, or drop it",
        )
    if len(nids) > limits.no_squash_nids:
        yield finding(
            "UC-LUS-023",
            f"{subject}.no_squash_nids",
            f"{len(nids)} clients are named, the limit is {limits.no_squash_nids}",
            "write address ranges, like 10.0.[2-10].[1-255]@tcp",
        )
    for index, nid in enumerate(nids):
        if not re.fullmatch(limits.no_squash_nid, nid):
            yield finding(
                "UC-LUS-023",
                f"{subject}.no_squash_nids[{index}]",
                f"{nid!r} is not a Lustre network id",
                "write it like 10.0.1.6@tcp",
            )
