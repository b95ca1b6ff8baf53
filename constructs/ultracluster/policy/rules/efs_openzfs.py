"""Rules on FSx for OpenZFS."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.openzfs import OpenZfsFacts, openzfs_deployments
from ultracluster.policy.graph.attached_groups import clients_of, subnets_around
from ultracluster.policy.graph.file_systems import FILE_SYSTEM
from ultracluster.policy.graph.zones import SUBNET
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_ROUTE_TABLE, _ASSOCIATION = "AWS::EC2::RouteTable", "AWS::EC2::SubnetRouteTableAssociation"


@rule("UC-EFS-008", on=FILE_SYSTEM)
def openzfs_shape(file_system: Resource) -> Iterator[Problem]:
    """Throughput, subnets and routes are those of the deployment type."""
    if file_system.get("FileSystemType").text("") != "OPENZFS":
        return
    kind = file_system.get("OpenZFSConfiguration", "DeploymentType")
    facts = openzfs_deployments().get(kind.text(""))
    if facts is None:
        raise NotKnown(f"deployment type {kind.shown}")
    with kind.judged_apart():
        yield from _throughput(file_system, facts)
    with kind.judged_apart():
        yield from _subnets(file_system, facts)
    if facts.subnets > 1:
        yield from _routes(file_system, facts)


def _throughput(file_system: Resource, facts: OpenZfsFacts) -> Iterator[Problem]:
    value = file_system.get("OpenZFSConfiguration", "ThroughputCapacity")
    if value.exists and value.integer() not in facts.throughput_mbps:
        choices = ", ".join(map(str, facts.throughput_mbps))
        yield Problem(value, f"{value.shown} MB/s with {facts.name}, which has {choices}", f"use {choices}")


def _subnets(file_system: Resource, facts: OpenZfsFacts) -> Iterator[Problem]:
    subnets = file_system.get("SubnetIds")
    count = len(subnets.items())
    if subnets.exists and count != facts.subnets:
        yield Problem(subnets, f"{count} with {facts.name}, which stands in {facts.subnets}", f"name {facts.subnets}")


def _routes(file_system: Resource, facts: OpenZfsFacts) -> Iterator[Problem]:
    settings = file_system.get("OpenZFSConfiguration")
    preferred, tables = settings["PreferredSubnetId"], settings["RouteTableIds"]
    if not preferred.exists:
        yield Problem(preferred, f"absent with {facts.name}, which needs a preferred subnet", "name one of its subnets")
    with tables.judged_apart():
        listed = {table.resource(_ROUTE_TABLE) for table in tables.items()}
        own = [] if tables.exists else file_system.get("SubnetIds").items()
        clients = [subnet for client in clients_of(file_system) for subnet in subnets_around(client)]
        for subnet in (*own, *clients):
            with tables.judged_apart():
                missing = _own_table(subnet)
                if missing is not None and missing not in listed and None not in listed:
                    message = f"{missing} is not listed, so nothing behind it finds the address of {file_system}"
                    yield Problem(tables, message, "list the route table of every subnet with clients")
                    return


def _own_table(subnet: Value) -> Resource | None:
    """The route table that a subnet is associated with; None when it has that of the VPC.

    Raises:
        NotKnown: the subnet or the table is not in the templates.
    """
    found = subnet.resource(SUBNET)
    if found is None:
        raise NotKnown(f"the route table of subnet {subnet.shown}")
    for association in found.referrers(_ASSOCIATION):
        if association.get("SubnetId").resource(SUBNET) == found:
            return association.get("RouteTableId").resource(_ROUTE_TABLE)
    return None
