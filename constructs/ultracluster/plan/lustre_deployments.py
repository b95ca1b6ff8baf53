"""The deployment of an FSx for Lustre file system, as small frozen classes: one per kind, with the settings it has.

`DeploymentFields` is the flat form behind them: every setting, absent ones as `None`. A cluster file is read into it
and a template can be, so that a combination that does not fit is judged and explained, not just impossible to write.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Literal

from ultracluster.values import dataclass

__all__ = [
    "AUTOMATIC",
    "DeploymentFields",
    "DriveCache",
    "IntelligentTiering",
    "LustreDeployment",
    "MetadataIops",
    "Persistent1",
    "Persistent2",
    "ReadCache",
    "Scratch1",
    "Scratch2",
    "fields_of",
]

AUTOMATIC: Literal["automatic"] = "automatic"
MetadataIops = int | Literal["automatic"]
DriveCache = Literal["NONE", "READ"]
ReadCacheMode = Literal["NO_CACHE", "USER_PROVISIONED", "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCache:
    """The SSD read cache of an Intelligent-Tiering file system.

    Attributes:
        mode: how its size is chosen; in proportion to the throughput unless said otherwise, because a fixed size does
            not grow with the throughput.
        size_gib: size in GiB, only with `USER_PROVISIONED`.
    """

    mode: ReadCacheMode = "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"
    size_gib: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch1:
    """Temporary storage of the first kind; no association, no backup, no replication.

    Attributes:
        capacity_gib: 1200, 2400 or a multiple of 3600 GiB.
    """

    capacity_gib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch2:
    """Temporary storage: data is not replicated and is gone with its server.

    Attributes:
        capacity_gib: 1200 or a multiple of 2400 GiB.
    """

    capacity_gib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Persistent1:
    """Replicated storage of the older kind, the only one on HDD.

    Attributes:
        capacity_gib: SSD 1200 or a multiple of 2400 GiB; HDD a multiple of 6000 GiB (tier 12) or 1800 GiB (tier 40).
        throughput_mbps_per_tib: SSD 50, 100 or 200; HDD 12 or 40 MB/s per TiB. The service has no default.
        storage_type: SSD or HDD.
        drive_cache: SSD read cache in front of HDD; `NONE` for HDD when left out, never for SSD.
    """

    capacity_gib: int
    throughput_mbps_per_tib: int
    storage_type: Literal["SSD", "HDD"] = "SSD"
    drive_cache: DriveCache | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Persistent2:
    """Replicated SSD storage of the newer kind: what training clusters use.

    Attributes:
        capacity_gib: 1200 or a multiple of 2400 GiB; with EFA a multiple of the tier's step (38400, 19200, 9600, 4800).
        throughput_mbps_per_tib: 125, 250, 500 or 1000 MB/s per TiB. The service has no default.
        metadata_iops: operations per second to provision, or `"automatic"`. `None` leaves it to the plan, which chooses
            automatic: it costs nothing above the included rate and cannot be added to a file system later.
        efa: serve EFA clients (and GPUDirect Storage); fixed at creation.
    """

    capacity_gib: int
    throughput_mbps_per_tib: int
    metadata_iops: MetadataIops | None = None
    efa: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IntelligentTiering:
    """Elastic storage that is paid by use, with throughput bought apart. It cannot be linked to S3.

    Attributes:
        throughput_capacity_mbps: MB/s of the whole file system, a multiple of 4000; it can only grow.
        read_cache: the SSD read cache.
        metadata_iops: 6000 or 12000, the two values that the API and the guide agree on; 6000 when left out.
        efa: serve EFA clients; fixed at creation.
    """

    throughput_capacity_mbps: int
    read_cache: ReadCache = field(default_factory=ReadCache)
    metadata_iops: MetadataIops | None = None
    efa: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentFields:
    """Every setting of a deployment, as a cluster file or a template writes it; `None` is absent.

    Attributes:
        deployment_type: SCRATCH_1, SCRATCH_2, PERSISTENT_1 or PERSISTENT_2; INTELLIGENT_TIERING is understood as
            PERSISTENT_2 with that storage type.
        storage_type: SSD, HDD or INTELLIGENT_TIERING; SSD when absent, as in the API.
        capacity_gib: storage capacity in GiB.
        throughput_mbps_per_tib: throughput tier in MB/s per TiB.
        throughput_capacity_mbps: throughput of an Intelligent-Tiering file system in MB/s.
        metadata_iops: provisioned metadata operations per second, or `"automatic"`.
        efa: whether EFA is asked for.
        drive_cache: SSD cache in front of HDD.
        read_cache: read cache of an Intelligent-Tiering file system.
        import_path: S3 link inside the file system, an older form.
        export_path: likewise.
    """

    deployment_type: str
    storage_type: str | None = None
    capacity_gib: int | None = None
    throughput_mbps_per_tib: int | None = None
    throughput_capacity_mbps: int | None = None
    metadata_iops: MetadataIops | None = None
    efa: bool = False
    drive_cache: str | None = None
    read_cache: ReadCache | None = None
    import_path: str | None = None
    export_path: str | None = None


LustreDeployment = Scratch1 | Scratch2 | Persistent1 | Persistent2 | IntelligentTiering | DeploymentFields


def fields_of(deployment: LustreDeployment) -> DeploymentFields:
    """The flat form, with INTELLIGENT_TIERING spelled as the API does."""
    match deployment:
        case Scratch1(capacity_gib=capacity):
            return DeploymentFields(deployment_type="SCRATCH_1", storage_type="SSD", capacity_gib=capacity)
        case Scratch2(capacity_gib=capacity):
            return DeploymentFields(deployment_type="SCRATCH_2", storage_type="SSD", capacity_gib=capacity)
        case Persistent1():
            return DeploymentFields(
                deployment_type="PERSISTENT_1",
                storage_type=deployment.storage_type,
                capacity_gib=deployment.capacity_gib,
                throughput_mbps_per_tib=deployment.throughput_mbps_per_tib,
                drive_cache=deployment.drive_cache,
            )
        case Persistent2():
            return DeploymentFields(
                deployment_type="PERSISTENT_2",
                storage_type="SSD",
                capacity_gib=deployment.capacity_gib,
                throughput_mbps_per_tib=deployment.throughput_mbps_per_tib,
                metadata_iops=deployment.metadata_iops,
                efa=deployment.efa,
            )
        case IntelligentTiering():
            return DeploymentFields(
                deployment_type="PERSISTENT_2",
                storage_type="INTELLIGENT_TIERING",
                throughput_capacity_mbps=deployment.throughput_capacity_mbps,
                metadata_iops=deployment.metadata_iops,
                efa=deployment.efa,
                read_cache=deployment.read_cache,
            )
        case DeploymentFields():
            return _spelled(deployment)


def _spelled(fields: DeploymentFields) -> DeploymentFields:
    if fields.deployment_type == "INTELLIGENT_TIERING":
        return replace(
            fields,
            deployment_type="PERSISTENT_2",
            storage_type="INTELLIGENT_TIERING",
            read_cache=fields.read_cache or ReadCache(),
        )
    return fields if fields.storage_type is not None else replace(fields, storage_type="SSD")
