"""What is asked of an FSx for Lustre file system, and what is decided: frozen values without a CDK object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.findings import Finding
    from ultracluster.plan.data_repository import DataRepositoryPlan, DataRepositoryRequest
    from ultracluster.plan.decision import Decision
    from ultracluster.plan.lustre_deployments import DriveCache, LustreDeployment, ReadCache

__all__ = [
    "Backups",
    "CheckpointLoad",
    "LustrePlan",
    "LustreRequest",
    "LustreThroughput",
    "MetadataPlan",
    "PortRange",
    "RootSquash",
]

LogLevel = Literal["DISABLED", "WARN_ONLY", "ERROR_ONLY", "WARN_ERROR"]
Compression = Literal["LZ4", "NONE"]
RemovalChoice = Literal["retain", "destroy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointLoad:
    """Checkpoints that are written to the file system.

    Attributes:
        size_gb: size of one checkpoint in GB (weights and optimizer state, all ranks together).
        interval_minutes: minutes between two checkpoints.
    """

    size_gb: float
    interval_minutes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreRequest:
    """What is asked.

    Attributes:
        name: the user's stable name; construct ids follow from it.
        deployment: kind, size and speed.
        compression: LZ4 unless said otherwise: less is read and written for data that compresses, at no charge.
        file_system_type_version: server version; `"2.15"` unless said otherwise, because the service's own default is
            2.10 on most deployment types, which has no associations and does not serve present clients.
        customer_key: whether a customer-managed KMS key is given.
        log_level: which data-repository events are logged; `None` logs warnings and errors when there are associations.
        backup_retention_days: days to keep automatic backups, 0 to 90; `None` keeps none.
        backup_start_time: `HH:MM` UTC, only with a retention.
        copy_tags_to_backups: copy tags to backups; not on a linked file system.
        maintenance_start_time: `d:HH:MM` UTC, d from 1 (Monday) to 7; `None` lets the service choose.
        root_squash: `UID:GID` that root of a client becomes, `0:0` for off, `None` to leave it alone.
        no_squash_nids: clients whose root stays root, for example `10.0.1.6@tcp`; at most 64.
        data_repositories: associations with S3, in the order in which they are created.
        availability_zone: zone of its subnet, when known.
        mount_path: where clients mount it.
        removal_policy: what becomes of it when it leaves the template; `retain` unless said otherwise.
        checkpoints: checkpoints written here, when known.
    """

    name: str
    deployment: LustreDeployment
    compression: Compression = "LZ4"
    file_system_type_version: str = "2.15"
    customer_key: bool = False
    log_level: LogLevel | None = None
    backup_retention_days: int | None = None
    backup_start_time: str | None = None
    copy_tags_to_backups: bool = False
    maintenance_start_time: str | None = None
    root_squash: str | None = None
    no_squash_nids: tuple[str, ...] = ()
    data_repositories: tuple[DataRepositoryRequest, ...] = ()
    availability_zone: str | None = None
    mount_path: str = "/fsx"
    removal_policy: RemovalChoice = "retain"
    checkpoints: CheckpointLoad | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreThroughput:
    """What the file system delivers, in MB/s; `None` where AWS publishes no figure.

    Attributes:
        baseline_mbps: disk throughput that can be kept up.
        burst_mbps: disk throughput for a short time.
        network_baseline_mbps: throughput of data in the servers' memory that can be kept up.
        network_burst_mbps: likewise for a short time.
    """

    baseline_mbps: int
    burst_mbps: int | None
    network_baseline_mbps: int | None
    network_burst_mbps: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataPlan:
    """Metadata configuration.

    Attributes:
        mode: `AUTOMATIC` follows the capacity; `USER_PROVISIONED` is a fixed rate.
        written_iops: the value in the template, absent with `AUTOMATIC`.
        effective_iops: the rate that the file system has, `None` where the service does not say.
    """

    mode: Literal["AUTOMATIC", "USER_PROVISIONED"]
    written_iops: int | None
    effective_iops: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Backups:
    """Automatic backups; a retention of `None` leaves the property out, which the service reads as off."""

    retention_days: int | None
    start_time: str | None
    copy_tags: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RootSquash:
    """Root squash, which CloudFormation cannot set: the construct does it with an API call."""

    uid_gid: str
    no_squash_nids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortRange:
    """A range of TCP ports, both ends included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LustrePlan:
    """What was decided; field names and units as in `LustreRequest` and `DeploymentFields`.

    Attributes:
        ports: TCP ports between servers and clients and among themselves.
        all_traffic: whether groups exchange all traffic by id instead of `ports` (EFA).
        mount_options: options of the client's mount.
        associations: in the order in which they are created, one after another.
        log_level: `None` writes no log configuration.
    """

    name: str
    deployment_type: str
    storage_type: str
    capacity_gib: int | None
    throughput_mbps_per_tib: int | None
    throughput_capacity_mbps: int | None
    read_cache: ReadCache | None
    drive_cache: DriveCache | None
    metadata: MetadataPlan | None
    efa: bool
    file_system_type_version: str
    compression: Compression
    persistent: bool
    throughput: LustreThroughput
    log_level: LogLevel | None
    backups: Backups
    maintenance_start_time: str | None
    root_squash: RootSquash | None
    associations: tuple[DataRepositoryPlan, ...]
    availability_zone: str | None
    mount_path: str
    mount_options: tuple[str, ...]
    removal_policy: RemovalChoice
    ports: tuple[PortRange, ...]
    all_traffic: bool
    decisions: tuple[Decision, ...]
    warnings: tuple[Finding, ...]
