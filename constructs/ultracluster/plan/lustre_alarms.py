"""Alarms of one FSx for Lustre file system."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ultracluster.facts.alarms import alarm_limits
from ultracluster.facts.service_metrics import service_metric
from ultracluster.findings import Finding, finding, raise_if_errors
from ultracluster.plan.alarms import AlarmPlan, alarm, check_name
from ultracluster.plan.metric_refs import FILE_SYSTEM, highest, service
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.plan.lustre_request import LustrePlan

__all__ = ["LustreAlarmRequest", "alarms_for_lustre", "check_lustre_alarms", "lustre_alarm_request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreAlarmRequest:
    """A file system to watch.

    Attributes:
        name: prefix of the alarms' names.
        storage_type: `SSD`, `HDD` or `INTELLIGENT_TIERING`.
        metadata: whether it has a metadata configuration, and so the metrics of its metadata servers.
        auto_import: whether an association imports by itself.
        auto_export: whether an association exports by itself.
        client_groups: literal names of the Auto Scaling groups that mount it.
    """

    name: str
    storage_type: str
    metadata: bool
    auto_import: bool = False
    auto_export: bool = False
    client_groups: tuple[str, ...] = ()


def lustre_alarm_request(plan: LustrePlan, *, name: str, client_groups: tuple[str, ...] = ()) -> LustreAlarmRequest:
    """What there is to watch about a planned file system."""
    return LustreAlarmRequest(
        name=name,
        storage_type=plan.storage_type,
        metadata=plan.metadata is not None,
        auto_import=any(association.auto_import for association in plan.associations),
        auto_export=any(association.auto_export for association in plan.associations),
        client_groups=client_groups,
    )


def check_lustre_alarms(request: LustreAlarmRequest, *, subject: str) -> Iterator[Finding]:
    """Faults of a request for alarms."""
    yield from check_name(request.name, subject=f"{subject}.name")
    room = alarm_limits().metrics_in_expression - 1
    if len(request.client_groups) > room:
        yield finding(
            "UC-ALM-021",
            f"{subject}.client_groups",
            f"{len(request.client_groups)} groups mount the file system, one alarm can compare {room} with its clients",
        )


def alarms_for_lustre(request: LustreAlarmRequest, *, subject: str) -> tuple[AlarmPlan, ...]:
    """The alarms of a file system; ids in dimensions and queries are `FILE_SYSTEM`.

    Raises:
        FindingsError: the request is wrong.
    """
    raise_if_errors(check_lustre_alarms(request, subject=subject))
    return tuple(_lustre(request))


def _lustre(request: LustreAlarmRequest) -> Iterator[AlarmPlan]:
    queries = {"network": "NetworkThroughputUtilization", "disk": "FileServerDiskThroughputUtilization"}
    if request.storage_type in service_metric("AWS/FSx", "StorageCapacityUtilization").storage:
        queries |= {"space": "StorageCapacityUtilization", "space-critical": "StorageCapacityUtilization"}
    if request.metadata:
        queries["metadata"] = "CPUUtilization"
    for name, metric in queries.items():
        yield alarm(name, request.name, {}, expression=highest(metric))
    directions = {"import-age": ("AutoImport", request.auto_import), "export-age": ("AutoExport", request.auto_export)}
    for name, (publisher, wanted) in directions.items():
        if wanted:
            age = service(
                "AWS/FSx", "AgeOfOldestQueuedMessage", "Maximum", FileSystemId=FILE_SYSTEM, Publisher=publisher
            )
            yield alarm(name, request.name, {"age": age})
    if 0 < len(request.client_groups) < alarm_limits().metrics_in_expression:
        yield _clients(request)


def _clients(request: LustreAlarmRequest) -> AlarmPlan:
    groups = {
        f"nodes{index}": service("AWS/AutoScaling", "GroupInServiceInstances", "Average", AutoScalingGroupName=group)
        for index, group in enumerate(request.client_groups)
    }
    nodes = " + ".join(f"FILL({name}, 0)" for name in groups)
    clients = service("AWS/FSx", "ClientConnections", "Maximum", FileSystemId=FILE_SYSTEM)
    return alarm("clients", request.name, {**groups, "clients": clients}, expression=f"{nodes} - FILL(clients, 0)")
