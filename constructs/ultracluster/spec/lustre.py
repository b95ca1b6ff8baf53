"""`storage.lustre`: FSx for Lustre file systems and their associations with S3."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ultracluster.spec.base import Many, SpecModel
from ultracluster.spec.forms import BucketReference, MountPath, Name, Prefix, Zone, number_or
from ultracluster.spec.keys import KeyRule, needs

__all__ = ["CheckpointLoadSpec", "DataRepositorySpec", "LustreSpec", "ReadCacheSpec"]

Event = Literal["NEW", "CHANGED", "DELETED"]


MetadataIops = Annotated[int | Literal["automatic"] | None, number_or("automatic")]


class DataRepositorySpec(SpecModel):
    """A directory that mirrors a prefix of a bucket."""

    file_system_path: str = Field(
        max_length=4096,
        description="Directory on the file system, from its own root (/data, not /fsx/data).",
        examples=["/data"],
    )
    bucket: BucketReference = Field(
        description="Name of a bucket under storage.buckets, or s3://bucket of one that exists already.",
        examples=["datasets"],
    )
    prefix: Prefix = Field(
        default="", description="Prefix in the bucket, without a slash in front; default: all of it."
    )
    auto_import: Many[Event] = Field(
        default=("NEW", "CHANGED", "DELETED"),
        description="Events in the bucket that reach the file system; everything by default, an empty list for none.",
    )
    auto_export: Many[Event] = Field(
        default=(),
        description="Events on the file system that reach the bucket; none by default, because exporting writes to the "
        "bucket. [NEW, CHANGED] suits checkpoints.",
    )
    imported_file_chunk_size_mib: int = Field(
        default=1024, ge=1, description="MiB of an imported file per disk; fixes how widely large files are striped."
    )


class ReadCacheSpec(SpecModel):
    """The SSD read cache of an Intelligent-Tiering file system."""

    mode: Literal["PROPORTIONAL_TO_THROUGHPUT_CAPACITY", "USER_PROVISIONED", "NO_CACHE"] = Field(
        default="PROPORTIONAL_TO_THROUGHPUT_CAPACITY",
        description="How its size is chosen; in proportion by default, because a fixed size does not grow with the "
        "rest.",
    )
    size_gib: int | None = Field(default=None, ge=1, description="Size in GiB, only with USER_PROVISIONED.")


class CheckpointLoadSpec(SpecModel):
    """Checkpoints that are written here, to judge whether the file system is fast enough."""

    size_gb: float = Field(gt=0, description="Size of one checkpoint in GB, all ranks together.", examples=[980])
    interval_minutes: float = Field(gt=0, description="Minutes between two checkpoints.", examples=[30])


class LustreSpec(SpecModel):
    """An FSx for Lustre file system. Which settings go together depends on `deployment_type`."""

    key_rules: ClassVar[tuple[KeyRule, ...]] = (
        needs("backup_start_time", "backup_retention_days"),
        needs("no_squash_nids", "root_squash"),
    )

    name: Name = Field(description="Name of the file system; `mounts` of a fleet uses it.", examples=["scratch"])
    deployment_type: Literal["SCRATCH_1", "SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2", "INTELLIGENT_TIERING"] = Field(
        description="PERSISTENT_2 for training, SCRATCH_2 for data that can be loaded again, INTELLIGENT_TIERING for "
        "large and mostly cold data; SCRATCH_1 and PERSISTENT_1 are older. It can never be changed.",
        examples=["PERSISTENT_2"],
    )
    storage_type: Literal["SSD", "HDD"] | None = Field(
        default=None, description="SSD unless said otherwise; HDD exists for PERSISTENT_1 only."
    )
    capacity_gib: int | None = Field(
        default=None,
        description="Capacity in GiB on the grid of the deployment type, for most 1200 or a multiple of 2400; it can "
        "only grow. Not with INTELLIGENT_TIERING.",
        examples=[19200],
    )
    throughput_mbps_per_tib: int | None = Field(
        default=None,
        description="Throughput tier in MB/s per TiB: PERSISTENT_2 has 125, 250, 500 and 1000. Needed with "
        "PERSISTENT_1 and PERSISTENT_2, where the service has no default.",
        examples=[250],
    )
    throughput_capacity_mbps: int | None = Field(
        default=None, description="MB/s of an INTELLIGENT_TIERING file system, a multiple of 4000.", examples=[4000]
    )
    metadata_iops: MetadataIops = Field(
        default=None,
        description="Metadata operations per second, or automatic. Default: automatic where it exists, because it "
        "costs nothing and cannot be added later.",
        examples=["automatic"],
    )
    efa: bool = Field(
        default=False,
        description="Serve clients over EFA; pays off above 10 GB/s. Needs PERSISTENT_2 or INTELLIGENT_TIERING, "
        "clients in the same zone, and can never be changed.",
    )
    drive_cache: Literal["NONE", "READ"] | None = Field(default=None, description="SSD cache in front of HDD.")
    read_cache: ReadCacheSpec | None = Field(default=None, description="Read cache, only with INTELLIGENT_TIERING.")
    compression: Literal["LZ4", "NONE"] = Field(
        default="LZ4", description="LZ4 costs nothing and raises the throughput of compressible data."
    )
    file_system_type_version: Literal["2.10", "2.12", "2.15"] = Field(
        default="2.15",
        description="Server version, in quotes. Present clients do not talk to 2.10, which is the service's own "
        "default.",
    )
    data_repositories: Many[DataRepositorySpec] = Field(
        default=(), description="Directories that mirror S3; created one after another, at most 8."
    )
    log_level: Literal["DISABLED", "WARN_ONLY", "ERROR_ONLY", "WARN_ERROR"] | None = Field(
        default=None,
        description="Which data repository events are logged; default: warnings and errors when there are any.",
    )
    backup_retention_days: int | None = Field(
        default=None,
        ge=0,
        description="Days to keep daily backups, 0 to 90; default: none. Not with data repositories.",
    )
    backup_start_time: str | None = Field(
        default=None, description="Time of the backup, HH:MM in UTC.", examples=["03:00"]
    )
    copy_tags_to_backups: bool = Field(default=False, description="Copy the tags to backups.")
    maintenance_start_time: str | None = Field(
        default=None,
        description="Weekly maintenance window, d:HH:MM in UTC with d from 1 (Monday) to 7; default: the service "
        "chooses.",
        examples=["7:04:00"],
    )
    root_squash: str | None = Field(
        default=None,
        description="UID:GID that root of a client becomes, 0:0 for off; default: root stays root.",
        examples=["65534:65534"],
    )
    no_squash_nids: Many[str] = Field(
        default=(), description="Clients whose root stays root.", examples=[["10.0.1.6@tcp"]]
    )
    availability_zone: Zone | None = Field(
        default=None,
        description="Zone of the file system; default: the zone of the fleets that mount it, where they share one.",
        examples=["us-east-1a"],
    )
    mount_path: MountPath = Field(default="/fsx", description="Where the nodes mount it; unique per node.")
    removal_policy: Literal["retain", "destroy"] = Field(
        default="retain", description="What becomes of the file system when it leaves the stack; retain keeps the data."
    )
    checkpoints: CheckpointLoadSpec | None = Field(
        default=None, description="Size and interval of the checkpoints, to judge whether writing them takes too long."
    )
