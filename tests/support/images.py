"""Tuned images in a network of literal ids."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2

from ultracluster.image.tuned_image import TunedImage
from ultracluster.network.cluster_network import ClusterNetwork

ZONE = "us-east-1a"


def network(stack: cdk.Stack) -> ClusterNetwork:
    """A network of one zone that somebody else made."""
    vpc = ec2.Vpc.from_vpc_attributes(stack, "Vpc", vpc_id="vpc-0123456789abcdef0", availability_zones=[ZONE])
    subnet = ec2.Subnet.from_subnet_attributes(
        stack, "Subnet", subnet_id="subnet-0123456789abcdef0", route_table_id="rtb-0123456789abcdef0"
    )
    return ClusterNetwork.from_existing(stack, "Network", vpc=vpc, fleet_subnets={ZONE: subnet})


def tuned_image(stack: cdk.Stack, construct_id: str = "Image", **arguments: Any) -> TunedImage:
    """An image in a network of its own."""
    return TunedImage(stack, construct_id, **{"network": network(stack)} | arguments)
