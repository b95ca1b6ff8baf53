"""The subnets of one zone: fleets, storage and, where a NAT gateway is asked for, a public one."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from ultracluster.plan.network import ZonePlan
from ultracluster.plan.zones import local_zone_group

__all__ = ["ZoneSubnets"]


class ZoneSubnets(Construct):
    """The subnets, route table and NAT gateway of one zone, named after it so that zones never disturb each other.

    Attributes:
        zone: name of the zone.
        fleet_subnet: private subnet of the nodes. No public addresses: nodes have several interfaces, and EC2 assigns
            none then.
        storage_subnet: private subnet of file systems and endpoints, apart from the fleets, so that moving or growing
            a fleet never replaces a file system.
        public_subnet: subnet of the NAT gateway; `None` in a network without NAT.
        fleet_route_table: the zone's own, so that each zone may leave through its own NAT gateway.
        nat_gateway: `None` where this zone has none.
        outbound_route: the way of the nodes out of the VPC; `None` without NAT.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        plan: ZonePlan,
        vpc_id: str,
        storage_route_table_id: str,
        public_route_table_id: str | None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.zone = plan.name
        self._vpc_id = vpc_id
        self._label = scope.node.path
        self.fleet_route_table = ec2.CfnRouteTable(self, "FleetRouteTable", vpc_id=vpc_id, tags=self._name("fleet"))
        self.fleet_subnet = self._subnet("Fleet", plan.fleet_cidr, self.fleet_route_table.ref)
        self.storage_subnet = self._subnet("Storage", plan.storage_cidr, storage_route_table_id)
        self.public_subnet: ec2.CfnSubnet | None = None
        self.nat_gateway: ec2.CfnNatGateway | None = None
        self.outbound_route: ec2.CfnRoute | None = None
        if public_route_table_id is not None:
            self.public_subnet = self._subnet("Public", plan.public_cidr, public_route_table_id)
            if plan.has_nat_gateway:
                self.nat_gateway = self._nat_gateway(self.public_subnet)

    def route_through(self, nat_gateway: ec2.CfnNatGateway) -> None:
        """Send what leaves the VPC from this zone's fleet subnet through a NAT gateway."""
        self.outbound_route = ec2.CfnRoute(
            self,
            "FleetRoute",
            route_table_id=self.fleet_route_table.ref,
            destination_cidr_block="0.0.0.0/0",
            nat_gateway_id=nat_gateway.ref,
        )

    def _name(self, use: str) -> list[cdk.CfnTag]:
        return [cdk.CfnTag(key="Name", value=f"{self._label}/{use}-{self.zone}")]

    def _subnet(self, use: str, cidr: str | None, route_table_id: str) -> ec2.CfnSubnet:
        subnet = ec2.CfnSubnet(
            self,
            f"{use}Subnet",
            vpc_id=self._vpc_id,
            availability_zone=self.zone,
            cidr_block=cidr,
            map_public_ip_on_launch=False,
            tags=self._name(use.lower()),
        )
        ec2.CfnSubnetRouteTableAssociation(
            self, f"{use}RouteTableAssociation", subnet_id=subnet.ref, route_table_id=route_table_id
        )
        return subnet

    def _nat_gateway(self, subnet: ec2.CfnSubnet) -> ec2.CfnNatGateway:
        address = ec2.CfnEIP(
            self,
            "NatAddress",
            domain="vpc",
            network_border_group=local_zone_group(self.zone),
            tags=self._name("nat"),
        )
        return ec2.CfnNatGateway(
            self,
            "NatGateway",
            subnet_id=subnet.ref,
            allocation_id=address.attr_allocation_id,
            tags=self._name("nat"),
        )
