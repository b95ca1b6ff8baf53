"""Rules on networks: zones, address blocks, room for the nodes, existing subnets."""

from __future__ import annotations

from difflib import get_close_matches
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from ultracluster.facts.compute_limits import limit
from ultracluster.facts.endpoints import default_endpoints, endpoint_facts, endpoint_services
from ultracluster.findings import Finding, finding
from ultracluster.plan.references import is_unresolved
from ultracluster.plan.zones import check_availability_zones

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ultracluster.plan.network import ExistingNetwork, ExistingSubnet, NetworkRequest

__all__ = [
    "FLEET_BITS",
    "PUBLIC_BITS",
    "STORAGE_BITS",
    "ZONE_BITS",
    "network_findings",
    "usable_addresses",
]

# Eight blocks per VPC: no Region has more zones for accelerated types, Local Zones included.
ZONE_BITS = 3
# Shares of a zone's block: a half for nodes, a quarter for storage, an eighth for NAT gateways.
FLEET_BITS = 1
STORAGE_BITS = 2
PUBLIC_BITS = 3
# A subnet can never grow, so one that is more than this full is worth a word.
_HEAD_ROOM = 1.2


def usable_addresses(prefix: int) -> int:
    """Addresses that instances can have in a subnet of this prefix length."""
    return int(2 ** (32 - prefix)) - limit("subnet_reserved_addresses")


def network_findings(request: NetworkRequest, subject: str) -> tuple[Finding, ...]:
    """All faults of a network request."""
    zones = f"{subject}.availability_zones"
    found = [
        *check_availability_zones(request.availability_zones, region=request.region, subject=zones),
        *_check_demand_zones(request, subject),
    ]
    if request.existing is not None:
        found.extend(_check_existing(request, request.existing, f"{subject}.existing"))
        return tuple(found)
    if len(request.availability_zones) > 2**ZONE_BITS:
        message = f"{len(request.availability_zones)} zones, the VPC is cut into {2**ZONE_BITS} blocks"
        found.append(finding("UC-API-106", zones, message, f"name at most {2**ZONE_BITS}"))
    if not 0 <= request.nat_gateways <= len(request.availability_zones):
        message = f"{request.nat_gateways} NAT gateways for {len(request.availability_zones)} zones"
        fix = f"use 0 to {len(request.availability_zones)}"
        found.append(finding("UC-API-113", f"{subject}.nat_gateways", message, fix))
    found.extend(_check_way_out(request, subject))
    found.extend(_check_services(request, subject))
    found.extend(_check_block(request, subject))
    return tuple(found)


def _check_way_out(request: NetworkRequest, subject: str) -> Iterable[Finding]:
    """Without NAT, what every node calls has to have an endpoint."""
    given = request.interface_endpoints
    if request.nat_gateways or given is None:
        return
    missing = [service for service in default_endpoints() if service not in given]
    if missing:
        message = f"no NAT gateway and no endpoint of {', '.join(missing)}: {endpoint_facts()[missing[0]].without_it}"
        fix = f"add {', '.join(missing)}, leave the list out, or give the network a NAT gateway"
        yield finding("UC-API-117", f"{subject}.interface_endpoints", message, fix)


def _check_services(request: NetworkRequest, subject: str) -> Iterable[Finding]:
    """A misspelt service fails the deployment only when the VPC stands; a younger one than our list is possible."""
    known = endpoint_services() if request.interface_endpoints else frozenset()
    for index, service in enumerate(request.interface_endpoints or ()):
        if service in known or is_unresolved(service):
            continue
        near = get_close_matches(service, known, n=1)
        fix = f"did you mean {near[0]}?" if near else ""
        message = f"{service!r} is no service of AWS PrivateLink on record"
        yield finding("UC-API-119", f"{subject}.interface_endpoints[{index}]", message, fix)


def _check_demand_zones(request: NetworkRequest, subject: str) -> Iterable[Finding]:
    for zone in request.addresses_by_zone:
        if zone not in request.availability_zones:
            message = f"nodes in {zone}, which is no zone of the network ({', '.join(request.availability_zones)})"
            yield finding("UC-API-105", f"{subject}.availability_zones", message, f"append {zone} to the zones")


def _check_block(request: NetworkRequest, subject: str) -> Iterable[Finding]:
    place = f"{subject}.vpc_cidr"
    vpc = _parse(request.vpc_cidr)
    largest = limit("vpc_min_prefix")
    smallest = limit("subnet_max_prefix") - ZONE_BITS - PUBLIC_BITS
    if isinstance(vpc, str):
        yield finding("UC-API-106", place, vpc, "write an IPv4 block such as 10.0.0.0/16")
    elif not largest <= vpc.prefixlen <= smallest:
        message = f"{vpc} is a /{vpc.prefixlen}, blocks and subnets of every zone need /{largest} to /{smallest}"
        better = min(max(vpc.prefixlen, largest), smallest)
        yield finding("UC-API-106", place, message, f"use a /{better}")
    else:
        yield from _check_room(request, vpc, place)


def _parse(cidr: str) -> IPv4Network | str:
    """The block, or what is wrong with it."""
    try:
        return IPv4Network(cidr)
    except ValueError as error:
        return str(error)


def _check_room(request: NetworkRequest, vpc: IPv4Network, place: str) -> Iterable[Finding]:
    room = usable_addresses(vpc.prefixlen + ZONE_BITS + FLEET_BITS)
    for zone, count in request.addresses_by_zone.items():
        if count > room:
            message = f"the nodes of {zone} take {count} addresses, their subnet of {vpc} has {room}"
            yield finding("UC-NIC-014", place, message, _larger(count))
        elif count * _HEAD_ROOM > room:
            message = f"the nodes of {zone} take {count} of the {room} addresses of their subnet, which cannot grow"
            yield finding("UC-NET-008", place, message, "take a larger block while nothing stands in it")


def _larger(count: int) -> str:
    """What to do about too little room: the smallest VPC that holds the demand, or fewer addresses."""
    largest = limit("vpc_min_prefix")
    smallest = limit("subnet_max_prefix") - ZONE_BITS - PUBLIC_BITS
    fitting = [
        prefix
        for prefix in range(largest, smallest + 1)
        if usable_addresses(prefix + ZONE_BITS + FLEET_BITS) >= count * _HEAD_ROOM
    ] or [
        prefix for prefix in range(largest, smallest + 1) if usable_addresses(prefix + ZONE_BITS + FLEET_BITS) >= count
    ]
    if fitting:
        return f"use a /{max(fitting)} for the VPC, or the min-ip layout with one address per node"
    return f"no VPC holds that many (at most a /{largest}): use the min-ip layout, or spread fleets over zones"


def _check_existing(request: NetworkRequest, network: ExistingNetwork, place: str) -> Iterable[Finding]:
    vpc = _parse(network.vpc_cidr)
    if isinstance(vpc, str):
        yield finding("UC-API-106", f"{place}.vpc_cidr", vpc, "write the IPv4 block of the VPC, such as 10.0.0.0/16")
    for name, subnets in (("subnets", network.subnets), ("storage_subnets", network.storage_subnets)):
        yield from _check_unique(subnets, f"{place}.{name}")
    covered = {subnet.availability_zone for subnet in network.subnets}
    for zone in request.availability_zones:
        if zone not in covered:
            message = f"no subnet in {zone}"
            yield finding("UC-API-114", f"{place}.subnets", message, f"add a private subnet of {zone}")


def _check_unique(subnets: tuple[ExistingSubnet, ...], place: str) -> Iterable[Finding]:
    for what, values in (
        ("subnet", [subnet.subnet_id for subnet in subnets]),
        ("zone", [subnet.availability_zone for subnet in subnets]),
    ):
        twice = sorted({value for value in values if values.count(value) > 1})
        if twice:
            message = f"{what} {', '.join(twice)} named twice"
            yield finding("UC-NET-007", place, message, "name each subnet once, and one per zone")
            return
