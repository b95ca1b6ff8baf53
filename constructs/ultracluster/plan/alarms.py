"""Alarms of fleets and of their interruption queues, on metrics that are really published.

A custom metric exists under the dimension set of the agent's table and no other, a metric of a service under the set of
its own table: an alarm names both by looking them up, so a wrong name or a second dimension cannot be written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ultracluster.facts.agent_metrics import AgentMetric, agent_facts
from ultracluster.facts.alarms import AlarmFacts, alarm_facts, alarm_limits
from ultracluster.findings import Finding, finding, raise_if_errors
from ultracluster.plan.agent_config import AgentProfile, metric_of_role, metrics_of_role
from ultracluster.plan.metric_refs import MetricRef, agent_metric, service
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.plan.fleet import FleetPlan

__all__ = [
    "AlarmPlan",
    "FleetAlarmRequest",
    "alarm",
    "alarms_for_fleet",
    "alarms_for_queue",
    "check_fleet_alarms",
    "check_name",
    "fleet_profile",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmPlan:
    """One alarm.

    Attributes:
        facts: period, datapoints, comparison, treatment of missing data, and why.
        name: of the alarm in CloudWatch.
        threshold: in the unit of the facts.
        description: what is the matter and what to do.
        metrics: id and metric of everything that the expression uses, or the one metric itself.
        expression: metric math or a Metrics Insights query; None when the alarm watches the one metric.
    """

    facts: AlarmFacts
    name: str
    threshold: float
    description: str
    metrics: tuple[tuple[str, MetricRef], ...]
    expression: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetAlarmRequest:
    """A fleet to watch.

    Attributes:
        group_name: literal name of its Auto Scaling group.
        profile: what its nodes publish.
        utilization_threshold_percent: mean use of the accelerators below which the fleet counts as idle; None takes the
            table's.
        idle: whether an idle fleet alarms; off for one that waits for jobs on purpose.
        interruption_queue_name: literal name of the queue of a Spot fleet.
        interruption_dead_letter_queue_name: likewise.
    """

    group_name: str
    profile: AgentProfile
    utilization_threshold_percent: float | None = None
    idle: bool = True
    interruption_queue_name: str | None = None
    interruption_dead_letter_queue_name: str | None = None


def fleet_profile(plan: FleetPlan, *, namespace: str) -> AgentProfile:
    """What every node of a fleet publishes, whichever of its types it has."""
    return AgentProfile(
        vendor=plan.instance_types[0].vendor,
        efa=all(layout.interfaces.efa_count for layout in plan.layouts),
        nitro_version=min(facts.nitro_version or 0 for facts in plan.instance_types),
        spot=plan.spot is not None,
        namespace=namespace,
    )


def check_fleet_alarms(request: FleetAlarmRequest, *, subject: str) -> Iterator[Finding]:
    """Faults of a request for alarms."""
    percent = request.utilization_threshold_percent
    if percent is not None and not 0 < percent <= 100:  # noqa: PLR2004 - percent
        yield finding(
            "UC-ALM-020",
            f"{subject}.utilization_threshold_percent",
            f"{percent:g} is not between 0 (excluded) and 100",
        )
    yield from check_name(request.group_name, subject=f"{subject}.auto_scaling_group_name")


def check_name(prefix: str, *, subject: str) -> Iterator[Finding]:
    """Whether every alarm can be named after a group or a file system."""
    longest, limit = len(prefix) + 1 + max(map(len, alarm_facts())), alarm_limits().name_length
    if longest > limit:
        yield finding("UC-ALM-010", subject, f"alarm names would have up to {longest} characters, {limit} are allowed")


def alarms_for_fleet(request: FleetAlarmRequest, *, subject: str) -> tuple[AlarmPlan, ...]:
    """The alarms of a fleet: at most eight, and those of its interruption queue.

    Raises:
        FindingsError: the request is wrong.
    """
    raise_if_errors(check_fleet_alarms(request, subject=subject))
    return (*_accelerators(request), *_fabric(request), *_group(request), *alarms_for_queue(request))


def _accelerators(request: FleetAlarmRequest) -> Iterator[AlarmPlan]:
    if request.idle:
        use = _own(request, metric_of_role(request.profile, "utilization"), "Average")
        yield alarm(
            "idle-accelerators", request.group_name, {"use": use}, threshold=request.utilization_threshold_percent
        )
    for name, role in (("accelerator-memory", "memory_percent"), ("hardware-errors", "fault")):
        yield alarm(name, request.group_name, {role: _own(request, metric_of_role(request.profile, role))})


def _fabric(request: FleetAlarmRequest) -> Iterator[AlarmPlan]:
    for name, role in (("fabric-errors", "fabric_error"), ("fabric-peers", "fabric_peer")):
        if metrics_of_role(request.profile, role):
            yield _total(name, request, role)


def _group(request: FleetAlarmRequest) -> Iterator[AlarmPlan]:
    group = request.group_name
    in_service = service("AWS/AutoScaling", "GroupInServiceInstances", "Average", AutoScalingGroupName=group)
    desired = service("AWS/AutoScaling", "GroupDesiredCapacity", "Average", AutoScalingGroupName=group)
    failed = service("AWS/EC2", "StatusCheckFailed", "Maximum", AutoScalingGroupName=group)
    yield alarm("status-checks", request.group_name, {"failed": failed})
    yield alarm(
        "below-desired",
        request.group_name,
        {"desired": desired, "in_service": in_service},
        expression="desired - in_service",
    )
    beats = _own(request, metric_of_role(request.profile, "heartbeat"))
    per_node = alarm_facts()["collectors"].period_s // agent_facts().period_s
    yield alarm(
        "collectors",
        request.group_name,
        {"in_service": in_service, "beats": beats},
        expression=f"in_service - FILL(beats, 0) / {per_node}",
    )


def alarms_for_queue(request: FleetAlarmRequest) -> Iterator[AlarmPlan]:
    """The alarms of a Spot fleet's notices and of the queues that they go to."""
    for metric in metrics_of_role(request.profile, "interruption"):
        yield alarm("spot-interruptions", request.group_name, {"notices": _own(request, metric)})
    queue, dead = request.interruption_queue_name, request.interruption_dead_letter_queue_name
    visible = "ApproximateNumberOfMessagesVisible"
    if queue is not None:
        age = service("AWS/SQS", "ApproximateAgeOfOldestMessage", "Maximum", QueueName=queue)
        yield alarm("interruption-age", request.group_name, {"age": age})
        depth = service("AWS/SQS", visible, "Maximum", QueueName=queue)
        yield alarm("interruption-depth", request.group_name, {"depth": depth})
    if dead is not None:
        letters = service("AWS/SQS", visible, "Maximum", QueueName=dead)
        yield alarm("interruption-dead-letters", request.group_name, {"letters": letters})


def _own(request: FleetAlarmRequest, metric: AgentMetric, statistic: str = "") -> MetricRef:
    return agent_metric(metric, group_name=request.group_name, namespace=request.profile.namespace, statistic=statistic)


def _total(name: str, request: FleetAlarmRequest, role: str) -> AlarmPlan:
    """All metrics of a role together; one without data counts as zero."""
    metrics = {f"m{i}": _own(request, metric) for i, metric in enumerate(metrics_of_role(request.profile, role))}
    return alarm(name, request.group_name, metrics, expression=" + ".join(f"FILL({name}, 0)" for name in metrics))


def alarm(
    name: str,
    prefix: str,
    metrics: Mapping[str, MetricRef],
    *,
    expression: str | None = None,
    threshold: float | None = None,
) -> AlarmPlan:
    """An alarm of the table.

    Args:
        name: its id in the table.
        prefix: of the alarm's name: the group or the file system that it watches.
        metrics: the one metric, or what the expression uses, by id.
        expression: metric math or a Metrics Insights query.
        threshold: another one than the table's.
    """
    facts = alarm_facts()[name]
    return AlarmPlan(
        facts=facts,
        name=f"{prefix}-{name}",
        threshold=facts.threshold if threshold is None else threshold,
        description=f"{prefix}: {facts.title}. What to do: {facts.do}.",
        metrics=tuple(metrics.items()),
        expression=expression,
    )
