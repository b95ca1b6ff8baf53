"""The cluster's CloudWatch dashboard: alarms, fleets, accelerators, fabric, storage, Spot. Billed per dashboard."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from ultracluster.findings import FindingsError
from ultracluster.observability.fleet_alarms import FleetAlarms
from ultracluster.observability.lustre_alarms import LustreAlarms, WatchedFileSystem, untold
from ultracluster.plan.dashboard import DashboardRequest, FileSystemOnDashboard, dashboard_body
from ultracluster.plan.lustre_alarms import lustre_alarm_request

__all__ = ["ClusterDashboard"]


class ClusterDashboard(Construct):
    """One dashboard over everything that is watched.

    Example:
        ClusterDashboard(self, "Dashboard", fleet_alarms=[train_alarms], file_systems={"data": data})

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        fleet_alarms: the fleets to show, by their alarms.
        lustre_alarms: alarms of file systems, shown in the row of alarms.
        file_systems: the file systems to show, by the name of their lines; each needs a plan.
        name: of the dashboard; CloudFormation makes one up if `None`.

    Attributes:
        dashboard: the resource.
        body: what it shows, with CDK placeholders where values come from the deployment.

    Raises:
        FindingsError: a file system has no plan.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        fleet_alarms: Sequence[FleetAlarms] = (),
        lustre_alarms: Sequence[LustreAlarms] = (),
        file_systems: Mapping[str, WatchedFileSystem] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        arns = [arn for fleet in fleet_alarms for arn in fleet.alarm_arns]
        arns += [arn for system in lustre_alarms for arn in system.alarm_arns]
        self.body = dashboard_body(
            DashboardRequest(
                region=cdk.Stack.of(self).region,
                fleets=tuple(alarms.request for alarms in fleet_alarms),
                file_systems=tuple(
                    _shown(label, system, subject=self.node.path) for label, system in (file_systems or {}).items()
                ),
                alarm_arns=tuple(arns),
            )
        )
        self.dashboard = cloudwatch.CfnDashboard(
            self,
            "Resource",
            dashboard_name=name,
            dashboard_body=json.dumps(self.body, separators=(",", ":")),
        )


def _shown(label: str, system: WatchedFileSystem, *, subject: str) -> FileSystemOnDashboard:
    if system.plan is None:
        raise FindingsError([untold(f"{subject}.file_systems[{label!r}]")])
    return FileSystemOnDashboard(
        request=lustre_alarm_request(system.plan, name=label), file_system_id=system.file_system_id
    )
