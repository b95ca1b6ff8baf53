"""Rules on interface lists beside whoever launches from them: subnets, addresses per node, types."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.policy.graph.interfaces import (
    InterfaceList,
    catalogued_types,
    has_fabric,
    held_in,
    integer_in,
    interface_list,
)
from ultracluster.policy.graph.launch_templates import (
    CONSUMERS,
    LAUNCH_TEMPLATE,
    instance_types,
    served_types,
    users_of,
    uses_of,
)
from ultracluster.policy.graph.zones import SUBNET, subnets_of
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_PCS = "AWS::PCS::ComputeNodeGroup"
# Rules of their own judge subnets in the entries of node groups and Batch; a single instance may choose its subnets.
_SUBNETS_ELSEWHERE = ("AWS::EKS::Nodegroup", "AWS::Batch::ComputeEnvironment", "AWS::EC2::Instance")


@rule("UC-NIC-010", on=CONSUMERS)
def no_public_subnets(consumer: Resource) -> Iterator[Problem]:
    """Nodes with several interfaces get no public address, so public subnets leave them without a way out."""
    if not any(_is_multiple(use.launch_template) for use in uses_of(consumer)):
        return
    for value in subnets_of(consumer):
        with value.judged_apart():
            subnet = value.resource(SUBNET)
            if subnet is None:
                raise NotKnown(f"whether subnet {value.shown} gives public addresses")
            if subnet.get("MapPublicIpOnLaunch").boolean(False):
                yield Problem(
                    value,
                    f"{subnet} has MapPublicIpOnLaunch, and EC2 gives no public address to nodes of several interfaces",
                )
                return


def _is_multiple(launch_template: Resource) -> bool:
    found = interface_list(launch_template)
    return found is not None and len(found.values) > 1


@rule("UC-NIC-011", on=LAUNCH_TEMPLATE)
def subnets_are_those_of_the_fleet(launch_template: Resource) -> Iterator[Problem]:
    """Entries name no subnet, or the only one of their fleet."""
    found = interface_list(launch_template)
    holders = [entry for entry in found.values if held_in(entry, ("SubnetId",))] if found else []
    named = [entry["SubnetId"] for entry in holders if entry["SubnetId"].exists]
    if not named:
        return
    for use in users_of(launch_template):
        if use.consumer.type not in _SUBNETS_ELSEWHERE:
            with named[0].judged_apart():
                yield from _fights(named, use.consumer)


def _fights(named: list[Value], consumer: Resource) -> Iterator[Problem]:
    fleet = list({value.symbol(): value for value in subnets_of(consumer)}.values())
    if len(fleet) > 1:
        message = f"{named[0].shown} in an interface, {consumer} launches into {len(fleet)} subnets"
        yield Problem(named[0], message)
        return
    for value in named if fleet else []:
        if _certainly_differ(value, fleet[0]):
            yield Problem(value, f"{value.shown} in an interface, {consumer} launches into {fleet[0].shown}")
            return


def _certainly_differ(one: Value, other: Value) -> bool:
    if one.symbol() == other.symbol():
        return False
    pair = (one.reference(), other.reference())
    if None not in pair or (one.is_scalar and other.is_scalar):
        return True
    raise NotKnown(f"whether {one.shown} is {other.shown}")


@rule("UC-NIC-013", on=LAUNCH_TEMPLATE)
def one_address_per_node(launch_template: Resource) -> Iterator[Problem]:
    """Fabric devices beside the primary interface need no address, except in AWS PCS."""
    found = interface_list(launch_template)
    addressed = _addressed(found) if found else []
    if len(addressed) < 2:  # noqa: PLR2004 - the primary interface has an address in any case
        return
    users = users_of(launch_template)
    if not users:
        raise NotKnown("who launches it, and AWS PCS needs an address on every fabric device")
    if any(use.consumer.type == _PCS for use in users):
        return
    if all(facts.efa_only_supported for facts in catalogued_types(launch_template)):
        message = f"{len(addressed)} efa entries take {len(addressed)} addresses of the subnet per node, efa-only none"
        yield Problem(addressed[1]["InterfaceType"], message)


def _addressed(found: InterfaceList) -> list[Value]:
    return [entry for entry, kind in zip(found.values, found.kinds, strict=True) if kind == "efa"]


@rule("UC-NIC-016", on=LAUNCH_TEMPLATE)
def type_is_catalogued(launch_template: Resource) -> Iterator[Problem]:
    """The list of a fabric, or of several cards, is for a type whose cards are known."""
    if not _needs_cards(launch_template):
        return
    if not instance_types(launch_template):
        if users_of(launch_template):
            value = launch_template.get("LaunchTemplateData", "NetworkInterfaces")
            yield Problem(value, "no instance type is named, so cards, limits and fabric devices cannot be judged")
        return
    for value, facts in served_types(launch_template):
        if facts is None:
            message = f"{value.shown} is not in the catalogue, so its interface list cannot be judged"
            yield Problem(value, message)


def _needs_cards(launch_template: Resource) -> bool:
    found = interface_list(launch_template)
    if found is None:
        return False
    return has_fabric(launch_template) or any(integer_in(entry, "NetworkCardIndex") for entry in found.values)
