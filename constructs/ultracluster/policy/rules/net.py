"""Rules on VPCs and subnets: public subnets, DNS, made-up zones, one VPC for what belongs together."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ultracluster.findings import Severity
from ultracluster.plan.zones import check_availability_zones
from ultracluster.policy.graph.attached_groups import INSTANCE
from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.file_systems import FILE_SYSTEM
from ultracluster.policy.graph.fleets import AUTO_SCALING_GROUP
from ultracluster.policy.graph.interfaces import interface_list
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, uses_of
from ultracluster.policy.graph.launched_types import has_accelerators
from ultracluster.policy.graph.networks import (
    ENDPOINT,
    HYPERPOD,
    LAUNCHERS,
    VPC,
    all_subnets_of,
    groups_of,
    internet_route,
    made_here,
    route_table_of,
    same_vpc,
    subnets_in,
    vpcs_of,
)
from ultracluster.policy.graph.security_groups import SECURITY_GROUP
from ultracluster.policy.graph.zones import SUBNET, picked
from ultracluster.policy.problem import Problem, from_findings
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_MOUNT_TARGET = "AWS::EFS::MountTarget"
_FOUND_BY_NAME = (
    FILE_SYSTEM,
    _MOUNT_TARGET,
    "AWS::EKS::Cluster",
    "AWS::PCS::Cluster",
    "AWS::PCS::ComputeNodeGroup",
    HYPERPOD,
)


@rule("UC-NET-001", on=LAUNCHERS)
def nodes_in_private_subnets(launcher: Resource) -> Iterator[Problem]:
    """Nodes that get no public address, or that nobody should reach, stand in private subnets."""
    has_many = launcher.type == HYPERPOD or _has_many_interfaces(launcher)
    if not has_many and (launcher.type == INSTANCE or not has_accelerators(launcher)):
        return
    for value in all_subnets_of(launcher):
        with value.judged_apart():
            route = _way_to_the_internet(value)
            if route is not None:
                yield _in_public(value, route, has_many=has_many)
                return


def _in_public(value: Value, route: Resource, *, has_many: bool) -> Problem:
    if has_many:
        message = f"{value.shown} is public ({route}), and nodes with several interfaces get no public address"
        return Problem(value, message)
    message = f"{value.shown} is public ({route}), so nodes with accelerators can be reached from the internet"
    return Problem(value, message, severity=Severity.WARNING)


def _has_many_interfaces(launcher: Resource) -> bool:
    if len(launcher.get("NetworkInterfaces").items() if launcher.type == INSTANCE else []) > 1:
        return True
    templates = dict.fromkeys(use.launch_template for use in uses_of(launcher))
    return any_known(templates, lambda template: len(_interfaces(template)) > 1)


def _interfaces(launch_template: Resource) -> list[Value]:
    found = interface_list(launch_template)
    return found.values if found is not None else []


def _way_to_the_internet(value: Value) -> Resource | None:
    subnet = made_here(value, SUBNET)
    table = None if subnet is None else route_table_of(subnet)
    if table is None:
        raise NotKnown(f"the routes of subnet {value.shown}")
    return internet_route(table)


@rule("UC-NET-003", on=VPC)
def names_are_resolved(vpc: Resource) -> Iterator[Problem]:
    """A VPC whose services are found by name resolves names and gives host names."""
    support, hostnames = vpc.get("EnableDnsSupport"), vpc.get("EnableDnsHostnames")
    if support.known and hostnames.known and support.boolean(True) and hostnames.boolean(False):
        return
    user = _found_by_name(vpc)
    if user is None:
        return
    if not support.boolean(True):
        yield Problem(support, f"{support.shown}, while {user} in this VPC is found by its name")
    elif not hostnames.boolean(False):
        where: Value | Resource = hostnames if hostnames.exists else vpc
        shown = hostnames.shown if hostnames.exists else "EnableDnsHostnames is off by default"
        yield Problem(where, f"{shown}, while {user} in this VPC is found by its name")


def _found_by_name(vpc: Resource) -> Resource | None:
    for endpoint in vpc.referrers(ENDPOINT):
        with endpoint.properties.judged_apart():
            if endpoint.get("PrivateDnsEnabled").boolean(False) and made_here(endpoint.get("VpcId"), VPC) == vpc:
                return endpoint
    found = (user for subnet in subnets_in(vpc) for user in subnet.referrers(*_FOUND_BY_NAME))
    return next(found, None)


@rule("UC-NET-005", on=("AWS::EC2::CapacityReservation", "AWS::EC2::Volume", "AWS::EFS::FileSystem", SUBNET, INSTANCE))
def zones_are_real(resource: Resource) -> Iterator[Problem]:
    """The zone is none that the CDK made up."""
    key = "AvailabilityZoneName" if resource.type == "AWS::EFS::FileSystem" else "AvailabilityZone"
    yield from _made_up(resource.get(key))


@rule("UC-NET-005", on=(AUTO_SCALING_GROUP, LAUNCH_TEMPLATE))
def zones_of_fleets_are_real(resource: Resource) -> Iterator[Problem]:
    """The zones are none that the CDK made up."""
    if resource.type == LAUNCH_TEMPLATE:
        yield from _made_up(resource.get("LaunchTemplateData", "Placement", "AvailabilityZone"))
        return
    zones = resource.get("AvailabilityZones")
    # Fn::GetAZs gives a list of real ones.
    for zone in zones.items() if zones.is_list else ():
        with zone.judged_apart():
            yield from _made_up(zone)


def _made_up(zone: Value) -> Iterator[Problem]:
    if not zone.exists or picked(_as_written(zone)) is not None:
        return
    found = check_availability_zones((zone.text(),), region=None, subject="")
    yield from from_findings((each for each in found if each.rule_id == "UC-NET-005"), lambda _: zone)


def _as_written(zone: Value) -> object:
    """The intrinsic behind a zone; an entry of a list has it in the list."""
    at = zone.label[-1]
    if zone.owner is None or not isinstance(at, int):
        return zone.written
    entries = zone.owner.get(*zone.label[:-1]).state
    return entries[at] if isinstance(entries, list) else None


_GROUPS: dict[str, Callable[[Resource], list[Value]]] = {
    ENDPOINT: lambda endpoint: endpoint.get("SecurityGroupIds").items(),
    FILE_SYSTEM: lambda file_system: file_system.get("SecurityGroupIds").items(),
    _MOUNT_TARGET: lambda target: target.get("SecurityGroups").items(),
}


@rule("UC-NET-013", on=(*LAUNCHERS, *_GROUPS))
def groups_in_the_vpc_of_the_subnets(resource: Resource) -> Iterator[Problem]:
    """Groups and subnets of one fleet, file system or endpoint lie in one VPC."""
    vpcs = vpcs_of(resource)
    if not vpcs:
        return
    seen: set[Resource] = set()
    for value in _GROUPS.get(resource.type, groups_of)(resource):
        group = made_here(value, SECURITY_GROUP)
        if group is None or group in seen:
            continue
        seen.add(group)
        with value.judged_apart():
            if not _is_in(group, vpcs[0]):
                own = group.get("VpcId")
                lies = f"in {own.shown}" if own.exists else "without VpcId in the default VPC"
                yield Problem(value, f"{group} lies {lies}, the subnets of {resource} in {vpcs[0].shown}")


def _is_in(group: Resource, vpc: Value) -> bool:
    own = group.get("VpcId")
    if own.exists:
        return same_vpc(own, vpc)
    if made_here(vpc, VPC) is None:
        raise NotKnown(f"whether {vpc.shown} is the default VPC")
    return False
