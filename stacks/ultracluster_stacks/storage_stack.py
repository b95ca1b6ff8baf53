"""What outlives the fleets: buckets, Lustre file systems, the shared home, and the key that encrypts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3

from ultracluster import DataRepository, LustreFileSystem, SharedHome, TrainingBucket
from ultracluster.plan.requests import bucket_request, home_request, lustre_request
from ultracluster.storage.cluster_key import ClusterKey

if TYPE_CHECKING:
    from constructs import Construct

    from ultracluster import ClusterNetwork
    from ultracluster.plan.cluster import ClusterPlan
    from ultracluster.plan.lustre_request import LustrePlan
    from ultracluster.spec.lustre import LustreSpec
    from ultracluster.spec.storage import BucketSpec, HomeSpec, StorageSpec
    from ultracluster.storage.contract import SharedStorage

__all__ = ["StorageStack"]

_S3_URI = "s3://"


class StorageStack(cdk.Stack):
    """The state of a cluster; everything in it is retained unless the cluster file says otherwise.

    Attributes:
        key: encrypts what is made here.
        buckets: by the names of the cluster file.
        shared: file systems by name; the shared home is `home`.
        lustre: the Lustre file systems among them.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        spec: StorageSpec,
        plan: ClusterPlan,
        network: ClusterNetwork,
        env: cdk.Environment,
    ) -> None:
        super().__init__(scope, construct_id, env=env, description="file systems and buckets of a training cluster")
        self._network = network
        self.key = ClusterKey(self, "Key").key
        self.buckets = {bucket.name: self._bucket(bucket) for bucket in spec.buckets}
        self._existing: dict[str, s3.IBucket] = {}
        self.lustre = {
            lustre.name: self._lustre(lustre, planned) for lustre, planned in zip(spec.lustre, plan.lustre, strict=True)
        }
        for name, file_system in self.lustre.items():
            self._output_clients(name, file_system)
        self.shared: dict[str, SharedStorage] = {**self.lustre}
        if spec.home is not None and plan.home is not None:
            self.shared["home"] = self._home(spec.home, plan.home.availability_zones)

    def bucket(self, name: str) -> s3.IBucket:
        """A bucket by its name in the cluster file, or the existing one of an `s3://` URI.

        Args:
            name: declared name, or `s3://bucket`.
        """
        if not name.startswith(_S3_URI):
            return self.buckets[name].bucket
        existing = name.removeprefix(_S3_URI).rstrip("/")
        if existing not in self._existing:
            self._existing[existing] = s3.Bucket.from_bucket_name(self, f"Existing-{existing}", existing)
        return self._existing[existing]

    def _bucket(self, spec: BucketSpec) -> TrainingBucket:
        construct_id = f"Bucket-{spec.name}"
        if spec.bucket_name is not None:
            return TrainingBucket.from_existing(self, construct_id, bucket_name=spec.bucket_name)
        request = bucket_request(spec)
        return TrainingBucket(
            self,
            construct_id,
            purpose=request.purpose,
            versioned=request.versioned,
            encryption_key=self.key,
            removal_policy=_removal(request.removal_policy),
        )

    def _lustre(self, spec: LustreSpec, plan: LustrePlan) -> LustreFileSystem:
        request = lustre_request(spec, availability_zone=plan.availability_zone)
        links = [
            DataRepository(
                file_system_path=link.file_system_path,
                bucket=self.bucket(link.bucket),
                prefix=link.prefix,
                auto_import=link.auto_import,
                auto_export=link.auto_export,
                imported_file_chunk_size_mib=link.imported_file_chunk_size_mib,
            )
            for link in request.data_repositories
        ]
        return LustreFileSystem(
            self,
            f"Lustre-{spec.name}",
            network=self._network,
            availability_zone=plan.availability_zone,
            deployment=request.deployment,
            compression=request.compression,
            file_system_type_version=request.file_system_type_version,
            encryption_key=self.key if plan.persistent else None,
            mount_path=request.mount_path,
            data_repositories=links,
            log_level=request.log_level,
            backup_retention_days=request.backup_retention_days,
            backup_start_time=request.backup_start_time,
            copy_tags_to_backups=request.copy_tags_to_backups,
            maintenance_start_time=request.maintenance_start_time,
            root_squash=request.root_squash,
            no_squash_nids=request.no_squash_nids,
            checkpoints=request.checkpoints,
            removal_policy=_removal(request.removal_policy),
        )

    def _output_clients(self, name: str, file_system: LustreFileSystem) -> None:
        """Name the group of an EFA file system: the fleets of the cluster have one of their own beside them."""
        if file_system.mount.efa:
            cdk.CfnOutput(
                self,
                f"ClientsOf-{name}",
                value=file_system.client_security_group.security_group_id,
                description=f"security group for nodes of other stacks that mount {name}",
            )

    def _home(self, spec: HomeSpec, zones: tuple[str, ...]) -> SharedHome:
        request = home_request(spec, availability_zones=zones)
        return SharedHome(
            self,
            "Home",
            network=self._network,
            availability_zones=request.availability_zones,
            throughput_mode=request.throughput_mode,
            provisioned_throughput_mibps=request.provisioned_throughput_mibps,
            encryption_key=self.key,
            infrequent_access_after_days=request.infrequent_access_after_days,
            archive_after_days=request.archive_after_days,
            backup=request.backup,
            mount_path=request.mount_path,
            removal_policy=_removal(request.removal_policy),
        )


def _removal(choice: str) -> cdk.RemovalPolicy:
    return cdk.RemovalPolicy.RETAIN if choice == "retain" else cdk.RemovalPolicy.DESTROY
