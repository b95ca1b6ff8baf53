"""VPCs, their subnets and routes, and what stands in them."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.policy.graph.attached_groups import INSTANCE, attached_groups
from ultracluster.policy.graph.fleets import AUTO_SCALING_GROUP
from ultracluster.policy.graph.launch_templates import CONSUMERS, uses_of
from ultracluster.policy.graph.zones import SUBNET, subnets_of
from ultracluster.policy.states import NotKnown, Reference
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = [
    "ENDPOINT",
    "FLEETS",
    "HYPERPOD",
    "LAUNCHERS",
    "ROUTE_TABLE",
    "VPC",
    "all_subnets_of",
    "fleets_in",
    "goes_through_nat",
    "groups_of",
    "internet_route",
    "made_here",
    "route_table_of",
    "same_vpc",
    "subnets_in",
    "subnets_with",
    "vpcs_of",
]

VPC, ROUTE_TABLE, ENDPOINT = "AWS::EC2::VPC", "AWS::EC2::RouteTable", "AWS::EC2::VPCEndpoint"
HYPERPOD = "AWS::SageMaker::Cluster"
LAUNCHERS = (*CONSUMERS, HYPERPOD)
"""Everything that launches instances into subnets."""
FLEETS = tuple(kind for kind in LAUNCHERS if kind != INSTANCE)
"""The same without single instances."""

_ASSOCIATION, _ROUTE = "AWS::EC2::SubnetRouteTableAssociation", "AWS::EC2::Route"
_GATEWAYS = ("AWS::EC2::InternetGateway", "AWS::EC2::VPCGatewayAttachment")
_EVERYWHERE = "0.0.0.0/0"


def made_here(value: Value, kind: str) -> Resource | None:
    """The resource of a type that a value names; None for whatever is made elsewhere, known or not."""
    state = value.state
    if isinstance(state, Reference) and state.type == kind and (kind != VPC or state.attribute in ("", "VpcId")):
        return Resource(state.target, value.world)
    return None


def same_vpc(one: Value, other: Value) -> bool:
    """Whether two values name the same VPC.

    Raises:
        NotKnown: it cannot be told.
    """
    first, second = made_here(one, VPC), made_here(other, VPC)
    if first is not None and second is not None:
        return first == second
    if one.symbol() == other.symbol():
        return True
    if all(made is not None or (value.is_scalar and value.known) for made, value in ((first, one), (second, other))):
        return False  # a literal id is never that of a VPC that is still to be made
    raise NotKnown(f"whether {one.shown} is {other.shown}")


@remembered
def route_table_of(subnet: Resource) -> Resource | None:
    """The route table that a subnet is associated with; None when it keeps the main one, or one of elsewhere."""
    for association in subnet.referrers(_ASSOCIATION):
        if made_here(association.get("SubnetId"), SUBNET) == subnet:
            return made_here(association.get("RouteTableId"), ROUTE_TABLE)
    return None


@remembered
def subnets_with(table: Resource) -> list[Resource]:
    """The subnets that are associated with a route table."""
    found = (made_here(each.get("SubnetId"), SUBNET) for each in _of_table(table, _ASSOCIATION))
    return [subnet for subnet in found if subnet is not None]


def _of_table(table: Resource, kind: str) -> Iterator[Resource]:
    for each in table.referrers(kind):
        if made_here(each.get("RouteTableId"), ROUTE_TABLE) == table:
            yield each


@remembered
def internet_route(table: Resource) -> Resource | None:
    """The route of a table that sends IPv4 traffic to an internet gateway; None without one.

    Raises:
        NotKnown: none is known to, and a gateway is not known.
    """
    doubt: NotKnown | None = None
    for route in _of_table(table, _ROUTE):
        try:
            if _is_to_internet(route):
                return route
        except NotKnown as found:
            doubt = found
    if doubt is not None:
        raise doubt
    return None


def _is_to_internet(route: Resource) -> bool:
    gateway = route.get("GatewayId")
    if not gateway.exists or route.get("DestinationCidrBlock").text("") != _EVERYWHERE:
        return False
    reference = gateway.reference()
    return reference.type in _GATEWAYS if reference is not None else gateway.text().startswith("igw-")


@remembered
def goes_through_nat(table: Resource) -> bool:
    """Whether a table sends traffic through a NAT gateway."""
    return any(route.get("NatGatewayId").exists for route in _of_table(table, _ROUTE))


@remembered
def all_subnets_of(launcher: Resource) -> list[Value]:
    """The subnets that something launches into, those of single instance groups of HyperPod included.

    Raises:
        NotKnown: a list is not known.
    """
    found = list(subnets_of(launcher))
    if launcher.type == HYPERPOD:
        for group in launcher.get("InstanceGroups").items():
            found.extend(group.get("OverrideVpcConfig", "Subnets").items())
    return found


@remembered
def groups_of(launcher: Resource) -> list[Value]:
    """The security groups of the instances that something launches, through its launch templates too.

    Raises:
        NotKnown: a list is not known.
    """
    found = list(attached_groups(launcher)) if launcher.type != AUTO_SCALING_GROUP else []
    templates = dict.fromkeys(use.launch_template for use in uses_of(launcher)) if launcher.type != HYPERPOD else {}
    for template in templates:
        found.extend(attached_groups(template))
    return found


@remembered
def subnets_in(vpc: Resource) -> list[Resource]:
    """The subnets of a VPC."""
    return [subnet for subnet in vpc.referrers(SUBNET) if made_here(subnet.get("VpcId"), VPC) == vpc]


@remembered
def fleets_in(vpc: Resource) -> list[Resource]:
    """What launches instances into the subnets of a VPC, apart from single instances."""
    found = (fleet for subnet in subnets_in(vpc) for fleet in subnet.referrers(*FLEETS))
    return list(dict.fromkeys(found))


@remembered
def vpcs_of(resource: Resource) -> list[Value]:
    """VpcId of the subnets of a resource, or its own, each once; subnets of elsewhere left out.

    Raises:
        NotKnown: a list of subnets is not known.
    """
    if resource.type == ENDPOINT:
        return [resource.get("VpcId")]
    subnets = (made_here(value, SUBNET) for value in all_subnets_of(resource))
    values = [subnet.get("VpcId") for subnet in subnets if subnet is not None]
    return list({value.symbol(): value for value in values}.values())
