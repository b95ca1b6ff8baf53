"""What several cases need: a stack with a network of literal ids, and a Lustre file system in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import aws_cdk as cdk

    from ultracluster.storage.lustre_file_system import LustreFileSystem


@pytest.fixture
def lustre(stack: cdk.Stack) -> Callable[..., LustreFileSystem]:
    """Make a file system `Data` in the stack of the test."""
    from aws_cdk import aws_ec2 as ec2

    from ultracluster.storage.lustre_file_system import LustreFileSystem

    vpc = ec2.Vpc.from_vpc_attributes(stack, "Vpc", vpc_id="vpc-0123456789abcdef0", availability_zones=["us-east-1a"])
    subnet = ec2.Subnet.from_subnet_attributes(
        stack, "Subnet", subnet_id="subnet-0123456789abcdef0", route_table_id="rtb-0123456789abcdef0"
    )

    def make(deployment: Any, **arguments: Any) -> LustreFileSystem:
        return LustreFileSystem(stack, "Data", deployment=deployment, vpc=vpc, subnet=subnet, **arguments)

    return make
