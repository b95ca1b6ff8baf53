"""The cluster's dashboard: rows of widgets, every line of them a metric that something publishes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ultracluster.facts.agent_metrics import agent_facts
from ultracluster.facts.alarms import alarm_limits
from ultracluster.facts.service_metrics import service_metric
from ultracluster.plan.agent_config import metrics_of_role, published
from ultracluster.plan.alarms import FleetAlarmRequest
from ultracluster.plan.dashboard_layout import Query, Widget, graph, place
from ultracluster.plan.lustre_alarms import LustreAlarmRequest
from ultracluster.plan.metric_refs import FILE_SYSTEM, MetricRef, agent_metric, highest, service
from ultracluster.values import dataclass

__all__ = ["DashboardRequest", "FileSystemOnDashboard", "dashboard_body"]

_METADATA = "CPUUtilization"  # published only with a metadata configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystemOnDashboard:
    """A file system to show.

    Attributes:
        request: what there is to watch about it; its name is the label of its lines.
        file_system_id: its id; a placeholder of the CDK is allowed.
    """

    request: LustreAlarmRequest
    file_system_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardRequest:
    """What the dashboard shows.

    Attributes:
        region: of the metrics; a placeholder of the CDK is allowed.
        fleets: in the order of the lines.
        file_systems: likewise.
        alarm_arns: all alarms; they are spread over as many widgets as it takes.
    """

    region: str
    fleets: tuple[FleetAlarmRequest, ...] = ()
    file_systems: tuple[FileSystemOnDashboard, ...] = ()
    alarm_arns: tuple[str, ...] = ()


def dashboard_body(request: DashboardRequest) -> dict[str, object]:
    """The body of the dashboard as CloudWatch reads it; rows without anything to show are left out."""
    rows = (
        ("Alarms", _alarms(request)),
        ("Fleets", _fleets(request)),
        ("Accelerators", _accelerators(request)),
        ("Fabric", _fabric(request)),
        ("Storage", _storage(request)),
        ("Spot", _spot(request)),
    )
    widgets = place((title, tuple(row)) for title, row in rows)
    return {"start": "-PT3H", "periodOverride": "inherit", "widgets": widgets}


def _alarms(request: DashboardRequest) -> Iterator[Widget]:
    arns, most = list(request.alarm_arns), alarm_limits().dashboard_alarms
    for first in range(0, len(arns), most):
        shown = arns[first : first + most]
        yield {"type": "alarm", "properties": {"title": "State of the alarms", "alarms": shown, "sortBy": "default"}}


def _agent(request: DashboardRequest, names: Sequence[str], statistic: str = "") -> Iterator[MetricRef]:
    """One line per metric and fleet that publishes it."""
    for name in names:
        for fleet in request.fleets:
            metric = published(fleet.profile).get(name)
            if metric is not None:
                namespace = fleet.profile.namespace
                yield agent_metric(metric, group_name=fleet.group_name, namespace=namespace, statistic=statistic)


def _role(request: DashboardRequest, *roles: str) -> list[str]:
    found = (metrics_of_role(fleet.profile, role) for role in roles for fleet in request.fleets)
    return list(dict.fromkeys(metric.name for metrics in found for metric in metrics))


def _fleets(request: DashboardRequest) -> Iterator[Widget]:
    region, groups = request.region, [fleet.group_name for fleet in request.fleets]

    def of_group(namespace: str, statistic: str, *names: str) -> Iterator[MetricRef]:
        return (service(namespace, name, statistic, AutoScalingGroupName=group) for name in names for group in groups)

    in_service = of_group("AWS/AutoScaling", "Average", "GroupInServiceInstances", "GroupDesiredCapacity")
    yield from graph(region, "Nodes in service and desired", in_service)
    moving = of_group("AWS/AutoScaling", "Average", "GroupPendingInstances", "GroupTerminatingInstances")
    yield from graph(region, "Nodes that start and end", moving)
    yield from graph(region, "Failed status checks", of_group("AWS/EC2", "Maximum", "StatusCheckFailed"))
    yield from graph(region, "Heartbeats", _agent(request, _role(request, "heartbeat")), unit="per 5 minutes")
    yield from graph(region, "Main memory in use", _agent(request, ["mem_used_percent"]), unit="percent")
    yield from graph(region, "Fullest disk", _agent(request, ["disk_used_percent"]), unit="percent")


def _accelerators(request: DashboardRequest) -> Iterator[Widget]:
    region, use = request.region, _role(request, "utilization")
    yield from graph(region, "Mean utilization", _agent(request, use, "Average"), unit="percent")
    yield from graph(region, "Least used accelerator", _agent(request, use, "Minimum"), unit="percent")
    memory = _agent(request, _role(request, "memory_percent"))
    yield from graph(region, "Fullest device memory", memory, unit="percent")
    yield from graph(region, "Faults", _agent(request, _role(request, "fault")))
    yield from graph(region, "Faults by kind", _agent(request, _role(request, "fault_detail")))
    yield from graph(region, "Hottest GPU", _agent(request, _role(request, "temperature")), unit="degrees C")
    yield from graph(region, "Mean power of a GPU", _agent(request, _role(request, "power"), "Average"), unit="W")
    yield from graph(region, "Slowest GPU clock", _agent(request, _role(request, "clock"), "Minimum"), unit="MHz")


def _fabric(request: DashboardRequest) -> Iterator[Widget]:
    region = request.region
    yield from graph(region, "EFA traffic of all nodes", _agent(request, _role(request, "traffic")), unit="bytes")
    rdma = _agent(request, ["efa_rdma_read_bytes", "efa_rdma_write_bytes"])
    yield from graph(region, "RDMA traffic of all nodes", rdma, unit="bytes")
    errors = _agent(request, _role(request, "fabric_error", "fabric_peer"))
    yield from graph(region, "Drops, failed requests, lost peers", errors)


def _storage(request: DashboardRequest) -> Iterator[Widget]:
    region, systems = request.region, request.file_systems

    def of_system(statistic: str, *names: str) -> Iterator[MetricRef]:
        ids = [system.file_system_id for system in systems]
        return (service("AWS/FSx", name, statistic, FileSystemId=one) for name in names for one in ids)

    def of_parts(name: str) -> Iterator[Query]:
        storage = service_metric("AWS/FSx", name).storage
        for system in systems:
            if (not storage or system.request.storage_type in storage) and (
                name != _METADATA or system.request.metadata
            ):
                query = highest(name).replace(FILE_SYSTEM, system.file_system_id)
                yield Query(expression=query, label=system.request.name)

    yield from graph(region, "Data read and written", of_system("Sum", "DataReadBytes", "DataWriteBytes"), unit="bytes")
    yield from graph(region, "Fullest storage target", of_parts("StorageCapacityUtilization"), unit="percent")
    yield from graph(region, "Busiest server: network", of_parts("NetworkThroughputUtilization"), unit="percent")
    yield from graph(region, "Busiest server: disk", of_parts("FileServerDiskThroughputUtilization"), unit="percent")
    yield from graph(region, "Busiest metadata server", of_parts(_METADATA), unit="percent")
    yield from graph(region, "Metadata operations", of_system("Sum", "MetadataOperations"))
    yield from graph(region, "Client connections", of_system("Maximum", "ClientConnections"))
    yield from graph(region, "Oldest import or export that waits", _ages(systems), unit="seconds")


def _ages(systems: Sequence[FileSystemOnDashboard]) -> Iterator[MetricRef]:
    for system in systems:
        wanted = {"AutoImport": system.request.auto_import, "AutoExport": system.request.auto_export}
        values = {"FileSystemId": system.file_system_id}
        for publisher in (name for name, on in wanted.items() if on):
            yield service("AWS/FSx", "AgeOfOldestQueuedMessage", "Maximum", Publisher=publisher, **values)


def _spot(request: DashboardRequest) -> Iterator[Widget]:
    names = [metric.name for metric in agent_facts().metrics if metric.spot]
    yield from graph(request.region, "Interruptions and recommendations", _agent(request, names))
    queues = [fleet.interruption_queue_name for fleet in request.fleets if fleet.interruption_queue_name]
    for title, name in (
        ("Notices that wait", "ApproximateNumberOfMessagesVisible"),
        ("Age of the oldest notice in seconds", "ApproximateAgeOfOldestMessage"),
    ):
        yield from graph(request.region, title, (service("AWS/SQS", name, "Maximum", QueueName=one) for one in queues))
