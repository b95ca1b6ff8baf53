"""Rule on file systems and the VPC of whoever mounts them."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.policy.graph.attached_groups import clients_of, subnets_around
from ultracluster.policy.graph.file_systems import FILE_SYSTEM
from ultracluster.policy.graph.networks import FLEETS, VPC, made_here, same_vpc, subnets_in, vpcs_of
from ultracluster.policy.graph.world_access import is_exported
from ultracluster.policy.graph.zones import SUBNET
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.value import Value
from ultracluster.policy.view import Assembly, Resource

_MOUNT_TARGET, _EFS = "AWS::EFS::MountTarget", "AWS::EFS::FileSystem"
_PEERING = "AWS::EC2::VPCPeeringConnection"
_TRANSIT = (
    "AWS::EC2::TransitGatewayAttachment",
    "AWS::EC2::TransitGatewayVpcAttachment",
    "AWS::NetworkManager::VpcAttachment",
)
# What stands in a subnet without computing.
_PLUMBING = frozenset(
    {
        FILE_SYSTEM,
        _MOUNT_TARGET,
        "AWS::EC2::NatGateway",
        "AWS::EC2::SubnetNetworkAclAssociation",
        "AWS::EC2::SubnetRouteTableAssociation",
        "AWS::EC2::VPCEndpoint",
    }
)


@rule("UC-NET-009", on=(FILE_SYSTEM, _MOUNT_TARGET))
def storage_in_the_vpc_of_its_clients(storage: Resource) -> Iterator[Problem]:
    """A file system stands in the VPC of the nodes that mount it, or in one that is joined with it."""
    file_system = _file_system(storage)
    own = vpcs_of(storage)
    if file_system is None or not own:
        return
    where = storage.get("SubnetId") if storage.type == _MOUNT_TARGET else storage.get("SubnetIds")
    clients = clients_of(file_system)
    for client in clients:
        with where.judged_apart():
            other = _other_vpc(client, own[0])
            if other is not None:
                yield Problem(where, f"in {own[0].shown}, while {client}, which names it, runs in {other.shown}")
                return
    if not clients:
        yield from _stranded(where, own[0])


def _file_system(storage: Resource) -> Resource | None:
    """The file system, for the first of its mount targets only; None for one of elsewhere."""
    if storage.type == FILE_SYSTEM:
        return storage
    found = made_here(storage.get("FileSystemId"), _EFS)
    if found is None or found.referrers(_MOUNT_TARGET)[:1] != [storage]:
        return None
    return found


def _other_vpc(client: Resource, own: Value) -> Value | None:
    for value in subnets_around(client):
        subnet = made_here(value, SUBNET)
        if subnet is not None:
            vpc = subnet.get("VpcId")
            if not same_vpc(own, vpc) and not _are_joined(own, vpc):
                return vpc
    return None


def _are_joined(one: Value, other: Value) -> bool:
    first, second = made_here(one, VPC), made_here(other, VPC)
    if first is None or second is None:
        return True  # what is made elsewhere may be joined elsewhere
    if set(first.referrers(_PEERING)) & set(second.referrers(_PEERING)):
        return True
    return bool(first.referrers(*_TRANSIT)) and bool(second.referrers(*_TRANSIT))


def _stranded(where: Value, own: Value) -> Iterator[Problem]:
    """A file system that nobody names, in a VPC where nothing computes, while all fleets stand in others."""
    vpc = made_here(own, VPC)
    if vpc is None or not _computes_nothing(vpc):
        return
    for launcher in Assembly(where.world).resources(*FLEETS):
        for value in vpcs_of(launcher):
            if made_here(value, VPC) is not None and not same_vpc(own, value) and not _are_joined(own, value):
                message = f"in {own.shown}, where nothing computes, while {launcher} runs in {value.shown}"
                yield Problem(where, message)
                return


def _computes_nothing(vpc: Resource) -> bool:
    subnets = subnets_in(vpc)
    if any(map(is_exported, (vpc, *subnets))):
        return False
    return all(user.type in _PLUMBING for subnet in subnets for user in subnet.referrers())
