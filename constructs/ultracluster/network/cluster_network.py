"""The network of a cluster: a VPC over explicit zones, built from L1s with explicit address blocks.

What it makes: per zone a private fleet subnet and a storage subnet (and a public one with NAT), route tables, NAT
gateways, the S3 gateway endpoint, interface endpoints, flow logs. What it costs: each NAT gateway and each interface
endpoint is billed per hour (and zone); the S3 endpoint is free. The default security group of the VPC is left as it is
and used by nothing here. What it refuses: unknown or repeated zones, more addresses than a zone's block holds, more NAT
gateways than zones.

Ids come from zone names and every block depends on the zone's place in the list alone, so appending a zone, growing a
fleet or adding an endpoint changes no resource that stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from ultracluster.acknowledge import report_warnings
from ultracluster.facts.endpoints import default_endpoints
from ultracluster.findings import FindingsError, finding, raise_if_errors
from ultracluster.network.defaults import FLOW_LOG_RETENTION_DAYS
from ultracluster.network.endpoints import NetworkEndpoints
from ultracluster.network.flow_logs import FlowLogs
from ultracluster.network.zone_subnets import ZoneSubnets
from ultracluster.plan.log_retention import check_log_retention
from ultracluster.plan.network import NetworkPlan, NetworkRequest, check_network, plan_network
from ultracluster.plan.zones import local_zone_group

__all__ = ["ClusterNetwork"]


class ClusterNetwork(Construct):
    """A VPC for training fleets.

    Example:
        ```python
        zone = "us-east-1a"
        network = ClusterNetwork(self, "Network", availability_zones=[zone], addresses_by_zone={zone: 64})
        ```

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        availability_zones: names of the zones, at least one. Append only: the place in the list decides the block.
        cidr: address block of the VPC.
        addresses_by_zone: private addresses that fleets need per zone, checked against the subnets; none by default.
        nat_gateways: number of NAT gateways, in the first zones of the list; one by default, which all zones share.
            With 0 there are no public subnets, and nodes reach only S3 and the interface endpoints.
        interface_endpoints: services such as `ssm` or `ecr.api`; what every node calls by default
            (`ultracluster.facts.endpoints`), none for an empty list.
        flow_logs: whether all flows are logged.
        flow_log_retention_days: how long they are kept.
        removal_policy: what becomes of the VPC and its storage subnets when they leave the template; they cost nothing.
            Choose `RETAIN_ON_UPDATE_OR_DELETE` where file systems in them are retained: a subnet in use cannot be
            deleted, and the deletion of the stack would end in an error. What costs money goes either way.

    Attributes:
        plan: the decisions; `None` for an existing network.
        vpc: the VPC for other CDK constructs; fleet subnets are its private, storage subnets its isolated subnets.
        availability_zones: the zones, in the order given.
        cfn_vpc, internet_gateway, public_route_table, storage_route_table, zones, endpoints, flow_logs: what was made.

    Raises:
        FindingsError: with everything that is wrong with the arguments.
    """

    plan: NetworkPlan | None = None
    cfn_vpc: ec2.CfnVPC | None = None
    internet_gateway: ec2.CfnInternetGateway | None = None
    public_route_table: ec2.CfnRouteTable | None = None
    storage_route_table: ec2.CfnRouteTable | None = None
    zones: Mapping[str, ZoneSubnets]
    endpoints: NetworkEndpoints | None = None
    flow_logs: FlowLogs | None = None
    vpc: ec2.IVpc
    availability_zones: tuple[str, ...]
    _fleet_subnets: Mapping[str, ec2.ISubnet]
    _storage_subnets: Mapping[str, ec2.ISubnet]

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        availability_zones: Sequence[str],
        cidr: str = "10.0.0.0/16",
        addresses_by_zone: Mapping[str, int] | None = None,
        nat_gateways: int = 1,
        interface_endpoints: Sequence[str] | None = None,
        flow_logs: bool = True,
        flow_log_retention_days: int = FLOW_LOG_RETENTION_DAYS,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.DESTROY,
    ) -> None:
        super().__init__(scope, construct_id)
        region = cdk.Stack.of(self).region
        request = NetworkRequest(
            availability_zones=tuple(availability_zones),
            vpc_cidr=cidr,
            region=None if cdk.Token.is_unresolved(region) else region,
            addresses_by_zone=dict(addresses_by_zone or {}),
            nat_gateways=nat_gateways,
            interface_endpoints=None if interface_endpoints is None else tuple(interface_endpoints),
        )
        path = self.node.path
        retention = check_log_retention(flow_log_retention_days, subject=f"{path}.flow_log_retention_days")
        raise_if_errors((*check_network(request, subject=path), *retention))
        plan = plan_network(request, subject=path)
        report_warnings(self, plan.warnings)
        self.plan = plan
        self.availability_zones = tuple(zone.name for zone in plan.zones)
        self.cfn_vpc = self._vpc(plan)
        vpc_id = self.cfn_vpc.ref
        self.zones = self._zones(plan, vpc_id)
        self.endpoints = self._endpoints(plan, vpc_id)
        if flow_logs:
            self.flow_logs = FlowLogs(self, "FlowLogs", vpc_id=vpc_id, retention_days=flow_log_retention_days)
        if removal_policy != cdk.RemovalPolicy.DESTROY:
            for kept in (self.cfn_vpc, *(zone.storage_subnet for zone in self.zones.values())):
                kept.apply_removal_policy(removal_policy)
        self.vpc = self._import_vpc(plan, vpc_id)

    @staticmethod
    def from_existing(
        scope: Construct,
        construct_id: str,
        *,
        vpc: ec2.IVpc,
        fleet_subnets: Mapping[str, ec2.ISubnet],
        storage_subnets: Mapping[str, ec2.ISubnet] | None = None,
    ) -> ClusterNetwork:
        """Use a VPC that exists, or that other constructs make; nothing is added to it.

        Args:
            scope: the parent.
            construct_id: the id in the parent.
            vpc: the VPC.
            fleet_subnets: for each zone name the private subnet of the nodes.
            storage_subnets: for each zone name the subnet of file systems; the fleet subnets by default.

        Raises:
            FindingsError: no fleet subnet, or a storage subnet in a zone without fleets.
        """
        return _ExistingClusterNetwork(
            scope, construct_id, vpc=vpc, fleet_subnets=fleet_subnets, storage_subnets=storage_subnets or fleet_subnets
        )

    @property
    def endpoint_security_group(self) -> ec2.CfnSecurityGroup | None:
        """The group of the interface endpoints; `None` without interface endpoints."""
        return None if self.endpoints is None else self.endpoints.security_group

    def fleet_subnet(self, zone: str) -> ec2.ISubnet:
        """The private subnet for the nodes of a zone.

        Raises:
            FindingsError: the network has no such zone.
        """
        return self._subnet(self._fleet_subnets, zone)

    def fleet_subnets(self, zones: Sequence[str] | None = None) -> tuple[ec2.ISubnet, ...]:
        """The private subnets of several zones; of all zones by default.

        Raises:
            FindingsError: the network lacks one of the zones.
        """
        return tuple(self.fleet_subnet(zone) for zone in (self.availability_zones if zones is None else zones))

    def storage_subnet(self, zone: str) -> ec2.ISubnet:
        """The subnet for file systems of a zone.

        Raises:
            FindingsError: the network has no such zone.
        """
        return self._subnet(self._storage_subnets, zone)

    def outbound_routes(self, zones: Sequence[str]) -> tuple[ec2.CfnRoute, ...]:
        """The routes by which nodes in these zones leave the VPC; none without NAT and in an existing network."""
        made = [self.zones[zone].outbound_route for zone in zones if zone in self.zones]
        return tuple(route for route in made if route is not None)

    def _subnet(self, subnets: Mapping[str, ec2.ISubnet], zone: str) -> ec2.ISubnet:
        if zone not in subnets:
            known = ", ".join(subnets)
            fix = f"use one of {known}, or append {zone} to availability_zones of the network"
            raise FindingsError([finding("UC-API-001", self.node.path, f"no subnet in zone {zone}", fix)])
        return subnets[zone]

    def _vpc(self, plan: NetworkPlan) -> ec2.CfnVPC:
        return ec2.CfnVPC(
            self,
            "Resource",
            cidr_block=plan.vpc_cidr,
            enable_dns_support=True,  # FSx, EFS and interface endpoints are found by name
            enable_dns_hostnames=True,
            tags=[cdk.CfnTag(key="Name", value=self.node.path)],
        )

    def _zones(self, plan: NetworkPlan, vpc_id: str) -> dict[str, ZoneSubnets]:
        self.storage_route_table = ec2.CfnRouteTable(self, "StorageRouteTable", vpc_id=vpc_id)
        internet_route = self._internet_route(vpc_id) if plan.nat_gateways else None
        public = None if self.public_route_table is None else self.public_route_table.ref
        zones = {
            zone.name: ZoneSubnets(
                self,
                zone.name,
                plan=zone,
                vpc_id=vpc_id,
                storage_route_table_id=self.storage_route_table.ref,
                public_route_table_id=public,
            )
            for zone in plan.zones
        }
        gateways = [zone.nat_gateway for zone in zones.values() if zone.nat_gateway is not None]
        for gateway in gateways:
            if internet_route is not None:
                gateway.add_resource_dependency(internet_route)
        for place, zone in enumerate(zones.values()):
            if gateways:
                zone.route_through(zone.nat_gateway or gateways[place % len(gateways)])
        return zones

    def _internet_route(self, vpc_id: str) -> ec2.CfnRoute:
        self.internet_gateway = ec2.CfnInternetGateway(self, "InternetGateway")
        gateway_id = self.internet_gateway.ref
        attachment = ec2.CfnVPCGatewayAttachment(
            self, "InternetGatewayAttachment", vpc_id=vpc_id, internet_gateway_id=gateway_id
        )
        self.public_route_table = ec2.CfnRouteTable(self, "PublicRouteTable", vpc_id=vpc_id)
        route = ec2.CfnRoute(
            self,
            "InternetRoute",
            route_table_id=self.public_route_table.ref,
            destination_cidr_block="0.0.0.0/0",
            gateway_id=gateway_id,
        )
        route.add_resource_dependency(attachment)
        return route

    def _endpoints(self, plan: NetworkPlan, vpc_id: str) -> NetworkEndpoints:
        services = default_endpoints() if plan.interface_endpoints is None else plan.interface_endpoints
        tables = [zone.fleet_route_table.ref for zone in self.zones.values()]
        if self.storage_route_table is not None:
            tables.append(self.storage_route_table.ref)
        return NetworkEndpoints(
            self,
            "Endpoints",
            vpc_id=vpc_id,
            vpc_cidr=plan.vpc_cidr,
            route_table_ids=tables,
            subnet_ids=[zone.storage_subnet.ref for name, zone in self.zones.items() if local_zone_group(name) is None],
            services=services,
        )

    def _import_vpc(self, plan: NetworkPlan, vpc_id: str) -> ec2.IVpc:
        zones = list(self.zones.values())
        public = [zone.public_subnet.ref for zone in zones if zone.public_subnet is not None]
        public_table = [] if self.public_route_table is None else [self.public_route_table.ref] * len(public)
        storage_table = [] if self.storage_route_table is None else [self.storage_route_table.ref] * len(zones)
        vpc = ec2.Vpc.from_vpc_attributes(
            self,
            "Vpc",
            vpc_id=vpc_id,
            vpc_cidr_block=plan.vpc_cidr,
            availability_zones=list(self.availability_zones),
            private_subnet_ids=[zone.fleet_subnet.ref for zone in zones],
            private_subnet_route_table_ids=[zone.fleet_route_table.ref for zone in zones],
            isolated_subnet_ids=[zone.storage_subnet.ref for zone in zones],
            isolated_subnet_route_table_ids=storage_table,
            public_subnet_ids=public or None,
            public_subnet_route_table_ids=public_table or None,
        )
        self._fleet_subnets = dict(zip(self.availability_zones, vpc.private_subnets, strict=True))
        self._storage_subnets = dict(zip(self.availability_zones, vpc.isolated_subnets, strict=True))
        return vpc


class _ExistingClusterNetwork(ClusterNetwork):
    """A network that somebody else made; nothing is created."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        vpc: ec2.IVpc,
        fleet_subnets: Mapping[str, ec2.ISubnet],
        storage_subnets: Mapping[str, ec2.ISubnet],
    ) -> None:
        Construct.__init__(self, scope, construct_id)
        lonely = sorted(set(storage_subnets) - set(fleet_subnets))
        found = []
        if not fleet_subnets:
            found.append(finding("UC-API-001", f"{self.node.path}.fleet_subnets", "no subnet", "name one per zone"))
        if fleet_subnets and lonely:
            message = f"storage subnets in zones without a fleet subnet: {', '.join(lonely)}"
            found.append(finding("UC-API-001", f"{self.node.path}.storage_subnets", message))
        if found:
            raise FindingsError(found)
        self.vpc = vpc
        self.zones = {}
        self.availability_zones = tuple(fleet_subnets)
        self._fleet_subnets = dict(fleet_subnets)
        self._storage_subnets = dict(storage_subnets)
