"""File systems that somebody else made. Nothing about them is changed but the rules that let clients in.

Made by `LustreFileSystem.from_existing` and `SharedHome.from_existing`.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from ultracluster.facts.efs import efs_facts
from ultracluster.facts.lustre import lustre_facts
from ultracluster.findings import raise_if_errors
from ultracluster.plan.lustre import PortRange
from ultracluster.plan.paths import check_mount_path
from ultracluster.storage.contract import Mount
from ultracluster.storage.lustre_file_system import LustreFileSystem
from ultracluster.storage.security_groups import StorageSecurityGroups
from ultracluster.storage.shared_home import SharedHome, home_groups, home_mount

__all__ = ["ExistingLustreFileSystem", "ExistingSharedHome"]


class ExistingLustreFileSystem(LustreFileSystem):
    """A file system that somebody else made; only a group for clients and its rules are created."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        vpc: ec2.IVpc,
        servers: ec2.ISecurityGroup,
        clients: ec2.ISecurityGroup | None,
        file_system_id: str,
        mount_name: str,
        dns_name: str | None,
        mount_path: str,
        efa: bool,
    ) -> None:
        Construct.__init__(self, scope, construct_id)
        raise_if_errors(check_mount_path(mount_path, subject=f"{self.node.path}.mount_path"))
        facts, stack = lustre_facts(), cdk.Stack.of(self)
        self.file_system_id = file_system_id
        self.security_groups = StorageSecurityGroups(
            self,
            "SecurityGroups",
            vpc=vpc,
            ports=() if efa else tuple(PortRange(first=first, last=last) for first, last in facts.ports),
            both_ways=True,
            servers=servers,
            clients=clients,
        )
        self.mount = Mount(
            kind="lustre",
            mount_path=mount_path,
            slots={
                "dns_name": dns_name or f"{file_system_id}.fsx.{stack.region}.{stack.url_suffix}",
                "mount_name": mount_name,
            },
            efa=efa,
            options=facts.mount_options,
        )


class ExistingSharedHome(SharedHome):
    """A file system that somebody else made; only a group for clients and its rules are created."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        vpc: ec2.IVpc,
        servers: ec2.ISecurityGroup,
        clients: ec2.ISecurityGroup | None,
        file_system_id: str,
        access_point_id: str,
        mount_path: str,
    ) -> None:
        Construct.__init__(self, scope, construct_id)
        raise_if_errors(check_mount_path(mount_path, subject=f"{self.node.path}.mount_path"))
        self.file_system_id = file_system_id
        self.mount_targets, self.access_points = {}, {}
        self.security_groups = home_groups(self, vpc, efs_facts().port, servers, clients)
        self.mount = home_mount(file_system_id, access_point_id, mount_path)
