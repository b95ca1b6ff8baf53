"""Rules on the network of multi-node jobs of AWS Batch, whose containers have interfaces of their own."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from ultracluster.policy.graph.batch import multi_node_environments
from ultracluster.policy.graph.networks import VPC, internet_route, made_here, route_table_of
from ultracluster.policy.graph.zones import SUBNET, subnets_of
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import ASSEMBLY, rule
from ultracluster.policy.states import NotKnown, Reference
from ultracluster.policy.value import Value
from ultracluster.policy.view import Assembly, Resource

_CLOSER = "Custom::VpcRestrictDefaultSG"
_DEFAULT = "DefaultSecurityGroup"
_WAYS = {
    "AWS::EC2::SecurityGroupIngress": "SourceSecurityGroupId",
    "AWS::EC2::SecurityGroupEgress": "DestinationSecurityGroupId",
}


@rule("UC-BAT-009", on=ASSEMBLY)
def nodes_reach_each_other(assembly: Assembly) -> Iterator[Problem]:
    """Without groups of the environment the containers carry the default group of the VPC, which then stays open."""
    for environment in multi_node_environments(assembly):
        groups = environment.get("ComputeResources", "SecurityGroupIds")
        with groups.judged_apart():
            if groups.exists and not (groups.is_list and not groups.items()):
                continue
            vpc = _vpc_of(environment)
            closer = _closer_of(vpc)
            if closer is not None and not _is_open(vpc):
                message = f"absent, so containers carry the default group of {vpc}, which {closer} closes"
                yield Problem(groups, message)


def _vpc_of(environment: Resource) -> Resource:
    for value in subnets_of(environment):
        subnet = made_here(value, SUBNET)
        vpc = made_here(subnet.get("VpcId"), VPC) if subnet is not None else None
        if vpc is not None:
            return vpc
    raise NotKnown("the default group of a VPC that is made elsewhere")


def _default_of(vpc: Resource) -> Hashable:
    return ("reference", id(vpc.model), _DEFAULT)


def _closer_of(vpc: Resource) -> Resource | None:
    """The custom resource of the CDK that takes all rules out of the default group."""
    for closer in vpc.referrers(_CLOSER):
        state = closer.get("DefaultSecurityGroupId").state
        if isinstance(state, Reference) and state.target is vpc.model:
            return closer
    return None


def _is_open(vpc: Resource) -> bool:
    """Whether rules of the assembly let the default group talk to itself again, both ways."""
    own = _default_of(vpc)
    open_ways = set()
    for kind, peer in _WAYS.items():
        for entry in vpc.referrers(kind):
            is_own = own == entry.get("GroupId").symbol() == entry.get(peer).symbol()
            if is_own and entry.get("IpProtocol").text() == "-1":
                open_ways.add(kind)
    return len(open_ways) == len(_WAYS)


@rule("UC-BAT-018", on=ASSEMBLY)
def nodes_have_a_way_out(assembly: Assembly) -> Iterator[Problem]:
    """The interfaces of the containers get no public address, so their subnets are private."""
    environments = multi_node_environments(assembly)
    public = [found for each in environments if (found := _public_subnet(each)) is not None]
    if len(public) < len(environments):
        return  # multi-node jobs may be sent to a private one
    for subnet, route in public:
        message = f"{subnet.shown} is public ({route}), and containers of multi-node jobs get no public address"
        yield Problem(subnet, message)


def _public_subnet(environment: Resource) -> tuple[Value, Resource] | None:
    """The first public subnet of an environment with its route; None when all are private.

    Raises:
        NotKnown: none is known to be public, and one is not known.
    """
    doubt: NotKnown | None = None
    for value in subnets_of(environment):
        try:
            route = _way_out(value)
        except NotKnown as found:
            doubt = found
            continue
        if route is not None:
            return value, route
    if doubt is not None:
        raise doubt
    return None


def _way_out(value: Value) -> Resource | None:
    subnet = made_here(value, SUBNET)
    table = route_table_of(subnet) if subnet is not None else None
    if table is None:
        raise NotKnown(f"the routes of subnet {value.shown}")
    return internet_route(table)
