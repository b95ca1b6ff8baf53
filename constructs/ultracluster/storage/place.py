"""Where a file system stands: VPC, subnets and zones, from a `ClusterNetwork` or from a VPC and subnets of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ultracluster.findings import FindingsError, finding
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_cdk import aws_ec2 as ec2

    from ultracluster.network.cluster_network import ClusterNetwork

__all__ = ["Place", "ZonalPlace", "place_of", "zonal_place_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Place:
    """VPC, subnet and, when known, zone."""

    vpc: ec2.IVpc
    subnet: ec2.ISubnet
    availability_zone: str | None


def place_of(
    subject: str,
    *,
    network: ClusterNetwork | None,
    availability_zone: str | None,
    vpc: ec2.IVpc | None,
    subnet: ec2.ISubnet | None,
) -> Place:
    """The place that the arguments name.

    Raises:
        FindingsError: they contradict each other or leave the place open.
    """
    if network is None and vpc is not None and subnet is not None:
        return Place(vpc=vpc, subnet=subnet, availability_zone=availability_zone)
    if network is None or vpc is not None or subnet is not None:
        message = "is given beside vpc or subnet" if network is not None else "is missing, and so is vpc with subnet"
        raise FindingsError([finding("UC-STG-006", f"{subject}.network", message, "give network, or vpc and subnet")])
    zone = availability_zone or (network.availability_zones[0] if len(network.availability_zones) == 1 else None)
    if zone is None:
        zones = ", ".join(network.availability_zones)
        message = f"is missing, and the network has several zones ({zones})"
        fix = "name the zone of the fleet that uses the file system most"
        raise FindingsError([finding("UC-STG-006", f"{subject}.availability_zone", message, fix)])
    return Place(vpc=network.vpc, subnet=network.storage_subnet(zone), availability_zone=zone)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ZonalPlace:
    """VPC, zones and the subnet in each of them."""

    vpc: ec2.IVpc
    zones: tuple[str, ...]
    network: ClusterNetwork | None
    subnets: Mapping[str, ec2.ISubnet]

    def subnet(self, zone: str) -> ec2.ISubnet:
        """The subnet in a zone.

        Raises:
            FindingsError: there is none.
        """
        return self.subnets[zone] if self.network is None else self.network.storage_subnet(zone)


def zonal_place_of(
    subject: str,
    *,
    network: ClusterNetwork | None,
    vpc: ec2.IVpc | None,
    subnets: Mapping[str, ec2.ISubnet] | None,
    availability_zones: tuple[str, ...] | None,
) -> ZonalPlace:
    """The place that the arguments name, in some or all zones.

    Raises:
        FindingsError: they contradict each other or leave the place open, or a zone has no subnet.
    """
    if network is not None and vpc is None and subnets is None:
        zones = availability_zones or network.availability_zones
        return ZonalPlace(vpc=network.vpc, zones=tuple(zones), network=network, subnets={})
    if network is not None or vpc is None or not subnets:
        message = "is given beside vpc or subnets" if network is not None else "is missing, and so is vpc with subnets"
        raise FindingsError([finding("UC-STG-006", f"{subject}.network", message, "give network, or vpc and subnets")])
    zones = availability_zones or tuple(subnets)
    bare = [
        finding("UC-API-001", f"{subject}.subnets", f"no subnet in {zone}", f"give one of {', '.join(subnets)}")
        for zone in zones
        if zone not in subnets
    ]
    if bare:
        raise FindingsError(bare)
    return ZonalPlace(vpc=vpc, zones=zones, network=None, subnets=subnets)
