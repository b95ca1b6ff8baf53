"""A network of literal ids, so that templates hold nothing but storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import aws_cdk as cdk

    from ultracluster.network.cluster_network import ClusterNetwork

ZONES = ("us-east-1a", "us-east-1b")


@pytest.fixture
def network(stack: cdk.Stack) -> ClusterNetwork:
    from aws_cdk import aws_ec2 as ec2

    from ultracluster.network.cluster_network import ClusterNetwork

    vpc = ec2.Vpc.from_vpc_attributes(stack, "Vpc", vpc_id="vpc-0123456789abcdef0", availability_zones=list(ZONES))

    def subnet(kind: str, zone: str) -> ec2.ISubnet:
        return ec2.Subnet.from_subnet_attributes(
            stack, f"{kind}{zone}", subnet_id=f"subnet-{kind}{zone}", route_table_id="rtb-0123456789abcdef0"
        )

    return ClusterNetwork.from_existing(
        stack,
        "Network",
        vpc=vpc,
        fleet_subnets={zone: subnet("fleet", zone) for zone in ZONES},
        storage_subnets={zone: subnet("storage", zone) for zone in ZONES},
    )
