"""`storage`: the shared home and the buckets; Lustre file systems stand in `lustre.py`."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ultracluster.spec.base import Many, SpecModel
from ultracluster.spec.forms import BucketName, MountPath, Name, number_or
from ultracluster.spec.keys import KeyRule, at_most_one
from ultracluster.spec.lustre import LustreSpec

__all__ = ["BucketSpec", "HomeSpec", "StorageSpec"]

REMOVAL = (
    "What becomes of it when it leaves the stack. retain keeps the data; destroy deletes it, which is for trials only."
)


Days = Annotated[int | Literal["never"], number_or("never")]


class HomeSpec(SpecModel):
    """A shared EFS file system for home directories, code and environments; not for data sets or checkpoints."""

    mount_path: MountPath = Field(
        default="/home/shared",
        description="Where the nodes mount it; not /home itself, which would hide the image's own users.",
    )
    throughput_mode: Literal["elastic", "bursting", "provisioned"] = Field(
        default="elastic",
        description="elastic: follows the load, paid by use. bursting: in proportion to the stored size, so slowest on "
        "a new file system. provisioned: a fixed rate.",
    )
    provisioned_throughput_mibps: float | None = Field(
        default=None, description="MiB/s, with throughput_mode: provisioned and only then."
    )
    infrequent_access_after_days: Days = Field(
        default=30, description="Days without access before a file moves to Infrequent Access, or never."
    )
    archive_after_days: Days = Field(
        default=90, description="Days without access before a file moves to Archive (elastic only), or never."
    )
    backup: bool = Field(
        default=True, description="Daily backups; home directories hold work that exists nowhere else."
    )
    removal_policy: Literal["retain", "destroy"] = Field(default="retain", description=REMOVAL)


class BucketSpec(SpecModel):
    """An S3 bucket for data sets or checkpoints, made with the cluster or existing already."""

    key_rules: ClassVar[tuple[KeyRule, ...]] = (
        at_most_one("bucket_name", "versioned"),
        at_most_one("bucket_name", "removal_policy"),
    )

    name: Name = Field(description="Name of the bucket inside this file.", examples=["checkpoints"])
    purpose: Literal["data", "checkpoints"] = Field(
        description="data: read often, kept as it is. checkpoints: written often, versions kept against overwriting, "
        "old ones moved to colder storage.",
        examples=["checkpoints"],
    )
    bucket_name: BucketName | None = Field(
        default=None,
        description="Name of a bucket that exists already; it is used as it is. Default: a bucket is made with the "
        "cluster under a generated name.",
        examples=["my-training-data"],
    )
    versioned: bool | None = Field(
        default=None,
        description="Whether overwritten and deleted objects are kept for a while; default: yes for checkpoints, which "
        "cannot be made again, no for data, which has a source.",
    )
    removal_policy: Literal["retain", "destroy"] = Field(
        default="retain",
        description="What becomes of it when it leaves the stack. retain keeps the data; destroy deletes the "
        "bucket if it is empty and else ends the deletion in an error: no data is lost by it.",
    )


class StorageSpec(SpecModel):
    """Shared storage of the cluster."""

    lustre: Many[LustreSpec] = Field(default=(), description="FSx for Lustre file systems: data sets and checkpoints.")
    home: HomeSpec | None = Field(default=None, description="Shared home directories on EFS; default: none.")
    buckets: Many[BucketSpec] = Field(default=(), description="S3 buckets.")
