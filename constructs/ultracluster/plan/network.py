"""The network: one block of the VPC per zone, subnets that never move, and whether the nodes' addresses fit.

The VPC is cut into eight equal blocks and the k-th zone of the list gets the k-th block, so adding a zone or growing a
fleet never moves a subnet (CloudFormation would have to replace it, with everything inside). Of its block, half goes to
the nodes, a quarter to file systems and endpoints, an eighth to NAT gateways; an eighth stays free for later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from ultracluster.facts.endpoints import default_endpoints
from ultracluster.findings import raise_if_errors
from ultracluster.plan.decision import Decision
from ultracluster.plan.network_rules import (
    FLEET_BITS,
    PUBLIC_BITS,
    STORAGE_BITS,
    ZONE_BITS,
    network_findings,
    usable_addresses,
)
from ultracluster.plan.zones import check_availability_zones
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.findings import Finding

__all__ = [
    "ExistingNetwork",
    "ExistingSubnet",
    "NetworkPlan",
    "NetworkRequest",
    "ZonePlan",
    "check_availability_zones",
    "check_network",
    "plan_network",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingSubnet:
    """A subnet that exists already.

    Attributes:
        subnet_id: its id.
        availability_zone: the name of its zone.
        route_table_id: its route table, when endpoints are to be added to it.
    """

    subnet_id: str
    availability_zone: str
    route_table_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingNetwork:
    """A VPC that exists already.

    Attributes:
        vpc_id: its id.
        vpc_cidr: its IPv4 block.
        subnets: private subnets for nodes, one per zone.
        storage_subnets: subnets for file systems, one per zone; the node subnets where left out.
    """

    vpc_id: str
    vpc_cidr: str
    subnets: tuple[ExistingSubnet, ...]
    storage_subnets: tuple[ExistingSubnet, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRequest:
    """What is asked of the network.

    Attributes:
        availability_zones: names of the zones, at most eight; their order is part of the contract, so append only.
        vpc_cidr: IPv4 block of the VPC, /16 to /22; /16 by default, because a VPC cannot give a subnet more later.
        region: the Region; None when it is not known, then the zones only have to share one.
        addresses_by_zone: private addresses that the nodes of each zone take at most.
        nat_gateways: 0 to one per zone; 1 by default, since each is billed by the hour and nodes fetch little.
        interface_endpoints: services with an interface endpoint; None for the library's list, empty for none.
        existing: a network to use instead of making one.
    """

    availability_zones: tuple[str, ...]
    vpc_cidr: str = "10.0.0.0/16"
    region: str | None = None
    addresses_by_zone: Mapping[str, int] = field(default_factory=dict)
    nat_gateways: int = 1
    interface_endpoints: tuple[str, ...] | None = None
    existing: ExistingNetwork | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ZonePlan:
    """The subnets of one zone; the blocks are None in an existing network, the ids None in a new one.

    Attributes:
        name: name of the zone.
        public_cidr: block for the NAT gateway.
        fleet_cidr: block for nodes.
        storage_cidr: block for file systems and interface endpoints.
        fleet_subnet_id: existing subnet for nodes.
        storage_subnet_id: existing subnet for file systems.
        has_nat_gateway: whether a NAT gateway stands in this zone.
    """

    name: str
    public_cidr: str | None = None
    fleet_cidr: str | None = None
    storage_cidr: str | None = None
    fleet_subnet_id: str | None = None
    storage_subnet_id: str | None = None
    has_nat_gateway: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan:
    """The network as decided.

    Attributes:
        vpc_cidr: IPv4 block of the VPC.
        zones: one entry per zone, in the order of the request.
        nat_gateways: how many; the first zones get one each.
        interface_endpoints: services with an interface endpoint; None for the library's list.
        existing: the network to use instead of making one.
        decisions: why it looks like this.
        warnings: findings that do not stop the plan.
    """

    vpc_cidr: str
    zones: tuple[ZonePlan, ...]
    nat_gateways: int
    interface_endpoints: tuple[str, ...] | None
    existing: ExistingNetwork | None
    decisions: tuple[Decision, ...]
    warnings: tuple[Finding, ...]


def check_network(request: NetworkRequest, *, subject: str) -> tuple[Finding, ...]:
    """All faults of a network request; see `plan_network`."""
    return network_findings(request, subject)


def plan_network(request: NetworkRequest, *, subject: str) -> NetworkPlan:
    """Cut the VPC into blocks, or take the existing subnets.

    Args:
        request: what is asked.
        subject: the network's path in the user's terms.

    Raises:
        FindingsError: UC-NET-005, UC-NET-007, UC-NIC-014, UC-API-105, UC-API-106, UC-API-113 or UC-API-114.
    """
    warnings = raise_if_errors(check_network(request, subject=subject))
    if request.existing is not None:
        return _existing(request, request.existing, subject, warnings)
    vpc = IPv4Network(request.vpc_cidr)
    blocks = vpc.subnets(prefixlen_diff=ZONE_BITS)
    zones = tuple(
        _cut(name, block, has_nat_gateway=at < request.nat_gateways)
        for at, (name, block) in enumerate(zip(request.availability_zones, blocks, strict=False))
    )
    room = usable_addresses(vpc.prefixlen + ZONE_BITS + FLEET_BITS)
    return NetworkPlan(
        vpc_cidr=request.vpc_cidr,
        zones=zones,
        nat_gateways=request.nat_gateways,
        interface_endpoints=request.interface_endpoints,
        existing=None,
        decisions=(
            Decision(
                subject=f"{subject}.availability_zones",
                value="; ".join(f"{zone.name} nodes {zone.fleet_cidr}" for zone in zones),
                because=f"the k-th zone gets the k-th eighth of {vpc}, so no later change moves a subnet",
            ),
            *_demand(request, room, subject),
            _ways_out(request, subject),
        ),
        warnings=warnings,
    )


def _cut(name: str, block: IPv4Network, *, has_nat_gateway: bool) -> ZonePlan:
    """Half of the block for nodes, the next quarter for storage, the next eighth public."""
    fleet, rest = block.subnets(prefixlen_diff=FLEET_BITS)
    storage, last = rest.subnets(prefixlen_diff=STORAGE_BITS - FLEET_BITS)
    public, _ = last.subnets(prefixlen_diff=PUBLIC_BITS - STORAGE_BITS)
    return ZonePlan(
        name=name,
        public_cidr=str(public),
        fleet_cidr=str(fleet),
        storage_cidr=str(storage),
        has_nat_gateway=has_nat_gateway,
    )


def _ways_out(request: NetworkRequest, subject: str) -> Decision:
    chosen = request.interface_endpoints
    services = default_endpoints() if chosen is None else chosen
    rest = "the rest through NAT" if request.nat_gateways else "nothing else"
    reached = f"{', '.join(sorted(services))} through interface endpoints, " if services else ""
    return Decision(
        subject=f"{subject}.interface_endpoints",
        value=f"S3 through its gateway endpoint, {reached}{rest}",
        because="nodes fetch their programs from the bootstrap bucket and report to Auto Scaling and EventBridge",
    )


def _demand(request: NetworkRequest, room: int, subject: str) -> tuple[Decision, ...]:
    return tuple(
        Decision(
            subject=f"{subject}.{zone}",
            value=f"{count} of {room} addresses",
            because="what the fleets of this zone take when they are at their largest",
        )
        for zone, count in request.addresses_by_zone.items()
    )


def _existing(
    request: NetworkRequest, network: ExistingNetwork, subject: str, warnings: tuple[Finding, ...]
) -> NetworkPlan:
    fleet = {subnet.availability_zone: subnet.subnet_id for subnet in network.subnets}
    storage = {subnet.availability_zone: subnet.subnet_id for subnet in network.storage_subnets}
    zones = tuple(
        ZonePlan(name=zone, fleet_subnet_id=fleet[zone], storage_subnet_id=storage.get(zone, fleet[zone]))
        for zone in request.availability_zones
    )
    return NetworkPlan(
        vpc_cidr=network.vpc_cidr,
        zones=zones,
        nat_gateways=0,
        interface_endpoints=request.interface_endpoints,
        existing=network,
        decisions=(
            Decision(subject=subject, value=network.vpc_id, because="the existing network that was named, as it is"),
            Decision(
                subject=f"{subject}.existing",
                value=f"nodes have to reach S3, {', '.join(default_endpoints())}",
                because="their programs come from the bootstrap bucket; nothing is added to this network",
            ),
        ),
        warnings=warnings,
    )
