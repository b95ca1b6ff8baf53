"""Alarms of one fleet: idle or failing accelerators, fabric, nodes, collectors, and Spot interruptions.

Everything is named literally, so the alarms can stand in a stack of their own that depends on nothing of the fleet, and
can be deployed before it. At most eight alarms for a fleet, twelve for a Spot fleet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sns as sns
from constructs import Construct

from ultracluster.facts.agent_metrics import agent_facts
from ultracluster.facts.alarms import alarm_limits
from ultracluster.findings import FindingsError, finding
from ultracluster.observability.realise import alarm_arns, metric_alarm
from ultracluster.plan.alarms import AlarmPlan, FleetAlarmRequest, alarms_for_fleet, fleet_profile
from ultracluster.plan.fleet import FleetPlan
from ultracluster.values import dataclass

__all__ = ["FleetAlarms", "FleetToWatch", "WatchedFleet"]


class WatchedFleet(Protocol):
    """A fleet as its alarms see it: `TrainingFleet`, `SpotTrainingFleet`, or a `FleetToWatch`."""

    @property
    def plan(self) -> FleetPlan:
        """The decisions about it."""
        ...

    @property
    def auto_scaling_group_name(self) -> str:
        """Literal name of its group."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetToWatch:
    """A fleet that is made elsewhere, by its plan and its literal name."""

    plan: FleetPlan
    auto_scaling_group_name: str


class FleetAlarms(Construct):
    """The alarms of one fleet.

    Example:
        FleetAlarms(self, "TrainAlarms", fleet=fleet, topic=oncall.topic)

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        fleet: what to watch. The Auto Scaling group has to publish its group metrics, as fleets of this library do.
        topic: is told when an alarm fires and when it is over. Its key has to let CloudWatch in (`NotificationTopic`).
        further_actions: more ARNs to act on an alarm; with the topic at most five.
        metrics_namespace: namespace of the fleet's agent; that of the fleet, where it tells one.
        utilization_threshold_percent: mean use of the accelerators below which the fleet is idle; the table's 70 if
            `None`.
        idle_alarm: switch it off for a fleet that waits for jobs on purpose.
        interruption_queue_name: literal name of the interruption queue; that of a `SpotTrainingFleet` by itself.
        interruption_dead_letter_queue_name: likewise of its dead-letter queue.
        overview_topic: if given, a composite alarm over all of these tells it once, however many of them fire.

    Attributes:
        request: what was watched for.
        plans: the decided alarms.
        alarms: the alarms by the id of the table.
        overview: the composite alarm, if any.
        alarm_arns: of all alarms, from their literal names.

    Raises:
        FindingsError: the threshold is no percentage, or names get too long.
        FindingsError: more than five actions.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        fleet: WatchedFleet,
        topic: sns.ITopic,
        further_actions: Sequence[str] = (),
        metrics_namespace: str | None = None,
        utilization_threshold_percent: float | None = None,
        idle_alarm: bool = True,
        interruption_queue_name: str | None = None,
        interruption_dead_letter_queue_name: str | None = None,
        overview_topic: sns.ITopic | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.request = FleetAlarmRequest(
            group_name=fleet.auto_scaling_group_name,
            profile=fleet_profile(
                fleet.plan, namespace=metrics_namespace or _told(fleet, "metrics_namespace") or agent_facts().namespace
            ),
            utilization_threshold_percent=utilization_threshold_percent,
            idle=idle_alarm,
            interruption_queue_name=interruption_queue_name or _told(fleet, "interruption_queue_name"),
            interruption_dead_letter_queue_name=interruption_dead_letter_queue_name
            or _told(fleet, "interruption_dead_letter_queue_name"),
        )
        self.plans: tuple[AlarmPlan, ...] = alarms_for_fleet(self.request, subject=self.node.path)
        actions = alarm_actions(topic, further_actions, subject=self.node.path)
        self.alarms: Mapping[str, cloudwatch.CfnAlarm] = {
            plan.facts.id: metric_alarm(self, plan, actions=actions) for plan in self.plans
        }
        stack = cdk.Stack.of(self)
        self.alarm_arns = alarm_arns(stack, (plan.name for plan in self.plans))
        self.overview = None if overview_topic is None else self._overview(overview_topic.topic_arn)

    def _overview(self, topic_arn: str) -> cloudwatch.CfnCompositeAlarm:
        group = self.request.group_name
        return cloudwatch.CfnCompositeAlarm(
            self,
            "Overview",
            alarm_name=f"{group}-overview",
            alarm_description=f"{group}: at least one alarm fires. What to do: look at the alarms that it names.",
            alarm_rule=" OR ".join(f"ALARM({alarm.attr_arn})" for alarm in self.alarms.values()),
            alarm_actions=[topic_arn],
            ok_actions=[topic_arn],
        )


def _told(fleet: WatchedFleet, name: str) -> str | None:
    """What a fleet says of itself beyond the protocol; an alarm on another name would never have data."""
    value: str | None = getattr(fleet, name, None)
    return value


def alarm_actions(topic: sns.ITopic, further: Sequence[str], *, subject: str) -> list[str]:
    """The ARNs that an alarm acts on.

    Args:
        topic: is told of every change.
        further: what else acts on it.
        subject: path of the construct.

    Raises:
        FindingsError: more than CloudWatch takes per state.
    """
    limit = alarm_limits().actions
    if len(further) >= limit:
        message = f"{len(further)} beside the topic, CloudWatch takes {limit} actions per state"
        raise FindingsError([finding("UC-API-009", f"{subject}.further_actions", message, f"give at most {limit - 1}")])
    return [topic.topic_arn, *further]
