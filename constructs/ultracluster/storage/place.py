"""Where a file system stands: VPC, subnet and zone, from a `ClusterNetwork` or from a VPC and subnet of the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ultracluster.findings import FindingsError, finding

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2

    from ultracluster.network.cluster_network import ClusterNetwork

__all__ = ["Place", "place_of"]


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
