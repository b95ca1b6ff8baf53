"""A shared home: an EFS file system for home directories, code and small shared data.

What it makes: an encrypted file system, a mount target in each zone, a policy that refuses everything but TLS through a
mount target, daily backups, access points. What it costs: what is stored and, with elastic throughput, what is read and
written. What it refuses: throughput modes that do not fit, a One Zone file system in several zones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_efs as efs
from aws_cdk import aws_kms as kms
from constructs import Construct

from ultracluster.acknowledge import report_warnings
from ultracluster.facts.efs import efs_facts
from ultracluster.network.cluster_network import ClusterNetwork
from ultracluster.plan.home import AccessPoint, HomePlan, HomeRequest, plan_home
from ultracluster.plan.lustre import PortRange
from ultracluster.storage.contract import Mount
from ultracluster.storage.place import ZonalPlace, zonal_place_of
from ultracluster.storage.removal import removal_choice
from ultracluster.storage.security_groups import StorageSecurityGroups

__all__ = ["SharedHome"]


@jsii.implements(ec2.IConnectable)
class SharedHome(Construct):
    """An EFS file system that fleets mount.

    Example:
        ```python
        home = SharedHome(self, "Home", network=network)
        TrainingFleet(self, "Train", ..., storage=[home])
        ```

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        network: the network; a mount target stands in the storage subnet of each zone.
        vpc: VPC, with `subnets` in place of `network`.
        subnets: for each zone name the subnet of its mount target.
        availability_zones: zones that get a mount target; all that have a subnet when left out.
        throughput_mode: `elastic` (follows the load), `provisioned` or `bursting`.
        provisioned_throughput_mibps: MiB/s, with `provisioned` only.
        performance_mode: `generalPurpose` or `maxIO`.
        one_zone: keep the data in this one zone; cheaper, gone with the zone.
        encryption_key: customer-managed key; the key of the service without one. Encrypted either way.
        infrequent_access_after_days: days without access before a file moves to Infrequent Access; 30, `None`: never.
        archive_after_days: days without access before a file moves to Archive; 90, `None` for never.
        backup: daily backups by AWS Backup; on, because home directories hold work that exists nowhere else.
        access_points: directories for containers or jobs, each as one fixed user.
        mount_access_point: name of the access point that fleets mount; the whole file system without it.
        mount_path: where clients mount it; not `/home`, which would hide the image's own users.
        security_group: existing group of the mount targets; a new one without it.
        client_security_group: existing group of the clients; a new one without it.
        removal_policy: what becomes of it when it leaves the template; retained.

    Attributes:
        plan: the decisions; `None` for an existing file system.
        cfn_file_system: the file system made here.
        file_system_id: its id.
        mount_targets: mount targets made here, by zone.
        access_points: access points made here, by name.
        security_groups: both groups and their rules.
        mount: how a node mounts it.

    Raises:
        FindingsError: with everything that is wrong with the arguments.
    """

    plan: HomePlan | None = None
    cfn_file_system: efs.CfnFileSystem | None = None
    file_system_id: str
    mount_targets: dict[str, efs.CfnMountTarget]
    access_points: dict[str, efs.CfnAccessPoint]
    security_groups: StorageSecurityGroups
    mount: Mount

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        network: ClusterNetwork | None = None,
        vpc: ec2.IVpc | None = None,
        subnets: Mapping[str, ec2.ISubnet] | None = None,
        availability_zones: Sequence[str] | None = None,
        throughput_mode: str = "elastic",
        provisioned_throughput_mibps: float | None = None,
        performance_mode: str = "generalPurpose",
        one_zone: str | None = None,
        encryption_key: kms.IKey | None = None,
        infrequent_access_after_days: int | None = 30,
        archive_after_days: int | None = 90,
        backup: bool = True,
        access_points: Sequence[AccessPoint] = (),
        mount_access_point: str | None = None,
        mount_path: str = "/home/shared",
        security_group: ec2.ISecurityGroup | None = None,
        client_security_group: ec2.ISecurityGroup | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN,
    ) -> None:
        super().__init__(scope, construct_id)
        path = self.node.path
        wanted = (one_zone,) if one_zone and availability_zones is None else availability_zones
        place = zonal_place_of(
            path,
            network=network,
            vpc=vpc,
            subnets=subnets,
            availability_zones=None if wanted is None else tuple(wanted),
        )
        plan = plan_home(
            HomeRequest(
                name=path,
                availability_zones=place.zones,
                throughput_mode=throughput_mode,
                provisioned_throughput_mibps=provisioned_throughput_mibps,
                performance_mode=performance_mode,
                one_zone=one_zone,
                customer_key=encryption_key is not None,
                infrequent_access_after_days=infrequent_access_after_days,
                archive_after_days=archive_after_days,
                backup=backup,
                access_points=tuple(access_points),
                mount_access_point=mount_access_point,
                mount_path=mount_path,
                removal_policy=removal_choice(removal_policy, subject=f"{path}.removal_policy"),
            ),
            subject=path,
        )
        self.plan = plan
        report_warnings(self, plan.warnings)
        self.security_groups = home_groups(self, place.vpc, plan.port, security_group, client_security_group)
        self.cfn_file_system = self._file_system(plan, encryption_key)
        self.cfn_file_system.apply_removal_policy(removal_policy)
        self.file_system_id = self.cfn_file_system.ref
        self.mount_targets = {zone: self._mount_target(place, zone) for zone in plan.availability_zones}
        self.access_points = {point.name: self._access_point(point) for point in plan.access_points}
        entry = self.access_points.get(plan.mount_access_point or "")
        self.mount = home_mount(self.file_system_id, "" if entry is None else entry.ref, plan.mount_path)

    @staticmethod
    def from_existing(
        scope: Construct,
        construct_id: str,
        *,
        file_system_id: str,
        security_group: ec2.ISecurityGroup,
        vpc: ec2.IVpc,
        access_point_id: str = "",
        client_security_group: ec2.ISecurityGroup | None = None,
        mount_path: str = "/home/shared",
    ) -> SharedHome:
        """Use a file system that exists; nothing about it is changed but the rules of its group that let clients in.

        Args:
            scope: the parent.
            construct_id: the id in the parent.
            file_system_id: its id.
            security_group: the group of its mount targets.
            vpc: their VPC.
            access_point_id: the access point to mount; the whole file system without it.
            client_security_group: a group that the mount targets already let in; a new one, with rules, without it.
            mount_path: where clients mount it.

        Raises:
            FindingsError: the mount path cannot be one.
        """
        from ultracluster.storage.existing import ExistingSharedHome

        return ExistingSharedHome(
            scope,
            construct_id,
            vpc=vpc,
            servers=security_group,
            clients=client_security_group,
            file_system_id=file_system_id,
            access_point_id=access_point_id,
            mount_path=mount_path,
        )

    @property
    def client_security_group(self) -> ec2.ISecurityGroup:
        """The group to attach to the primary interface of a client."""
        return self.security_groups.clients

    @property
    def connections(self) -> ec2.Connections:
        """The network connections of the mount targets."""
        return self.security_groups.servers.connections

    def _file_system(self, plan: HomePlan, key: kms.IKey | None) -> efs.CfnFileSystem:
        return efs.CfnFileSystem(
            self,
            "Resource",
            encrypted=True,
            kms_key_id=None if key is None else key.key_arn,
            performance_mode=plan.performance_mode,
            throughput_mode=plan.throughput_mode,
            provisioned_throughput_in_mibps=plan.provisioned_throughput_mibps,
            availability_zone_name=plan.one_zone,
            lifecycle_policies=[_lifecycle(name, value) for name, value in plan.lifecycle] or None,
            backup_policy=efs.CfnFileSystem.BackupPolicyProperty(status="ENABLED" if plan.backup else "DISABLED"),
            file_system_policy=_policy(),
            file_system_tags=[efs.CfnFileSystem.ElasticFileSystemTagProperty(key="Name", value=plan.name[:255])],
        )

    def _mount_target(self, place: ZonalPlace, zone: str) -> efs.CfnMountTarget:
        return efs.CfnMountTarget(
            self,
            f"MountTarget-{zone}",
            file_system_id=self.file_system_id,
            subnet_id=place.subnet(zone).subnet_id,
            security_groups=[self.security_groups.servers.security_group_id],
        )

    def _access_point(self, point: AccessPoint) -> efs.CfnAccessPoint:
        uid, gid = str(point.uid), str(point.gid)
        return efs.CfnAccessPoint(
            self,
            f"AccessPoint-{point.name}",
            file_system_id=self.file_system_id,
            posix_user=efs.CfnAccessPoint.PosixUserProperty(uid=uid, gid=gid),
            root_directory=efs.CfnAccessPoint.RootDirectoryProperty(
                path=point.path,
                creation_info=efs.CfnAccessPoint.CreationInfoProperty(
                    owner_uid=uid, owner_gid=gid, permissions=point.permissions
                ),
            ),
            access_point_tags=[efs.CfnAccessPoint.AccessPointTagProperty(key="Name", value=point.name)],
        )


def home_groups(
    scope: Construct,
    vpc: ec2.IVpc,
    port: int,
    servers: ec2.ISecurityGroup | None,
    clients: ec2.ISecurityGroup | None,
) -> StorageSecurityGroups:
    """Both groups of a shared home and the rules between them."""
    ports = (PortRange(first=port, last=port),)
    return StorageSecurityGroups(
        scope, "SecurityGroups", vpc=vpc, ports=ports, both_ways=False, servers=servers, clients=clients
    )


def home_mount(file_system_id: str, access_point_id: str, mount_path: str) -> Mount:
    """How a node mounts a shared home."""
    return Mount(
        kind="efs",
        mount_path=mount_path,
        slots={"file_system_id": file_system_id, "access_point_id": access_point_id},
        options=efs_facts().mount_options,
    )


def _lifecycle(name: str, value: str) -> efs.CfnFileSystem.LifecyclePolicyProperty:
    rule = efs.CfnFileSystem.LifecyclePolicyProperty
    match name:
        case "TransitionToIA":
            return rule(transition_to_ia=value)
        case "TransitionToArchive":
            return rule(transition_to_archive=value)
        case _:
            return rule(transition_to_primary_storage_class=value)


def _policy() -> dict[str, Any]:
    """Whoever comes through a mount target, over TLS, may mount; the group of the mount targets says who can come.

    Without the allow statement the policy would refuse every client that does not sign its mount with a role.
    """
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "ThroughMountTargets",
                "Effect": "Allow",
                "Principal": {"AWS": "*"},
                "Action": list(efs_facts().client_actions),
                "Condition": {"Bool": {"elasticfilesystem:AccessedViaMountTarget": "true"}},
            },
            {
                "Sid": "TlsOnly",
                "Effect": "Deny",
                "Principal": {"AWS": "*"},
                "Action": "*",
                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
            },
        ],
    }
