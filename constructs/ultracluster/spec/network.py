"""`network`: the zones, the VPC that is made or the one that exists already."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ultracluster.spec.base import Many, SpecModel
from ultracluster.spec.forms import CidrText, RouteTableId, ServiceName, SubnetId, VpcId, Zone
from ultracluster.spec.keys import KeyRule, at_most_one

__all__ = ["ExistingNetworkSpec", "ExistingSubnetSpec", "NetworkSpec"]


class ExistingSubnetSpec(SpecModel):
    """A subnet that exists already."""

    subnet_id: SubnetId = Field(description="Id of the subnet.", examples=["subnet-0a1b2c3d4e5f60718"])
    availability_zone: Zone = Field(description="Name of its zone.", examples=["us-east-1a"])
    route_table_id: RouteTableId | None = Field(
        default=None,
        description="Id of its route table; needed only where the cluster adds a gateway endpoint to it.",
        examples=["rtb-0a1b2c3d4e5f60718"],
    )


class ExistingNetworkSpec(SpecModel):
    """A VPC that exists already; nothing is looked up, so everything the cluster needs to know stands here."""

    vpc_id: VpcId = Field(description="Id of the VPC.", examples=["vpc-0a1b2c3d4e5f60718"])
    vpc_cidr: CidrText = Field(description="IPv4 block of the VPC.", examples=["10.0.0.0/16"])
    subnets: Many[ExistingSubnetSpec] = Field(
        min_length=1,
        description="Private subnets of the fleets, one per zone.",
        examples=[[{"subnet_id": "subnet-0a1b2c3d4e5f60718", "availability_zone": "us-east-1a"}]],
    )
    storage_subnets: Many[ExistingSubnetSpec] = Field(
        default=(),
        description="Subnets of the file systems, one per zone; default: those of the fleets. A subnet of its own "
        "keeps a file system in place when a fleet moves.",
    )


class NetworkSpec(SpecModel):
    """The network of the cluster: a VPC with public, fleet and storage subnets in each zone, or an existing one."""

    key_rules: ClassVar[tuple[KeyRule, ...]] = tuple(
        at_most_one("existing", key) for key in ("vpc_cidr", "nat_gateways", "flow_logs", "interface_endpoints")
    )

    availability_zones: Many[Zone] = Field(
        min_length=1,
        max_length=8,
        description="Names of the zones, in an order that stays: each zone gets the block of the VPC that belongs to "
        "its place in the list, so append new zones at the end.",
        examples=[["us-east-1a"]],
    )
    vpc_cidr: CidrText = Field(
        default="10.0.0.0/16",
        description="IPv4 block of the VPC. A /16 leaves room for more than 4,000 addresses per zone; it must not "
        "overlap networks that are peered with it.",
    )
    nat_gateways: int = Field(
        default=1,
        ge=0,
        le=8,
        description="Number of NAT gateways. One serves all zones and is the cheapest; one per zone survives the loss "
        "of a zone; 0 leaves only the endpoints.",
    )
    flow_logs: bool = Field(
        default=True, description="Whether rejected and accepted connections are logged; needed to explain a lost node."
    )
    interface_endpoints: Many[ServiceName] | None = Field(
        default=None,
        description="AWS services that the nodes reach without the NAT gateway; default: those that the nodes call.",
        examples=[["ssm", "ssmmessages", "logs"]],
    )
    existing: ExistingNetworkSpec | None = Field(
        default=None, description="Use this VPC instead of making one; excludes the settings of a new VPC."
    )
