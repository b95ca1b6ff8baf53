"""Rules on VPC endpoints: route tables of the S3 endpoint, and who reaches interface endpoints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ultracluster.facts.endpoints import services_on_other_ports
from ultracluster.policy.graph.networks import (
    ENDPOINT,
    FLEETS,
    ROUTE_TABLE,
    VPC,
    all_subnets_of,
    fleets_in,
    goes_through_nat,
    groups_of,
    internet_route,
    made_here,
    route_table_of,
    subnets_with,
)
from ultracluster.policy.graph.security_groups import SECURITY_GROUP
from ultracluster.policy.graph.traffic import closed_ports, rules_of, side_of
from ultracluster.policy.graph.zones import SUBNET
from ultracluster.policy.model import TemplateModel
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown, Reference
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_HTTPS = ((443, 443),)
_DEFAULT_GROUP = "DefaultSecurityGroup"
_RESTRICTED = "Custom::VpcRestrictDefaultSG"
_INGRESS = "AWS::EC2::SecurityGroupIngress"


def _kind(endpoint: Resource) -> str:
    return endpoint.get("VpcEndpointType").text("Gateway")


def _service(endpoint: Resource) -> str:
    """The service as it ends its full name: `s3`, `ecr.api`; empty for one that is no AWS service.

    Raises:
        NotKnown: nothing of the name is known.
    """
    name = endpoint.get("ServiceName").known_text("*")
    domain, _, rest = name.partition("amazonaws.")
    return rest.partition(".")[2] if domain in ("com.", "cn.com.") else ""


@rule("UC-NET-004", on=VPC)
def s3_traffic_bypasses_nat(vpc: Resource) -> Iterator[Problem]:
    """The S3 gateway endpoint of a VPC is in every private route table."""
    gateways = [each for each in vpc.referrers(ENDPOINT) if _is_s3_gateway(each, vpc)]
    if not gateways:
        tables = _tables_of_fleets(vpc) if vpc.assembly.is_app else []
        if tables:
            message = f"no S3 gateway endpoint, traffic of fleets with S3 takes the way of route table {tables[0]}"
            yield Problem(vpc, message)
        return
    lists = [gateway.get("RouteTableIds") for gateway in gateways]
    plain = {name for each in lists for name in _plainly_named(each)}
    tables = [table for table in _tables_of(vpc, without=plain) if _is_for_s3(table)]
    covered = {made_here(value, ROUTE_TABLE) for each in lists for value in each.items()} if tables else set()
    missing = [table for table in tables if table not in covered]
    if missing:
        where: Value | Resource = lists[0] if lists[0].exists else gateways[0]
        yield Problem(where, f"private route table {', '.join(map(str, missing))} is left out")


def _plainly_named(tables: Value) -> Iterator[tuple[TemplateModel, str]]:
    """Entries without a condition: these tables need no further look, and theirs are many."""
    place = tables.place
    for entry in place.raw if isinstance(place.raw, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("Ref"), str):
            yield place.template, entry["Ref"]


def _tables_of(vpc: Resource, *, without: set[tuple[TemplateModel, str]]) -> list[Resource]:
    models = vpc.world.assembly.referrers.get(vpc.model, ())
    named = (model for model in models if model.type == ROUTE_TABLE)
    tables = (Resource(model, vpc.world) for model in named if (model.template, model.logical_id) not in without)
    return [table for table in tables if table.exists and made_here(table.get("VpcId"), VPC) == vpc]


def _is_for_s3(table: Resource) -> bool:
    """Whether traffic with S3 takes the way of a table: it goes through NAT, or nodes use it and have no other way."""
    through_nat = goes_through_nat(table)
    if not through_nat and internet_route(table) is not None:
        return False
    subnets = subnets_with(table)
    return bool(subnets) if through_nat else any(subnet.referrers(*FLEETS) for subnet in subnets)


def _is_s3_gateway(endpoint: Resource, vpc: Resource) -> bool:
    is_gateway = made_here(endpoint.get("VpcId"), VPC) == vpc and _kind(endpoint) == "Gateway"
    return is_gateway and _service(endpoint) == "s3"


def _tables_of_fleets(vpc: Resource) -> list[Resource]:
    subnets = (made_here(value, SUBNET) for fleet in fleets_in(vpc) for value in all_subnets_of(fleet))
    tables = (route_table_of(subnet) for subnet in subnets if subnet is not None)
    return [table for table in dict.fromkeys(tables) if table is not None and internet_route(table) is None]


@rule("UC-NET-014", on=ENDPOINT)
def nodes_reach_the_endpoint(endpoint: Resource) -> Iterator[Problem]:
    """The groups of an interface endpoint let the fleets of its VPC in."""
    vpc = made_here(endpoint.get("VpcId"), VPC)
    if _kind(endpoint) != "Interface" or _service(endpoint) in {"", *services_on_other_ports()}:
        return
    groups = endpoint.get("SecurityGroupIds").items()
    if not groups:
        yield from _behind_the_default_group(endpoint, vpc)
        return
    shut_out = endpoint.world.remember(
        ("shut out of an endpoint", vpc and vpc.model, *(group.symbol() for group in groups)),
        lambda: _shut_out(endpoint, vpc, groups),
    )
    if shut_out:
        only = made_here(groups[0], SECURITY_GROUP) if len(groups) == 1 else None
        where: Value | Resource = only or endpoint.get("SecurityGroupIds")
        yield Problem(where, f"no rule lets {shut_out} reach endpoint {endpoint} on TCP 443")


def _shut_out(endpoint: Resource, vpc: Resource | None, own: list[Value]) -> str:
    """Who cannot reach an endpoint, in words; empty when everybody does."""
    rules = rules_of(own, "ingress")
    fleets = fleets_in(vpc) if vpc is not None else []
    if not rules.openings and not rules.doubts:
        return ", ".join(map(str, fleets)) or "anybody"
    closed: list[str] = []
    for fleet in fleets:
        with endpoint.properties.judged_apart():
            groups = groups_of(fleet)
            side = side_of(str(fleet), groups, all_subnets_of(fleet))
            if not groups:  # made elsewhere, or put in by the service, as EKS does
                side = replace(side, is_partial=True)
            closed.extend([str(fleet)] if closed_ports(rules, _HTTPS, side) else [])
    return ", ".join(closed)


def _behind_the_default_group(endpoint: Resource, vpc: Resource | None) -> Iterator[Problem]:
    """Without groups an endpoint gets the default group of its VPC, which lets in its own members only."""
    if vpc is None:
        raise NotKnown("the default group of a VPC of elsewhere")
    if any(_is_default_of(rule.get("GroupId"), vpc) for rule in vpc.referrers(_INGRESS)):
        raise NotKnown("rules that are added to the default group")
    where: Value | Resource = endpoint
    if vpc.referrers(_RESTRICTED):
        yield Problem(where, f"without SecurityGroupIds it has the default group of {vpc}, which is closed")
        return
    for fleet in fleets_in(vpc):
        with endpoint.properties.judged_apart():
            groups = groups_of(fleet)
            known = [made_here(group, SECURITY_GROUP) for group in groups]
            if known and all(known) and not any(_is_default_of(group, vpc) for group in groups):
                message = f"without SecurityGroupIds it has the default group of {vpc}, which does not let {fleet} in"
                yield Problem(where, message)
                return


def _is_default_of(value: Value, vpc: Resource) -> bool:
    state = value.state
    return isinstance(state, Reference) and state.target is vpc.model and state.attribute == _DEFAULT_GROUP
