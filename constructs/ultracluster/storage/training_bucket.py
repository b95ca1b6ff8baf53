"""An S3 bucket for training data or checkpoints.

What it makes: a bucket without public access, TLS only, encrypted, with colder tiers from which objects are still read
at once, and clean-up of broken uploads; checkpoints keep versions. What it costs: storage and requests, old versions
for `noncurrent_days`. What it refuses: tiers that a linked file system cannot read, prefixes that are none.
"""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from ultracluster.acknowledge import acknowledge, report_warnings
from ultracluster.plan.buckets import (
    ArchivedPrefix,
    BucketPlan,
    BucketPurpose,
    BucketRequest,
    Transition,
    plan_bucket,
)
from ultracluster.storage.bucket_access import BucketAccess
from ultracluster.storage.removal import removal_choice

__all__ = ["TrainingBucket"]


class TrainingBucket(Construct):
    """A bucket for data sets or checkpoints.

    Example:
        ```python
        checkpoints = TrainingBucket(self, "Checkpoints", purpose=BucketPurpose.CHECKPOINTS)
        TrainingFleet(self, "Train", ..., bucket_access=[checkpoints.access(write=True)])
        ```

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        purpose: data (no versions, Intelligent-Tiering) or checkpoints (versions, colder with age).
        versioned: keep overwritten and deleted objects; by purpose when left out.
        encryption_key: customer-managed key; S3-managed encryption without one, which needs no key policy and costs
            nothing per request.
        transitions: colder tiers; by purpose when left out.
        noncurrent_days: days to keep an overwritten or deleted version.
        abort_incomplete_uploads_days: days after which parts of an unfinished upload are removed.
        archived_prefixes: prefixes that are put away for good and are never linked to a file system.
        access_log_bucket: bucket for server access logs; none without it, because every read of a data set by every
            node would be a log line. CloudTrail data events are the finer tool.
        removal_policy: what becomes of the bucket when it leaves the template; retained.

    Attributes:
        plan: the decisions; `None` for an existing bucket.
        bucket: the bucket for other CDK constructs.

    Raises:
        FindingsError: with everything that is wrong with the arguments.
    """

    plan: BucketPlan | None = None
    bucket: s3.IBucket

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        purpose: BucketPurpose = BucketPurpose.DATA,
        versioned: bool | None = None,
        encryption_key: kms.IKey | None = None,
        transitions: Sequence[Transition] | None = None,
        noncurrent_days: int = 30,
        abort_incomplete_uploads_days: int = 7,
        archived_prefixes: Sequence[ArchivedPrefix] = (),
        access_log_bucket: s3.IBucket | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN,
    ) -> None:
        super().__init__(scope, construct_id)
        path = self.node.path
        plan = plan_bucket(
            BucketRequest(
                name=path,
                purpose=purpose,
                versioned=versioned,
                customer_key=encryption_key is not None,
                transitions=None if transitions is None else tuple(transitions),
                noncurrent_days=noncurrent_days,
                abort_incomplete_uploads_days=abort_incomplete_uploads_days,
                archived_prefixes=tuple(archived_prefixes),
                removal_policy=removal_choice(removal_policy, subject=f"{path}.removal_policy"),
            ),
            subject=path,
        )
        self.plan = plan
        self.bucket = self._bucket(plan, encryption_key, access_log_bucket, removal_policy)
        report_warnings(self, plan.warnings)
        if access_log_bucket is None:
            acknowledge(self, {"AwsSolutions-S1": _NO_ACCESS_LOGS})

    @staticmethod
    def from_existing(
        scope: Construct,
        construct_id: str,
        *,
        bucket_name: str,
        encryption_key: kms.IKey | None = None,
        region: str | None = None,
    ) -> TrainingBucket:
        """Use a bucket that exists; nothing is added to it.

        Args:
            scope: the parent.
            construct_id: the id in the parent.
            bucket_name: its name.
            encryption_key: its customer-managed key, so that fleets are let use it.
            region: its Region when it is another one; associations then export only.
        """
        return _ExistingTrainingBucket(
            scope, construct_id, bucket_name=bucket_name, encryption_key=encryption_key, region=region
        )

    def access(self, *, prefix: str = "", write: bool = False) -> BucketAccess:
        """What to hand to a fleet as `bucket_access`.

        Args:
            prefix: prefix in the bucket; empty for all of it.
            write: whether objects may be written and deleted.
        """
        return BucketAccess(bucket=self.bucket, prefix=prefix, write=write)

    def _bucket(
        self,
        plan: BucketPlan,
        key: kms.IKey | None,
        access_log_bucket: s3.IBucket | None,
        removal_policy: cdk.RemovalPolicy,
    ) -> s3.Bucket:
        bucket = s3.Bucket(
            self,
            "Resource",
            versioned=plan.versioned,
            encryption=s3.BucketEncryption.KMS if key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=key,
            bucket_key_enabled=key is not None or None,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            lifecycle_rules=_lifecycle_rules(plan),
            server_access_logs_bucket=access_log_bucket,
            server_access_logs_prefix=f"{self.node.id}/" if access_log_bucket else None,
            removal_policy=removal_policy,
        )
        if bucket.policy is not None:
            # A bucket that is kept without its policy would answer without TLS again.
            bucket.policy.apply_removal_policy(removal_policy)
        return bucket


_NO_ACCESS_LOGS = (
    "reads of training data would write a log line per object and node; set access_log_bucket where an audit asks for "
    "it, or use CloudTrail data events"
)


def _lifecycle_rules(plan: BucketPlan) -> list[s3.LifecycleRule]:
    rules = [
        s3.LifecycleRule(
            id="AbortIncompleteUploads",
            abort_incomplete_multipart_upload_after=cdk.Duration.days(plan.abort_incomplete_uploads_days),
            noncurrent_version_expiration=cdk.Duration.days(plan.noncurrent_days) if plan.versioned else None,
            expired_object_delete_marker=True if plan.versioned else None,
        )
    ]
    if plan.transitions:
        rules.append(s3.LifecycleRule(id="ColderTiers", transitions=[_transition(each) for each in plan.transitions]))
    rules.extend(
        s3.LifecycleRule(
            id=f"Archive-{archived.prefix.strip('/').replace('/', '-')}"[:255],
            prefix=archived.prefix,
            transitions=[_transition(Transition(storage_class=archived.storage_class, after_days=archived.after_days))],
        )
        for archived in plan.archived_prefixes
    )
    return rules


def _transition(transition: Transition) -> s3.Transition:
    return s3.Transition(
        storage_class=s3.StorageClass(transition.storage_class),
        transition_after=cdk.Duration.days(transition.after_days),
    )


class _ExistingTrainingBucket(TrainingBucket):
    """A bucket that somebody else made; nothing is created."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        bucket_name: str,
        encryption_key: kms.IKey | None,
        region: str | None,
    ) -> None:
        Construct.__init__(self, scope, construct_id)
        self.bucket = s3.Bucket.from_bucket_attributes(
            self, "Resource", bucket_name=bucket_name, encryption_key=encryption_key, region=region
        )
