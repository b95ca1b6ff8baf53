"""What watches over the cluster: the topic for people, alarms of fleets and file systems, the dashboard.

It is deployed before the fleets and depends on none of them: their alarms name them literally. So the alarms stand when
the first node starts, and a fleet can leave without a reference in its way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk

from ultracluster import ClusterDashboard, FleetAlarms, LustreAlarms, NotificationTopic, SpendBudget
from ultracluster.observability.fleet_alarms import FleetToWatch
from ultracluster.plan.names import alarm_prefix, interruption_queue_names

if TYPE_CHECKING:
    from aws_cdk import aws_sns as sns
    from constructs import Construct

    from ultracluster.plan.cluster import ClusterPlan, FleetAttachments
    from ultracluster.plan.fleet import FleetPlan
    from ultracluster.spec.observability import ObservabilitySpec
    from ultracluster_stacks.storage_stack import StorageStack

__all__ = ["ObservabilityStack"]


class ObservabilityStack(cdk.Stack):
    """Topic, alarms and dashboard of a cluster.

    Attributes:
        topic: tells people; fleets send their launches and terminations to it too.
        fleet_alarms: by fleet.
        lustre_alarms: by file system.
        dashboard: the dashboard, unless the cluster file wants none.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        spec: ObservabilitySpec,
        plan: ClusterPlan,
        storage: StorageStack,
        env: cdk.Environment,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            env=env,
            description="alarms and dashboard of a training cluster",
            suppress_template_indentation=True,  # as in the compute stack: both grow with the fleets
        )
        self.topic: sns.ITopic = NotificationTopic(self, "Notifications", emails=spec.notification_emails).topic
        self.fleet_alarms = {
            fleet.name: self._fleet(spec, fleet, attached)
            for fleet, attached in zip(plan.fleets, plan.attachments, strict=True)
        }
        self.lustre_alarms = {
            name: LustreAlarms(
                self,
                f"Lustre-{name}",
                file_system=file_system,
                topic=self.topic,
                name=alarm_prefix(plan.name, name),
                client_groups=[item.auto_scaling_group_name for item in plan.attachments if name in item.mounts],
            )
            for name, file_system in storage.lustre.items()
        }
        if spec.monthly_budget_usd is not None:
            SpendBudget(self, "Budget", monthly_limit_usd=spec.monthly_budget_usd, topic=self.topic)
        self.dashboard = self._dashboard(plan.name, storage) if spec.dashboard else None

    def _fleet(self, spec: ObservabilitySpec, plan: FleetPlan, attached: FleetAttachments) -> FleetAlarms:
        queue, dead_letters = None, None
        if plan.spot is not None:
            queue, dead_letters = interruption_queue_names(attached.auto_scaling_group_name)
        return FleetAlarms(
            self,
            f"Fleet-{plan.name}",
            fleet=FleetToWatch(plan=plan, auto_scaling_group_name=attached.auto_scaling_group_name),
            topic=self.topic,
            metrics_namespace=spec.metrics_namespace,
            utilization_threshold_percent=spec.utilization_threshold_percent,
            interruption_queue_name=queue,
            interruption_dead_letter_queue_name=dead_letters,
        )

    def _dashboard(self, cluster: str, storage: StorageStack) -> ClusterDashboard:
        return ClusterDashboard(
            self,
            "Dashboard",
            fleet_alarms=list(self.fleet_alarms.values()),
            lustre_alarms=list(self.lustre_alarms.values()),
            file_systems=storage.lustre,
            name=cluster,
        )
