"""Alarms of one FSx for Lustre file system: space, throughput, metadata, imports and exports, lost clients.

Space, network, disk and metadata are watched by queries over all storage targets and servers of the file system: one
full target stops writers while the sum still looks fine. An account has 200 such query alarms per Region.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sns as sns
from constructs import Construct

from ultracluster.acknowledge import report_warnings
from ultracluster.findings import Finding, FindingsError, Severity, finding
from ultracluster.observability.fleet_alarms import alarm_actions
from ultracluster.observability.realise import alarm_arns, metric_alarm
from ultracluster.plan.alarms import AlarmPlan
from ultracluster.plan.lustre_alarms import alarms_for_lustre, check_lustre_alarms, lustre_alarm_request
from ultracluster.plan.lustre_request import LustrePlan

__all__ = ["LustreAlarms", "WatchedFileSystem", "untold"]


class WatchedFileSystem(Protocol):
    """A file system as its alarms see it: `LustreFileSystem`."""

    @property
    def plan(self) -> LustrePlan | None:
        """The decisions about it; None when it was made elsewhere."""
        ...

    @property
    def file_system_id(self) -> str:
        """Its id."""
        ...


class LustreAlarms(Construct):
    """The alarms of one file system.

    Example:
        LustreAlarms(self, "DataAlarms", file_system=data, topic=oncall.topic, client_groups=["demo-train"])

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        file_system: what to watch; it needs a plan.
        topic: is told when an alarm fires and when it is over. Its key has to let CloudWatch in (`NotificationTopic`).
        name: prefix of the alarms' names; unique in the account and Region. From the construct's path if `None`.
        further_actions: more ARNs to act on an alarm; with the topic at most five.
        client_groups: literal names of up to nine Auto Scaling groups whose nodes mount it; a node in service without
            its mount then alarms.

    Attributes:
        request: what was watched for.
        plans: the decided alarms.
        alarms: the alarms by the id of the table.
        alarm_arns: of all alarms, from their literal names.

    Raises:
        FindingsError: names get too long, the file system has no plan, or there are more than five actions.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        file_system: WatchedFileSystem,
        topic: sns.ITopic,
        name: str | None = None,
        further_actions: Sequence[str] = (),
        client_groups: Sequence[str] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        path = self.node.path
        if file_system.plan is None:
            raise FindingsError([untold(f"{path}.file_system")])
        prefix = name or cdk.Names.unique_resource_name(self, max_length=100, separator="-")
        self.request = lustre_alarm_request(file_system.plan, name=prefix, client_groups=tuple(client_groups))
        self.plans: tuple[AlarmPlan, ...] = alarms_for_lustre(self.request, subject=path)
        found = check_lustre_alarms(self.request, subject=path)
        report_warnings(self, (warning for warning in found if warning.severity is Severity.WARNING))
        actions, file_system_id = alarm_actions(topic, further_actions, subject=path), file_system.file_system_id
        self.alarms: Mapping[str, cloudwatch.CfnAlarm] = {
            plan.facts.id: metric_alarm(self, plan, actions=actions, file_system_id=file_system_id)
            for plan in self.plans
        }
        stack = cdk.Stack.of(self)
        self.alarm_arns = alarm_arns(stack, (plan.name for plan in self.plans))


def untold(subject: str) -> Finding:
    """UC-API-010: a file system made elsewhere, of which nothing is known that alarms or a dashboard need.

    Args:
        subject: the argument in the user's terms.
    """
    return finding("UC-API-010", subject, "an imported file system tells nothing of its storage or associations")
