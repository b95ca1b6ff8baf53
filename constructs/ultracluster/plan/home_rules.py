"""Rules on a shared home, and between it and the fleets that mount it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ultracluster.facts.efs import efs_facts
from ultracluster.findings import Finding, finding
from ultracluster.plan.paths import check_mount_path

if TYPE_CHECKING:
    from ultracluster.plan.home import HomePlan, HomeRequest
    from ultracluster.plan.storage_client import StorageClient

__all__ = ["check_home", "check_home_clients"]


def check_home(request: HomeRequest, *, subject: str) -> tuple[Finding, ...]:
    """Every fault of the request; never raises."""
    return (
        *check_mount_path(request.mount_path, subject=f"{subject}.mount_path"),
        *_check_modes(request, subject),
        *_check_throughput(request, subject),
        *_check_zones(request, subject),
        *_check_lifecycle(request, subject),
        *_check_access_points(request, subject),
    )


def check_home_clients(plan: HomePlan, clients: Sequence[StorageClient], *, subject: str) -> tuple[Finding, ...]:
    """Every fault between the file system and the fleets that mount it; never raises."""
    return tuple(_check_clients(plan, clients, subject))


def _check_modes(request: HomeRequest, subject: str) -> Iterator[Finding]:
    facts = efs_facts()
    if request.throughput_mode not in facts.throughput_modes:
        allowed = ", ".join(facts.throughput_modes)
        yield finding(
            "UC-EFS-006",
            f"{subject}.throughput_mode",
            f"{request.throughput_mode!r} is not a throughput mode of EFS ({allowed})",
            'use "elastic"',
        )
    if request.performance_mode not in facts.performance_modes:
        allowed = ", ".join(facts.performance_modes)
        yield finding(
            "UC-EFS-006",
            f"{subject}.performance_mode",
            f"{request.performance_mode!r} is not a performance mode of EFS ({allowed})",
            'use "generalPurpose"',
        )
    if request.performance_mode == "maxIO" and (request.one_zone or request.throughput_mode == "elastic"):
        what = "a One Zone file system" if request.one_zone else "elastic throughput"
        yield finding(
            "UC-EFS-006",
            f"{subject}.performance_mode",
            f"maxIO does not go with {what}",
            "use generalPurpose",
        )


def _check_throughput(request: HomeRequest, subject: str) -> Iterator[Finding]:
    facts = efs_facts()
    value, low, high = request.provisioned_throughput_mibps, *facts.provisioned_mibps
    if request.throughput_mode == "provisioned" and (value is None or not low <= value <= high):
        found = "is missing" if value is None else f"{value:g} MiB/s is out of range"
        yield finding(
            "UC-EFS-006",
            f"{subject}.provisioned_throughput_mibps",
            f"{found}; provisioned throughput is {low:g} to {high:g} MiB/s",
            f"give {low:g} to {high:g}, or use elastic throughput",
        )
    if request.throughput_mode != "provisioned" and value is not None:
        yield finding(
            "UC-EFS-006",
            f"{subject}.provisioned_throughput_mibps",
            f"{value:g} MiB/s goes with throughput mode provisioned, not {request.throughput_mode}",
            "leave it out, or set the throughput mode to provisioned",
        )


def _check_zones(request: HomeRequest, subject: str) -> Iterator[Finding]:
    zones = request.availability_zones
    if not zones or len(set(zones)) != len(zones):
        yield finding(
            "UC-EFS-002",
            f"{subject}.availability_zones",
            "a mount target is needed in each zone once" if zones else "no zone is named, so nothing could mount it",
            "name each zone of the fleets once",
        )
    if request.one_zone is not None and zones != (request.one_zone,):
        yield finding(
            "UC-EFS-001",
            f"{subject}.one_zone",
            f"a One Zone file system in {request.one_zone} has its only mount target there, not in {', '.join(zones)}",
            "leave one_zone out for a Regional file system, or use that one zone only",
        )


def _check_lifecycle(request: HomeRequest, subject: str) -> Iterator[Finding]:
    days = efs_facts().lifecycle_days
    infrequent, archive = request.infrequent_access_after_days, request.archive_after_days
    for name, value in (("infrequent_access_after_days", infrequent), ("archive_after_days", archive)):
        if value is not None and value not in days:
            allowed = ", ".join(map(str, days))
            yield finding(
                "UC-STG-004", f"{subject}.{name}", f"{value} is not a period of EFS ({allowed})", "use one of these"
            )
    if archive is None:
        return
    if infrequent is None or archive <= infrequent:
        yield finding(
            "UC-STG-004",
            f"{subject}.archive_after_days",
            f"{archive} must come after the move to Infrequent Access ({infrequent if infrequent else 'none is set'})",
            "archive later, or leave archive_after_days out",
        )
    if request.throughput_mode != "elastic" or request.performance_mode != "generalPurpose":
        yield finding(
            "UC-STG-004",
            f"{subject}.archive_after_days",
            "the Archive class exists with elastic throughput and generalPurpose only",
            "use elastic throughput, or set archive_after_days to none",
        )


def _check_access_points(request: HomeRequest, subject: str) -> Iterator[Finding]:
    facts = efs_facts()
    names = [point.name for point in request.access_points]
    for index, point in enumerate(request.access_points):
        where = f"{subject}.access_points[{index}]"
        if not facts.access_point_path.fullmatch(point.path) or len(point.path) > facts.access_point_path_length:
            yield finding(
                "UC-STG-003",
                f"{where}.path",
                f"{point.path!r} is not a directory of at most 4 levels, {facts.access_point_path_length} characters",
                'write it like "/jobs/team"',
            )
        for name, value in (("uid", point.uid), ("gid", point.gid)):
            if not 0 <= value <= facts.highest_id:
                yield finding(
                    "UC-STG-003", f"{where}.{name}", f"{value} is not in 0 to {facts.highest_id}", "use a POSIX id"
                )
        if not facts.permissions.fullmatch(point.permissions):
            yield finding(
                "UC-STG-003",
                f"{where}.permissions",
                f"{point.permissions!r} is not an octal mode",
                'write it like "0750"',
            )
        if names.index(point.name) != index:
            yield finding("UC-STG-003", f"{where}.name", f"{point.name!r} is used twice", "give each its own name")
    if request.mount_access_point is not None and request.mount_access_point not in names:
        known = ", ".join(names) or "none"
        yield finding(
            "UC-STG-003",
            f"{subject}.mount_access_point",
            f"{request.mount_access_point!r} is not an access point of this file system ({known})",
            "name one of its access points",
        )


def _check_clients(plan: HomePlan, clients: Sequence[StorageClient], subject: str) -> Iterator[Finding]:
    for client in clients:
        missing = [zone for zone in client.availability_zones if zone not in plan.availability_zones]
        if missing and plan.one_zone is not None:
            yield finding(
                "UC-EFS-001",
                f"{client.subject}.availability_zones",
                f"{', '.join(missing)} cannot mount {plan.name!r}, a One Zone file system in {plan.one_zone}",
                "use a Regional file system",
            )
        elif missing:
            yield finding(
                "UC-EFS-002",
                f"{client.subject}.availability_zones",
                f"{plan.name!r} has no mount target in {', '.join(missing)}",
                f"add it to {subject}.availability_zones",
            )
    nodes = sum(client.max_nodes for client in clients)
    limit = efs_facts().large_fleet_nodes
    heavy = plan.purpose != "home"
    if nodes >= limit and (heavy or plan.throughput_mode == "bursting"):
        what = plan.purpose if heavy else "bursting throughput"
        yield finding(
            "UC-EFS-007",
            f"{subject}.purpose" if heavy else f"{subject}.throughput_mode",
            f"{what} on EFS for {nodes} nodes: one file system is capped far below what {limit} nodes ask for",
            "keep home and code here; put data and checkpoints on Lustre or S3"
            if heavy
            else "use elastic throughput, and put data and checkpoints on Lustre or S3",
        )
