"""Rules on security groups: what they let the world reach, and whether they can be read at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ultracluster.facts.exposure import dashboard_installs, ports_of
from ultracluster.policy.graph.attached_groups import INSTANCE, carriers_of
from ultracluster.policy.graph.file_systems import FILE_SYSTEM, is_lustre
from ultracluster.policy.graph.interfaces import interface_list
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE
from ultracluster.policy.graph.networks import HYPERPOD
from ultracluster.policy.graph.security_groups import SECURITY_GROUP
from ultracluster.policy.graph.user_data import user_data
from ultracluster.policy.graph.world_access import (
    HOLDERS,
    Door,
    doors,
    first_door,
    is_on_file_systems,
    is_on_load_balancers,
    takes_no_login,
)
from ultracluster.policy.model import ResourceModel
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.resolve import IMPORTED, OUTPUT_OF_ELSEWHERE
from ultracluster.policy.states import NotKnown, Unknown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_FABRIC = ("efa", "efa-only")
_CARRIERS = "first carriers of literal groups"


@rule("UC-NET-002", on=HOLDERS)
def no_login_for_the_world(holder: Resource) -> Iterator[Problem]:
    """SSH, or all traffic, is not open to everybody."""
    if takes_no_login(holder):
        return
    door = first_door(holder, _is_login)
    if door is None:
        return
    if door.is_for_all_traffic and holder.type != SECURITY_GROUP:
        raise NotKnown("whether the group of another template is on a load balancer")
    yield _problem(door, "SSH with it" if door.first != door.last else "SSH")


def _is_login(door: Door) -> bool:
    return door.is_for_all_traffic or door.reaches(ports_of("login")) is not None


def _problem(door: Door, service: str) -> Problem:
    return Problem(door.where, f"{door.where.shown} may reach {door.shown}, {service}")


@rule("UC-NET-010", on=HOLDERS)
def storage_ports_are_not_open(holder: Resource) -> Iterator[Problem]:
    """Ports of file systems are not open to everybody."""
    on_storage = is_on_file_systems(holder)

    def is_storage(door: Door) -> bool:
        if door.is_for_all_traffic:
            return on_storage
        return door.reaches(ports_of("storage")) is not None and (on_storage or not _is_login(door))

    door = first_door(holder, is_storage)
    if door is not None:
        ports = door.reaches(ports_of("storage"))
        yield _problem(door, f"a port of {ports.service}" if ports is not None else "the file system with it")


@rule("UC-NET-015", on=HOLDERS)
def services_are_not_open(holder: Resource) -> Iterator[Problem]:
    """Job interfaces, notebooks, schedulers and directories are not open to everybody."""
    if is_on_load_balancers(holder) or is_on_file_systems(holder):
        return
    door = first_door(holder, lambda door: door.reaches(ports_of("service")) is not None and not _is_login(door))
    ports = None if door is None else door.reaches(ports_of("service"))
    if door is None or ports is None:
        return
    if holder.type != SECURITY_GROUP:
        raise NotKnown("whether the group of another template is on a load balancer")
    yield _problem(door, f"a port of {ports.service}")


@rule("UC-NET-006", on=SECURITY_GROUP)
def dashboards_are_not_open(group: Resource) -> Iterator[Problem]:
    """Dashboards and exporters are not open to everybody."""
    if takes_no_login(group):
        return

    def is_dashboard(door: Door) -> bool:
        return door.reaches(ports_of("dashboard")) is not None and not _is_login(door)

    def is_web(door: Door) -> bool:
        return door.reaches(ports_of("web")) is not None and not _is_login(door)

    door = first_door(group, is_dashboard)
    ports = None if door is None else door.reaches(ports_of("dashboard"))
    if door is not None and ports is not None:
        yield _problem(door, f"a port of {ports.service}")
        return
    found = _dashboard_behind(group) if any(map(is_web, doors(group))) else ""
    door = first_door(group, is_web) if found else None
    if door is not None:
        yield _problem(door, f"where the user data sets up a dashboard ({found})")


def _dashboard_behind(group: Resource) -> str:
    """The line by which an instance with a group sets up Grafana or Prometheus; empty without one."""
    for carrier in carriers_of(group):
        with carrier.properties.judged_apart():
            data = user_data(carrier) if carrier.type in (LAUNCH_TEMPLATE, INSTANCE) else None
            match = dashboard_installs().search(_commands(data.text)) if data is not None else None
            if match is not None:
                return " ".join(match.group().split())[:60]
    return ""


def _commands(script: str) -> str:
    return "\n".join(line for line in script.splitlines() if not line.lstrip().startswith("#"))


@rule("UC-NET-011", on=(LAUNCH_TEMPLATE, FILE_SYSTEM, HYPERPOD))
def groups_can_be_read(carrier: Resource) -> Iterator[Problem]:
    """The rules of every group for EFA or Lustre are in the templates."""
    for group in {value.symbol(): value for value in _used_groups(carrier)}.values():
        with group.judged_apart():
            origin = _origin(group)
            if origin and _reports(carrier, group):
                yield Problem(group, f"{origin}, so whether its rules let EFA or Lustre through is not judged")


def _used_groups(carrier: Resource) -> Iterator[Value]:
    if carrier.type == LAUNCH_TEMPLATE:
        found = interface_list(carrier)
        read: list[object] = []
        for entry in found.fabric if found is not None else ():
            groups = entry["Groups"]
            if groups.written not in read:
                read.append(groups.written)
                yield from groups.items()
    elif carrier.type == HYPERPOD:
        yield from carrier.get("VpcConfig", "SecurityGroupIds").items()
        for entry in carrier.get("InstanceGroups").items():
            yield from entry.get("OverrideVpcConfig", "SecurityGroupIds").items()
    elif is_lustre(carrier):
        yield from carrier.get("SecurityGroupIds").items()


def _origin(group: Value) -> str:
    """Where a group comes from that no template at hand makes; empty for one that a template makes.

    Raises:
        NotKnown: it is left open, as by a parameter without a default.
    """
    state = group.state
    if isinstance(state, Unknown) and state.reason in (IMPORTED, OUTPUT_OF_ELSEWHERE):
        return state.reason
    return "" if group.reference() is not None else f"{group.text()} is made elsewhere"


def _reports(carrier: Resource, group: Value) -> bool:
    """Whether this resource is the one to report a group that several use."""
    first = _first_carriers(carrier).get(group.written) if isinstance(group.written, str) else None
    return first is None or first is carrier.model


def _first_carriers(carrier: Resource) -> Mapping[str, ResourceModel]:
    """For each literal group the first resource that is always there and uses it: that one alone reports the group."""
    assembly = carrier.world.assembly
    if _CARRIERS not in assembly.cache:
        found: dict[str, ResourceModel] = {}
        for kind in (LAUNCH_TEMPLATE, FILE_SYSTEM, HYPERPOD):
            for model in assembly.by_type.get(kind, ()):
                for text in _literal_groups(model) if "Condition" not in model.raw else ():
                    found.setdefault(text, model)
        assembly.cache[_CARRIERS] = found
    known: Mapping[str, ResourceModel] = assembly.cache[_CARRIERS]
    return known


def _literal_groups(model: ResourceModel) -> Iterator[str]:
    """Texts in the lists of groups, as they are written."""
    stack: list[object] = [model.raw.get("Properties")]
    if model.type == FILE_SYSTEM and "LustreConfiguration" not in (model.raw.get("Properties") or {}):
        return
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack.extend(value)
        elif isinstance(value, dict):
            stack.extend(value.values())
            groups = value.get("SecurityGroupIds" if model.type != LAUNCH_TEMPLATE else "Groups")
            is_used = model.type != LAUNCH_TEMPLATE or value.get("InterfaceType") in _FABRIC
            yield from (
                (text for text in groups if isinstance(text, str)) if is_used and isinstance(groups, list) else ()
            )
