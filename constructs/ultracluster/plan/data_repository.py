"""Associations of an FSx for Lustre file system with S3: request, rules, plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from ultracluster.facts.lustre import lustre_facts
from ultracluster.findings import Finding, finding
from ultracluster.plan.paths import check_prefix, lies_within
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.facts.lustre import DeploymentFacts

__all__ = [
    "DataRepositoryPlan",
    "DataRepositoryRequest",
    "Event",
    "check_data_repositories",
    "plan_data_repositories",
    "repository_of",
]

Event = Literal["NEW", "CHANGED", "DELETED"]
_URI = re.compile(r"s3://([^/]+)/?(.*)")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRepositoryRequest:
    """A directory that mirrors an S3 prefix.

    Attributes:
        file_system_path: directory on the file system, from its root (`/data`); at most 4096 characters.
        bucket: the user's name of the bucket, or an `s3://` URI; equal names mean the same bucket.
        prefix: prefix in the bucket, without a leading slash; empty for all of it.
        auto_import: events in the bucket that reach the file system; everything unless said otherwise.
        auto_export: events on the file system that reach the bucket; nothing unless said otherwise, because exporting
            writes to the bucket.
        imported_file_chunk_size_mib: 1 to 512000 MiB per disk of an imported file; 1024 as in the API.
        import_metadata_on_create: list what is in the bucket once, when the association is made.
        bucket_region: Region of the bucket, when known.
    """

    file_system_path: str
    bucket: str
    prefix: str = ""
    auto_import: tuple[str, ...] = ("NEW", "CHANGED", "DELETED")
    auto_export: tuple[str, ...] = ()
    imported_file_chunk_size_mib: int = 1024
    import_metadata_on_create: bool = True
    bucket_region: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRepositoryPlan:
    """What was decided; fields as in the request, events in the order of the API, prefix without outer slashes."""

    file_system_path: str
    bucket: str
    prefix: str
    auto_import: tuple[str, ...]
    auto_export: tuple[str, ...]
    imported_file_chunk_size_mib: int
    import_metadata_on_create: bool


def repository_of(request: DataRepositoryRequest) -> tuple[str, str]:
    """Bucket and prefix, with an `s3://` URI taken apart and outer slashes removed."""
    match = _URI.fullmatch(request.bucket)
    bucket, inner = match.groups() if match else (request.bucket, "")
    return bucket, "/".join(part for part in (inner.strip("/"), request.prefix.strip("/")) if part)


def check_data_repositories(
    requests: Sequence[DataRepositoryRequest],
    facts: DeploymentFacts | None,
    *,
    version: str,
    subject: str,
    region: str | None = None,
) -> Iterator[Finding]:
    """Every fault of the associations of one file system.

    Args:
        requests: all associations, in order.
        facts: the deployment, when it is a known one.
        version: server version.
        subject: path of the list in the user's terms.
        region: Region of the file system, when known.
    """
    if not requests:
        return
    limits = lustre_facts()
    yield from _check_deployment(facts, version, subject)
    if len(requests) > limits.links_per_file_system:
        yield finding(
            "UC-DRA-002",
            subject,
            f"{len(requests)} associations, a file system has at most {limits.links_per_file_system}",
            "link a common parent prefix, or add a file system",
        )
    for index, request in enumerate(requests):
        where = f"{subject}[{index}]"
        yield from _check_path(requests, index, where)
        yield from _check_repository(requests, index, where)
        yield from _check_events(request, where)
        yield from _check_region(request, region, where)
        low, high = limits.link_chunk_size_mib
        if not low <= request.imported_file_chunk_size_mib <= high:
            yield finding(
                "UC-STG-007",
                f"{where}.imported_file_chunk_size_mib",
                f"{request.imported_file_chunk_size_mib} is out of range",
                f"use {low} to {high}",
            )


def plan_data_repositories(requests: Sequence[DataRepositoryRequest]) -> tuple[DataRepositoryPlan, ...]:
    """The associations in the order of their creation; the requests must have been checked."""
    order = lustre_facts().link_events
    plans = []
    for request in requests:
        bucket, prefix = repository_of(request)
        plans.append(
            DataRepositoryPlan(
                file_system_path=request.file_system_path.rstrip("/") or "/",
                bucket=bucket,
                prefix=prefix,
                auto_import=tuple(event for event in order if event in request.auto_import),
                auto_export=tuple(event for event in order if event in request.auto_export),
                imported_file_chunk_size_mib=request.imported_file_chunk_size_mib,
                import_metadata_on_create=request.import_metadata_on_create,
            )
        )
    return tuple(plans)


def _check_deployment(facts: DeploymentFacts | None, version: str, subject: str) -> Iterator[Finding]:
    if facts is None:
        return
    versions = lustre_facts().link_versions
    if not facts.links:
        what = facts.storage_type if facts.storage_type == "INTELLIGENT_TIERING" else facts.deployment_type
        yield finding(
            "UC-DRA-001",
            subject,
            f"{what} has no data repository associations",
            "use SCRATCH_2 or a persistent SSD system",
        )
    elif version not in versions:
        yield finding(
            "UC-DRA-001",
            subject,
            f"server version {version} has no data repository associations",
            f'use file_system_type_version "{versions[-1]}"',
        )


def _check_path(requests: Sequence[DataRepositoryRequest], index: int, where: str) -> Iterator[Finding]:
    path = requests[index].file_system_path
    parts = path[1:].rstrip("/").split("/") if path != "/" else []
    limit = lustre_facts().link_path_length
    if not path.startswith("/") or len(path) > limit or any(part in ("", ".", "..") for part in parts):
        yield finding(
            "UC-DRA-003",
            f"{where}.file_system_path",
            f"{path[:80]!r} is not a directory from the root of the file system, of at most {limit} characters",
            'write it like "/data"',
        )
        return
    for earlier in requests[:index]:
        other = earlier.file_system_path
        if lies_within(path, other) or lies_within(other, path):
            yield finding(
                "UC-DRA-003",
                f"{where}.file_system_path",
                f"{path!r} overlaps {other!r}: one directory belongs to one association",
                'choose disjoint directories; "/" only when it is the only association',
            )


def _check_repository(requests: Sequence[DataRepositoryRequest], index: int, where: str) -> Iterator[Finding]:
    request = requests[index]
    if not request.bucket or (_SCHEME.match(request.bucket) and not _URI.fullmatch(request.bucket)):
        yield finding(
            "UC-DRA-004",
            f"{where}.bucket",
            f"{request.bucket!r} is not a bucket",
            'name a bucket of the cluster, or write "s3://bucket/prefix"',
        )
        return
    yield from check_prefix(request.prefix, subject=f"{where}.prefix")
    bucket, prefix = repository_of(request)
    for earlier in requests[:index]:
        other_bucket, other = repository_of(earlier)
        if bucket == other_bucket and (lies_within(prefix, other) or lies_within(other, prefix)):
            yield finding(
                "UC-DRA-004",
                f"{where}.prefix",
                f"s3://{bucket}/{prefix} overlaps s3://{bucket}/{other}, linked to {earlier.file_system_path}",
                "link disjoint prefixes",
            )


def _check_events(request: DataRepositoryRequest, where: str) -> Iterator[Finding]:
    allowed = lustre_facts().link_events
    for name in ("auto_import", "auto_export"):
        events: tuple[str, ...] = getattr(request, name)
        wrong = [event for event in events if event not in allowed]
        if wrong or len(set(events)) != len(events):
            found = f"{', '.join(wrong)} is no event" if wrong else "an event stands twice"
            yield finding("UC-DRA-008", f"{where}.{name}", found, f"use any of {', '.join(allowed)}, each once")


def _check_region(request: DataRepositoryRequest, region: str | None, where: str) -> Iterator[Finding]:
    if region is None or request.bucket_region is None or request.bucket_region == region:
        return
    if request.auto_import or request.import_metadata_on_create:
        yield finding(
            "UC-DRA-006",
            f"{where}.auto_import",
            f"the bucket is in {request.bucket_region}, the file system in {region}; import needs the same Region",
            "export only (auto_import empty, import_metadata_on_create off), or use a bucket in the same Region",
        )
