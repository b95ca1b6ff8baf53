"""An FSx for Lustre file system with its security groups, logs and links to S3.

What it makes: the file system in the storage subnet of one zone, a group of its servers and one of its clients,
associations with S3 one after another, a log group for their events. What it costs: capacity and throughput by the hour
from creation on, used or not. What it refuses: sizes off the grid, missing tiers, EFA that would be lost, overlaps.

Type, storage, EFA, subnet, key and the list of security groups cannot be changed: a change of one of them replaces the
file system and leaves the old one behind (it is retained, with the group of its servers). Capacity grows in place, and
so does the tier, unless the file system is EFA-enabled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import aws_cdk as cdk
import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from ultracluster.acknowledge import report_warnings
from ultracluster.facts.lustre import lustre_facts
from ultracluster.findings import Finding, raise_if_errors
from ultracluster.network.cluster_network import ClusterNetwork
from ultracluster.plan.buckets import check_bucket_links
from ultracluster.plan.log_retention import check_log_retention
from ultracluster.plan.lustre import (
    CheckpointLoad,
    LustreDeployment,
    LustrePlan,
    LustreRequest,
    check_lustre,
    plan_lustre,
)
from ultracluster.storage.contract import Mount
from ultracluster.storage.data_repository import DataRepository, DataRepositoryAssociations
from ultracluster.storage.lustre_properties import lustre_configuration
from ultracluster.storage.place import Place, place_of
from ultracluster.storage.removal import removal_choice
from ultracluster.storage.security_groups import StorageSecurityGroups
from ultracluster.storage.training_bucket import TrainingBucket

if TYPE_CHECKING:
    from ultracluster.storage.root_squash import LustreRootSquash

__all__ = ["LustreFileSystem"]

LogLevel = Literal["DISABLED", "WARN_ONLY", "ERROR_ONLY", "WARN_ERROR"]


@jsii.implements(ec2.IConnectable)
class LustreFileSystem(Construct):
    """A Lustre file system that fleets mount.

    Example:
        ```python
        data = LustreFileSystem(
            self,
            "Data",
            network=network,
            deployment=Persistent2(capacity_gib=4800, throughput_mbps_per_tib=500),
            data_repositories=[DataRepository(file_system_path="/data", bucket=bucket)],
        )
        TrainingFleet(self, "Train", ..., storage=[data])
        ```

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        deployment: kind, size and speed: `Persistent2`, `IntelligentTiering`, `Scratch2`, `Persistent1`, `Scratch1`.
        network: the network; its storage subnet in `availability_zone` is used.
        availability_zone: zone of the file system; the only zone of the network when left out.
        vpc: VPC, with `subnet` in place of `network`.
        subnet: the one subnet of the file system.
        compression: `LZ4` or `NONE`. LZ4: less is read and written for data that compresses, at no charge.
        file_system_type_version: server version; `2.15`, because the service's own default is 2.10 on most types.
        encryption_key: customer-managed key, on persistent file systems; the service's key without one.
        mount_path: where clients mount it.
        security_group: existing group of the servers, which brings rules among servers along; a new one without it.
        client_security_group: existing group of the clients; a new one without it.
        data_repositories: links to S3, in the order of creation; append new ones.
        log_level: data-repository events to log; warnings and errors when there are links, else nothing.
        log_retention_days: how long they are kept, when logged; 90 days.
        backup_retention_days: days to keep automatic backups, 0 to 90, not with links; none.
        backup_start_time: `HH:MM` UTC.
        copy_tags_to_backups: copy tags to backups; not with links.
        maintenance_start_time: `d:HH:MM` UTC, d from 1 (Monday) to 7; the service chooses without it.
        root_squash: `UID:GID` that root of a client becomes; `0:0` switches it off; untouched without it.
        no_squash_nids: clients whose root stays root, at most 64.
        checkpoints: size and interval of checkpoints written here, to have the write time checked.
        removal_policy: what becomes of the file system and its links when they leave the template; retained.

    Attributes:
        plan: the decisions; `None` for an existing file system.
        cfn_file_system: the file system made here.
        file_system_id: its id.
        security_groups: both groups and their rules.
        log_group: log group made here, if any.
        data_repository_associations: the associations made here, if any.
        root_squash: the call that sets root squash, if any.
        mount: how a node mounts it.

    Raises:
        FindingsError: with everything that is wrong with the arguments.
    """

    plan: LustrePlan | None = None
    cfn_file_system: fsx.CfnFileSystem | None = None
    log_group: logs.CfnLogGroup | None = None
    data_repository_associations: DataRepositoryAssociations | None = None
    root_squash: LustreRootSquash | None = None
    file_system_id: str
    security_groups: StorageSecurityGroups
    mount: Mount

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: LustreDeployment,
        network: ClusterNetwork | None = None,
        availability_zone: str | None = None,
        vpc: ec2.IVpc | None = None,
        subnet: ec2.ISubnet | None = None,
        compression: Literal["LZ4", "NONE"] = "LZ4",
        file_system_type_version: str = "2.15",
        encryption_key: kms.IKey | None = None,
        mount_path: str = "/fsx",
        security_group: ec2.ISecurityGroup | None = None,
        client_security_group: ec2.ISecurityGroup | None = None,
        data_repositories: Sequence[DataRepository] = (),
        log_level: LogLevel | None = None,
        log_retention_days: int = 90,
        backup_retention_days: int | None = None,
        backup_start_time: str | None = None,
        copy_tags_to_backups: bool = False,
        maintenance_start_time: str | None = None,
        root_squash: str | None = None,
        no_squash_nids: Sequence[str] = (),
        checkpoints: CheckpointLoad | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN,
    ) -> None:
        super().__init__(scope, construct_id)
        path, region = self.node.path, cdk.Stack.of(self).region
        place = place_of(path, network=network, availability_zone=availability_zone, vpc=vpc, subnet=subnet)
        request = LustreRequest(
            name=path,
            deployment=deployment,
            compression=compression,
            file_system_type_version=file_system_type_version,
            customer_key=encryption_key is not None,
            log_level=log_level,
            backup_retention_days=backup_retention_days,
            backup_start_time=backup_start_time,
            copy_tags_to_backups=copy_tags_to_backups,
            maintenance_start_time=maintenance_start_time,
            root_squash=root_squash,
            no_squash_nids=tuple(no_squash_nids),
            data_repositories=tuple(repository.request() for repository in data_repositories),
            availability_zone=place.availability_zone,
            mount_path=mount_path,
            removal_policy=removal_choice(removal_policy, subject=f"{path}.removal_policy"),
            checkpoints=checkpoints,
        )
        plan = _planned(request, path, None if cdk.Token.is_unresolved(region) else region, log_retention_days)
        self.plan = plan
        report_warnings(self, (*plan.warnings, *_check_buckets(path, data_repositories, request)))
        self.security_groups = self._groups(plan, place, security_group, client_security_group, removal_policy)
        log_destination = self._logs(plan, log_retention_days)
        self.cfn_file_system = self._file_system(plan, place, encryption_key, log_destination)
        self.cfn_file_system.apply_removal_policy(removal_policy)
        self.file_system_id = self.cfn_file_system.ref
        self._links(plan, data_repositories, removal_policy)
        dns_name, mount_name = self.cfn_file_system.attr_dns_name, self.cfn_file_system.attr_lustre_mount_name
        self.mount = Mount(
            kind="lustre",
            mount_path=plan.mount_path,
            slots={"dns_name": dns_name, "mount_name": mount_name},
            efa=plan.efa,
            options=plan.mount_options,
        )

    @staticmethod
    def from_existing(
        scope: Construct,
        construct_id: str,
        *,
        file_system_id: str,
        mount_name: str,
        security_group: ec2.ISecurityGroup,
        vpc: ec2.IVpc,
        dns_name: str | None = None,
        client_security_group: ec2.ISecurityGroup | None = None,
        mount_path: str = "/fsx",
        efa: bool = False,
    ) -> LustreFileSystem:
        """Use a file system that exists; nothing about it is changed but the rules of its group that let clients in.

        Args:
            scope: the parent.
            construct_id: the id in the parent.
            file_system_id: its id.
            mount_name: its mount name, which the service chose.
            security_group: the group of its servers.
            vpc: its VPC.
            dns_name: its DNS name; made from the id and the Region when left out.
            client_security_group: a group that its servers already let in; a new one, with rules, without it.
            mount_path: where clients mount it.
            efa: whether it is EFA-enabled.

        Raises:
            FindingsError: the mount path cannot be one.
        """
        from ultracluster.storage.existing import ExistingLustreFileSystem

        return ExistingLustreFileSystem(
            scope,
            construct_id,
            vpc=vpc,
            servers=security_group,
            clients=client_security_group,
            file_system_id=file_system_id,
            mount_name=mount_name,
            dns_name=dns_name,
            mount_path=mount_path,
            efa=efa,
        )

    @property
    def client_security_group(self) -> ec2.ISecurityGroup:
        """The group to attach to the interfaces of a client: the primary one, or every one when `mount.efa`."""
        return self.security_groups.clients

    @property
    def connections(self) -> ec2.Connections:
        """The network connections of the servers."""
        return self.security_groups.servers.connections

    @property
    def mount_command(self) -> str:
        """The command that mounts the file system on a client by hand; a token."""
        slots, options = self.mount.slots, ",".join(self.mount.options)
        source = f"{slots['dns_name']}@tcp:/{slots['mount_name']}"
        return f"sudo mount -t lustre -o {options} {source} {self.mount.mount_path}"

    def metric(
        self, metric_name: str, *, statistic: str | None = None, period: cdk.Duration | None = None
    ) -> cloudwatch.Metric:
        """A metric of the file system in namespace `AWS/FSx`.

        Args:
            metric_name: for example `DataReadBytes` or `FreeDataStorageCapacity`.
            statistic: `Sum` over the disks unless said otherwise.
            period: one minute unless said otherwise, the interval at which the service publishes.
        """
        return cloudwatch.Metric(
            namespace="AWS/FSx",
            metric_name=metric_name,
            dimensions_map={"FileSystemId": self.file_system_id},
            statistic=statistic or "Sum",
            period=period or cdk.Duration.minutes(1),
        )

    def _groups(
        self,
        plan: LustrePlan,
        place: Place,
        servers: ec2.ISecurityGroup | None,
        clients: ec2.ISecurityGroup | None,
        removal_policy: cdk.RemovalPolicy,
    ) -> StorageSecurityGroups:
        return StorageSecurityGroups(
            self,
            "SecurityGroups",
            vpc=place.vpc,
            ports=() if plan.all_traffic else plan.ports,
            both_ways=True,
            servers=servers,
            clients=clients,
            servers_removal_policy=removal_policy,
        )

    def _logs(self, plan: LustrePlan, retention_days: int) -> str | None:
        if plan.log_level in (None, "DISABLED"):
            return None
        # The service writes below /aws/fsx only. The group goes with the stack even when the file system stays: its
        # fixed name would stand in the way of the next deployment.
        name = cdk.Names.unique_resource_name(self, max_length=64, separator="-")
        self.log_group = logs.CfnLogGroup(
            self,
            "LogGroup",
            log_group_name=f"{lustre_facts().log_group_prefix}lustre/{name}",
            retention_in_days=retention_days,
        )
        return cdk.Stack.of(self).format_arn(
            service="logs",
            resource="log-group",
            resource_name=self.log_group.ref,
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )

    def _file_system(
        self, plan: LustrePlan, place: Place, key: kms.IKey | None, log_destination: str | None
    ) -> fsx.CfnFileSystem:
        return fsx.CfnFileSystem(
            self,
            "Resource",
            file_system_type="LUSTRE",
            file_system_type_version=plan.file_system_type_version,
            storage_type=plan.storage_type,
            storage_capacity=plan.capacity_gib,
            subnet_ids=[place.subnet.subnet_id],
            security_group_ids=[self.security_groups.servers.security_group_id],
            kms_key_id=None if key is None else key.key_arn,
            lustre_configuration=lustre_configuration(plan, log_destination=log_destination),
            tags=[cdk.CfnTag(key="Name", value=plan.name[:255])],
        )

    def _links(
        self, plan: LustrePlan, repositories: Sequence[DataRepository], removal_policy: cdk.RemovalPolicy
    ) -> None:
        if repositories:
            self.data_repository_associations = DataRepositoryAssociations(
                self,
                "Associations",
                file_system_id=self.file_system_id,
                plans=plan.associations,
                repositories=repositories,
                removal_policy=removal_policy,
            )
        if plan.root_squash is not None and self.cfn_file_system is not None:
            # Custom resources of the CDK take a while to load, and few file systems squash root.
            from ultracluster.storage.root_squash import LustreRootSquash

            self.root_squash = LustreRootSquash(
                self,
                "RootSquash",
                file_system_id=self.file_system_id,
                file_system_arn=self.cfn_file_system.attr_resource_arn,
                root_squash=plan.root_squash,
            )
            if self.data_repository_associations is not None:
                # Not while associations are made: each changes the file system, and one change runs at a time.
                self.root_squash.call.node.add_dependency(self.data_repository_associations)


def _planned(request: LustreRequest, path: str, region: str | None, log_retention_days: int) -> LustrePlan:
    """The plan; a retention that does not exist is told together with every other fault."""
    retention = check_log_retention(log_retention_days, subject=f"{path}.log_retention_days")
    if retention:
        raise_if_errors((*check_lustre(request, subject=path, region=region), *retention))
    return plan_lustre(request, subject=path, region=region)


def _check_buckets(path: str, repositories: Sequence[DataRepository], request: LustreRequest) -> tuple[Finding, ...]:
    links = request.data_repositories
    plans = {
        link.bucket: repository.bucket.plan
        for repository, link in zip(repositories, links, strict=True)
        if isinstance(repository.bucket, TrainingBucket) and repository.bucket.plan is not None
    }
    named = [(f"{path}.data_repositories[{index}]", link) for index, link in enumerate(links)]
    return raise_if_errors(check_bucket_links(plans, named))
