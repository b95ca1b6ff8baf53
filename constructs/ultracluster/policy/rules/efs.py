"""Rules on EFS file systems: zones, ports, encryption, throughput."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.efs import efs_facts
from ultracluster.plan.home import HomeRequest
from ultracluster.plan.home_rules import check_home
from ultracluster.policy.graph.attached_groups import attached_groups, clients_of, subnets_around
from ultracluster.policy.graph.security_groups import security_group
from ultracluster.policy.graph.traffic import closed_ports, rules_of, side_of
from ultracluster.policy.graph.zones import Zone, same, zone_of, zone_of_value
from ultracluster.policy.problem import Problem, from_findings
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

_FILE_SYSTEM, _TARGET = "AWS::EFS::FileSystem", "AWS::EFS::MountTarget"
_PROPERTIES = {
    "throughput_mode": "ThroughputMode",
    "provisioned_throughput_mibps": "ProvisionedThroughputInMibps",
    "performance_mode": "PerformanceMode",
}


@remembered
def _targets(file_system: Resource) -> list[Resource]:
    """Its mount targets in the assembly."""
    named = file_system.referrers(_TARGET)
    return [each for each in named if each.get("FileSystemId").resource(_FILE_SYSTEM) == file_system]


@rule("UC-EFS-001", on=_FILE_SYSTEM)
def one_zone_stays_in_its_zone(file_system: Resource) -> Iterator[Problem]:
    """Whoever mounts a One Zone file system runs in its zone."""
    written = file_system.get("AvailabilityZoneName")
    if not written.exists:
        return
    zone = zone_of_value(written)
    for client in clients_of(file_system):
        with written.judged_apart():
            other = _elsewhere([zone], subnets_around(client))
            if other is not None:
                yield Problem(written, f"One Zone in {zone}, while {client}, which mounts it, runs in {other}")


def _elsewhere(zones: list[Zone], subnets: list[Value]) -> Zone | None:
    """The first zone of some subnets that is certainly none of some zones.

    Raises:
        NotKnown: there is none, and a zone is not known.
    """
    doubt: NotKnown | None = None
    for subnet in subnets:
        try:
            other = zone_of(subnet)
            if not _is_among(other, zones):
                return other
        except NotKnown as found:
            doubt = found
    if doubt is not None:
        raise doubt
    return None


def _is_among(zone: Zone, zones: list[Zone]) -> bool:
    doubt: NotKnown | None = None
    for each in zones:
        try:
            if same(zone, each):
                return True
        except NotKnown as found:
            doubt = found
    if doubt is not None:
        raise doubt
    return False


@rule("UC-EFS-002", on=_FILE_SYSTEM)
def target_in_every_zone(file_system: Resource) -> Iterator[Problem]:
    """There is a mount target in each zone of whoever mounts the file system."""
    clients = clients_of(file_system)
    if not clients or file_system.get("AvailabilityZoneName").exists:
        return
    targets = [target.get("SubnetId") for target in _targets(file_system)]
    if not targets and not file_system.assembly.is_app:
        raise NotKnown("no mount target is in the templates")
    reached = {subnet.symbol() for subnet in targets}
    for client in clients:
        with file_system.properties.judged_apart():
            others = [subnet for subnet in subnets_around(client) if subnet.symbol() not in reached]
            zone = _elsewhere([zone_of(subnet) for subnet in targets], others) if others else None
            if zone is not None:
                message = f"no mount target in {zone}, where {client}, which mounts it, runs"
                yield Problem(file_system, message, f"add a mount target in {zone}")


@rule("UC-EFS-003", on=_FILE_SYSTEM)
def nfs_is_open(file_system: Resource) -> Iterator[Problem]:
    """The mount targets let in whoever mounts the file system, whose groups let it out."""
    clients = clients_of(file_system)
    judged: set[tuple[object, ...]] = set()
    for target in _targets(file_system) if clients else ():
        groups = target.get("SecurityGroups")
        with groups.judged_apart():
            listed = groups.items()
            mark = tuple(value.symbol() for value in listed)
            if not listed:
                raise NotKnown("without SecurityGroups the default group of the VPC is attached")
            if mark not in judged:
                judged.add(mark)
                yield from _shut(file_system, target, clients)


def _shut(file_system: Resource, target: Resource, clients: list[Resource]) -> Iterator[Problem]:
    groups = target.get("SecurityGroups")
    listed = groups.items()
    port = efs_facts().port
    incoming = rules_of(listed, "ingress")
    own = side_of(str(target), listed, [target.get("SubnetId")])
    ways: list[str] = []
    for client in clients:
        with groups.judged_apart():
            carried = attached_groups(client)
            if not carried:
                raise NotKnown(f"the groups of {client}")
            side = side_of(str(client), carried, subnets_around(client))
            if closed_ports(incoming, [(port, port)], side):
                ways.append(f"from {client}")
            elif closed_ports(rules_of(carried, "egress"), [(port, port)], own):
                ways.append(f"out of {client}")
    if ways:
        only = security_group(listed[0]) if len(listed) == 1 else None
        message = f"no rule for TCP {port} {' and '.join(ways)}, which mounts {file_system}"
        yield Problem(only or groups, message)


@rule("UC-EFS-005", on=_FILE_SYSTEM)
def encrypted_at_rest(file_system: Resource) -> Iterator[Problem]:
    """The file system is encrypted, from the start."""
    encrypted = file_system.get("Encrypted")
    if not encrypted.boolean(False):
        yield Problem(encrypted, f"{encrypted.shown}, and it cannot be switched on later")


@rule("UC-EFS-006", on=_FILE_SYSTEM)
def throughput_fits(file_system: Resource) -> Iterator[Problem]:
    """Throughput mode, provisioned throughput and performance mode fit together."""
    zone = file_system.get("AvailabilityZoneName")
    request = HomeRequest(
        name="",
        availability_zones=("any",),
        one_zone="any" if zone.exists else None,
        throughput_mode=file_system.get("ThroughputMode").text("bursting"),
        provisioned_throughput_mibps=file_system.get("ProvisionedThroughputInMibps").number(None),
        performance_mode=file_system.get("PerformanceMode").text("generalPurpose"),
    )
    found = (each for each in check_home(request, subject="") if each.rule_id == "UC-EFS-006")
    yield from from_findings(found, lambda subject: file_system.get(_PROPERTIES[subject.removeprefix(".")]))
