"""What a fleet may do with a bucket: read, or read and write, all of it or one prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ultracluster.findings import raise_if_errors
from ultracluster.plan.paths import check_prefix
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from aws_cdk import aws_s3 as s3

    from ultracluster.storage.training_bucket import TrainingBucket

__all__ = ["BucketAccess"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BucketAccess:
    """Access to a bucket. Compared by identity: a CDK object has no value to compare.

    Attributes:
        bucket: the bucket, made in this application or existing; a `TrainingBucket` as it is.
        prefix: prefix in it, without a leading slash; empty for all of it.
        write: whether objects may be written and deleted, not only read. Off unless asked for.

    Raises:
        FindingsError: the prefix cannot be one.
    """

    bucket: s3.IBucket | TrainingBucket
    prefix: str = ""
    write: bool = False

    def __post_init__(self) -> None:
        """Check the prefix."""
        raise_if_errors(check_prefix(self.prefix, subject="bucket_access.prefix"))

    @property
    def target(self) -> s3.IBucket:
        """The bucket itself."""
        from ultracluster.storage.training_bucket import TrainingBucket  # its `access` makes values of this class

        return self.bucket.bucket if isinstance(self.bucket, TrainingBucket) else self.bucket
