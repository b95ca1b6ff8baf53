"""The network of a cluster: lives longest, changes least."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2

from ultracluster import ClusterNetwork

if TYPE_CHECKING:
    from constructs import Construct

    from ultracluster.plan.network import ExistingNetwork, ExistingSubnet, NetworkPlan

__all__ = ["NetworkStack"]


class NetworkStack(cdk.Stack):
    """A VPC cut for the cluster, or the existing one that the cluster file names.

    Attributes:
        network: what the other stacks place their resources in.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        plan: NetworkPlan,
        flow_logs: bool,
        holds_retained_storage: bool,
        env: cdk.Environment,
    ) -> None:
        super().__init__(scope, construct_id, env=env, description="network of a training cluster")
        if plan.existing is not None:
            self.network = self._existing(plan.existing)
            return
        self.network = ClusterNetwork(
            self,
            "Network",
            availability_zones=[zone.name for zone in plan.zones],
            cidr=plan.vpc_cidr,
            nat_gateways=plan.nat_gateways,
            interface_endpoints=plan.interface_endpoints,
            flow_logs=flow_logs,
            removal_policy=cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
            if holds_retained_storage
            else cdk.RemovalPolicy.DESTROY,
        )

    def _existing(self, existing: ExistingNetwork) -> ClusterNetwork:
        zones = list(dict.fromkeys(subnet.availability_zone for subnet in existing.subnets))
        vpc = ec2.Vpc.from_vpc_attributes(
            self, "Vpc", vpc_id=existing.vpc_id, vpc_cidr_block=existing.vpc_cidr, availability_zones=zones
        )
        return ClusterNetwork.from_existing(
            self,
            "Network",
            vpc=vpc,
            fleet_subnets=self._subnets("Fleet", existing.subnets),
            storage_subnets=self._subnets("Storage", existing.storage_subnets) or None,
        )

    def _subnets(self, kind: str, subnets: tuple[ExistingSubnet, ...]) -> dict[str, ec2.ISubnet]:
        return {
            subnet.availability_zone: ec2.Subnet.from_subnet_attributes(
                self,
                f"{kind}Subnet-{subnet.availability_zone}",
                subnet_id=subnet.subnet_id,
                availability_zone=subnet.availability_zone,
                route_table_id=subnet.route_table_id,
            )
            for subnet in subnets
        }
