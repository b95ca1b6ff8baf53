"""A network and storage for construct tests of fleets, imported, so that the template holds the fleet alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from support.templates import Template, launch_template_data, only
from ultracluster.fleet.training_fleet import TrainingFleet
from ultracluster.network.cluster_network import ClusterNetwork
from ultracluster.storage.contract import Mount


def imported_network(scope: Construct, *zones: str) -> ClusterNetwork:
    """A network over existing subnets, us-east-1a by default; its ids are literals."""
    names = zones or ("us-east-1a",)
    vpc = ec2.Vpc.from_vpc_attributes(
        scope, "Vpc", vpc_id="vpc-0123456789abcdef0", availability_zones=list(names), vpc_cidr_block="10.0.0.0/16"
    )
    subnets = {
        zone: ec2.Subnet.from_subnet_attributes(
            scope,
            f"Subnet-{zone}",
            subnet_id=f"subnet-{zone}",
            availability_zone=zone,
            route_table_id=f"rtb-{zone}",
        )
        for zone in names
    }
    return ClusterNetwork.from_existing(scope, "Network", vpc=vpc, fleet_subnets=subnets)


def p5(scope: Construct, construct_id: str = "Train", **arguments: Any) -> TrainingFleet:
    """Four p5.48xlarge in the imported network, with other arguments."""
    if "network" not in arguments:
        arguments["network"] = imported_network(scope)
    if not {"count", "min_count", "max_count"} & set(arguments):
        arguments["count"] = 4
    return TrainingFleet(scope, construct_id, **{"instance_type": "p5.48xlarge", **arguments})


def group_of(template: Template) -> dict[str, Any]:
    """The properties of the only Auto Scaling group."""
    return only(template, "AWS::AutoScaling::AutoScalingGroup")


def data_of(template: Template) -> dict[str, Any]:
    """The data of the only launch template."""
    (data,) = launch_template_data(template)
    return data


@dataclass(frozen=True)
class FakeStorage:
    """Storage as a fleet sees it."""

    mount: Mount
    client_security_group: ec2.ISecurityGroup


def lustre(scope: Construct, construct_id: str = "Lustre", *, efa: bool = False, path: str = "/fsx") -> FakeStorage:
    """A Lustre file system that exists."""
    slots: Mapping[str, str] = {"dns_name": "fs-1.fsx.us-east-1.amazonaws.com", "mount_name": "abcdef"}
    group = ec2.SecurityGroup.from_security_group_id(scope, construct_id, f"sg-{construct_id.lower()}")
    return FakeStorage(Mount(kind="lustre", mount_path=path, slots=slots, efa=efa), group)


def home(scope: Construct, construct_id: str = "Home") -> FakeStorage:
    """An EFS file system that exists, with an access point."""
    slots = {"file_system_id": "fs-0123456789abcdef0", "access_point_id": "fsap-0123456789abcdef0"}
    group = ec2.SecurityGroup.from_security_group_id(scope, construct_id, f"sg-{construct_id.lower()}")
    return FakeStorage(Mount(kind="efs", mount_path="/home/shared", slots=slots), group)
