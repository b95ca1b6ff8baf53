"""The plan of an FSx for Lustre file system: every fault at once, or what to create and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ultracluster.facts.lustre import DeploymentFacts, deployment, lustre_facts
from ultracluster.findings import Finding, raise_if_errors
from ultracluster.plan.data_repository import DataRepositoryRequest, check_data_repositories, plan_data_repositories
from ultracluster.plan.lustre_deployments import (
    AUTOMATIC,
    DeploymentFields,
    IntelligentTiering,
    LustreDeployment,
    Persistent1,
    Persistent2,
    ReadCache,
    Scratch1,
    Scratch2,
    fields_of,
)
from ultracluster.plan.lustre_explain import explain
from ultracluster.plan.lustre_grid import automatic_metadata_iops, scaled
from ultracluster.plan.lustre_request import (
    Backups,
    CheckpointLoad,
    LustrePlan,
    LustreRequest,
    LustreThroughput,
    MetadataPlan,
    PortRange,
    RootSquash,
)
from ultracluster.plan.lustre_settings import check_checkpoints, check_settings
from ultracluster.plan.lustre_shape import check_shape

if TYPE_CHECKING:
    from ultracluster.plan.lustre_deployments import DriveCache

__all__ = [
    "AUTOMATIC",
    "Backups",
    "CheckpointLoad",
    "DataRepositoryRequest",
    "DeploymentFields",
    "IntelligentTiering",
    "LustreDeployment",
    "LustrePlan",
    "LustreRequest",
    "LustreThroughput",
    "MetadataPlan",
    "Persistent1",
    "Persistent2",
    "PortRange",
    "ReadCache",
    "RootSquash",
    "Scratch1",
    "Scratch2",
    "check_lustre",
    "plan_lustre",
]


def check_lustre(request: LustreRequest, *, subject: str, region: str | None = None) -> tuple[Finding, ...]:
    """Every fault of the request; never raises.

    Args:
        request: what is asked.
        subject: path of the file system in the user's terms.
        region: its Region, when known; buckets are compared with it.
    """
    return tuple(_check(request, subject, region))


def plan_lustre(request: LustreRequest, *, subject: str, region: str | None = None) -> LustrePlan:
    """Decide.

    Args:
        request: what is asked.
        subject: path of the file system in the user's terms.
        region: its Region, when known.

    Raises:
        FindingsError: with every fault of the request.
    """
    warnings = raise_if_errors(check_lustre(request, subject=subject, region=region))
    fields = fields_of(request.deployment)
    facts = _facts(fields)
    if facts is None:
        raise AssertionError(f"{subject}: a checked request has a known deployment")
    metadata = _metadata(fields, request.file_system_type_version)
    throughput = _throughput(fields, facts)
    limits = lustre_facts()
    return LustrePlan(
        name=request.name,
        deployment_type=facts.deployment_type,
        storage_type=facts.storage_type,
        capacity_gib=fields.capacity_gib,
        throughput_mbps_per_tib=fields.throughput_mbps_per_tib,
        throughput_capacity_mbps=fields.throughput_capacity_mbps,
        read_cache=fields.read_cache,
        drive_cache=_drive_cache(fields),
        metadata=metadata,
        efa=fields.efa,
        file_system_type_version=request.file_system_type_version,
        compression=request.compression,
        persistent=facts.persistent,
        throughput=throughput,
        log_level=request.log_level or ("WARN_ERROR" if request.data_repositories else None),
        backups=_backups(request),
        maintenance_start_time=request.maintenance_start_time,
        root_squash=_root_squash(request),
        associations=plan_data_repositories(request.data_repositories),
        availability_zone=request.availability_zone,
        mount_path=request.mount_path,
        mount_options=limits.mount_options,
        removal_policy=request.removal_policy,
        ports=tuple(PortRange(first=first, last=last) for first, last in limits.ports),
        all_traffic=fields.efa,
        decisions=tuple(
            explain(request, fields, facts=facts, metadata=metadata, throughput=throughput, subject=subject)
        ),
        warnings=warnings,
    )


def _facts(fields: DeploymentFields) -> DeploymentFacts | None:
    return deployment(fields.deployment_type, fields.storage_type or "SSD")


def _check(request: LustreRequest, subject: str, region: str | None) -> Iterator[Finding]:
    fields = fields_of(request.deployment)
    facts = _facts(fields)
    version = request.file_system_type_version
    shape = tuple(check_shape(fields, version, subject))
    yield from shape
    yield from check_settings(request, facts, subject)
    yield from check_data_repositories(
        request.data_repositories, facts, version=version, subject=f"{subject}.data_repositories", region=region
    )
    if facts is not None and not shape:
        yield from check_checkpoints(request, facts, _throughput(fields, facts), subject)


def _metadata(fields: DeploymentFields, version: str) -> MetadataPlan | None:
    if fields.deployment_type != "PERSISTENT_2" or version != lustre_facts().metadata_version:
        return None
    wanted = fields.metadata_iops
    if fields.capacity_gib is None and wanted is None:
        wanted = lustre_facts().tiering_metadata_values[0]
    if isinstance(wanted, int):
        return MetadataPlan(mode="USER_PROVISIONED", written_iops=wanted, effective_iops=wanted)
    iops = automatic_metadata_iops(fields.capacity_gib) if fields.capacity_gib is not None else None
    return MetadataPlan(mode="AUTOMATIC", written_iops=None, effective_iops=iops)


def _throughput(fields: DeploymentFields, facts: DeploymentFacts) -> LustreThroughput:
    tier = facts.tier(fields.throughput_mbps_per_tib)
    if fields.capacity_gib is None or tier is None:
        return LustreThroughput(
            baseline_mbps=fields.throughput_capacity_mbps or 0,
            burst_mbps=None,
            network_baseline_mbps=None,
            network_burst_mbps=None,
        )
    disk, network = tier.disk_mbps_per_tib, tier.network_mbps_per_tib
    return LustreThroughput(
        baseline_mbps=scaled(disk[0], fields.capacity_gib) or 0,
        burst_mbps=scaled(disk[1], fields.capacity_gib),
        network_baseline_mbps=scaled(network[0], fields.capacity_gib),
        network_burst_mbps=scaled(network[1], fields.capacity_gib),
    )


def _drive_cache(fields: DeploymentFields) -> DriveCache | None:
    # The API wants the property on HDD and nowhere else.
    if fields.storage_type != "HDD":
        return None
    return "READ" if fields.drive_cache == "READ" else "NONE"


def _backups(request: LustreRequest) -> Backups:
    return Backups(
        retention_days=request.backup_retention_days or None,
        start_time=request.backup_start_time,
        copy_tags=request.copy_tags_to_backups,
    )


def _root_squash(request: LustreRequest) -> RootSquash | None:
    if request.root_squash is None:
        return None
    return RootSquash(uid_gid=request.root_squash, no_squash_nids=request.no_squash_nids)
