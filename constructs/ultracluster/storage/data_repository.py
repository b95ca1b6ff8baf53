"""Associations between directories of a Lustre file system and S3.

Associations of one file system are created one after another, because the service lets only one of several simultaneous
ones succeed. They share the removal policy of their file system: a retained file system keeps its links.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_fsx as fsx
from constructs import Construct

from ultracluster.plan.data_repository import DataRepositoryPlan, DataRepositoryRequest
from ultracluster.storage.cluster_key import let_lustre_links_use
from ultracluster.storage.training_bucket import TrainingBucket
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from aws_cdk import aws_s3 as s3

__all__ = ["DataRepository", "DataRepositoryAssociations"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DataRepository:
    """A directory that mirrors an S3 prefix; handed to `LustreFileSystem`. Compared by identity.

    Attributes:
        file_system_path: directory on the file system, from its root (`/data`). It names the association: another path
            is another association.
        bucket: the bucket, in the Region of the file system unless it is only exported to.
        prefix: prefix in the bucket, without a leading slash; empty for all of it.
        auto_import: events in the bucket that reach the file system (NEW, CHANGED, DELETED); all unless said otherwise.
        auto_export: events on the file system that reach the bucket; none unless said otherwise, because exporting
            writes to the bucket.
        imported_file_chunk_size_mib: 1 to 512000 MiB per disk of an imported file; 1024 as in the API.
        import_metadata_on_create: list what is in the bucket once, when the association is made.
    """

    file_system_path: str
    bucket: s3.IBucket | TrainingBucket
    prefix: str = ""
    auto_import: Sequence[str] = ("NEW", "CHANGED", "DELETED")
    auto_export: Sequence[str] = ()
    imported_file_chunk_size_mib: int = 1024
    import_metadata_on_create: bool = True

    @property
    def target(self) -> s3.IBucket:
        """The bucket itself."""
        return self.bucket.bucket if isinstance(self.bucket, TrainingBucket) else self.bucket

    def request(self) -> DataRepositoryRequest:
        """The same in plain values; the bucket goes by its path in the tree, which also tells equal ones."""
        region = self.target.env.region
        return DataRepositoryRequest(
            file_system_path=self.file_system_path,
            bucket=self.bucket.node.path,
            prefix=self.prefix,
            auto_import=tuple(self.auto_import),
            auto_export=tuple(self.auto_export),
            imported_file_chunk_size_mib=self.imported_file_chunk_size_mib,
            import_metadata_on_create=self.import_metadata_on_create,
            bucket_region=None if cdk.Token.is_unresolved(region) else region,
        )


class DataRepositoryAssociations(Construct):
    """The associations of one file system, each depending on the one before it.

    Args:
        scope: the file system.
        construct_id: the id in it.
        file_system_id: its id.
        plans: what was decided, in the order of creation.
        repositories: the same associations with their buckets.
        removal_policy: that of the file system.

    Attributes:
        associations: what was made, in the order of creation.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        file_system_id: str,
        plans: Sequence[DataRepositoryPlan],
        repositories: Sequence[DataRepository],
        removal_policy: cdk.RemovalPolicy,
    ) -> None:
        super().__init__(scope, construct_id)
        made: list[fsx.CfnDataRepositoryAssociation] = []
        for plan, repository in zip(plans, repositories, strict=True):
            association = self._association(file_system_id, plan, repository.target)
            association.apply_removal_policy(removal_policy)
            if made:
                association.add_resource_dependency(made[-1])
            made.append(association)
        self.associations = tuple(made)

    def _association(
        self, file_system_id: str, plan: DataRepositoryPlan, bucket: s3.IBucket
    ) -> fsx.CfnDataRepositoryAssociation:
        key = bucket.encryption_key
        if key is not None:
            let_lustre_links_use(key)
        association = fsx.CfnDataRepositoryAssociation(
            self,
            f"Path{plan.file_system_path}",
            file_system_id=file_system_id,
            file_system_path=plan.file_system_path,
            data_repository_path=f"s3://{bucket.bucket_name}/{plan.prefix}/"
            if plan.prefix
            else f"s3://{bucket.bucket_name}",
            batch_import_meta_data_on_create=plan.import_metadata_on_create,
            imported_file_chunk_size=plan.imported_file_chunk_size_mib,
            s3=_s3(plan),
        )
        emptier = bucket.node.try_find_child("AutoDeleteObjectsCustomResource")
        if emptier is not None:
            # The link must be gone before its bucket is emptied, or the deletions are imported.
            association.node.add_dependency(emptier)
        return association


def _s3(plan: DataRepositoryPlan) -> fsx.CfnDataRepositoryAssociation.S3Property | None:
    policy = fsx.CfnDataRepositoryAssociation
    if not plan.auto_import and not plan.auto_export:
        return None
    return policy.S3Property(
        auto_import_policy=policy.AutoImportPolicyProperty(events=list(plan.auto_import)) if plan.auto_import else None,
        auto_export_policy=policy.AutoExportPolicyProperty(events=list(plan.auto_export)) if plan.auto_export else None,
    )
