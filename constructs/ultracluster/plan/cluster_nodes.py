"""What the nodes of a planned fleet are told at boot, and what watches over them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ultracluster.findings import FindingsError
from ultracluster.plan.alarms import AlarmPlan, FleetAlarmRequest, alarms_for_fleet, fleet_profile
from ultracluster.plan.bootstrap import BootstrapInputs, mount_of, user_data_requests
from ultracluster.plan.cluster_rules import HOME, mounted_by
from ultracluster.plan.lustre_alarms import alarms_for_lustre, lustre_alarm_request
from ultracluster.plan.names import alarm_prefix, interruption_queue_names
from ultracluster.plan.user_data import plan_user_data

if TYPE_CHECKING:
    from ultracluster.plan.cluster_draft import ClusterDraft

__all__ = ["plan_alarms", "plan_user_data_of_fleets"]


def plan_user_data_of_fleets(draft: ClusterDraft) -> None:
    """The user data of every planned fleet whose mounts are in order."""
    mounts = {plan.name: mount_of(plan) for plan in draft.lustre.values()}
    if draft.home is not None:
        mounts[HOME] = mount_of(draft.home)
    for index, fleet in draft.fleets.items():
        names = mounted_by(draft.parts.fleets[index], draft.parts)
        inputs = BootstrapInputs(
            auto_scaling_group_name=draft.group(fleet),
            metrics_namespace=_namespace(draft),
            mounts=tuple({mounts[name].mount_path: mounts[name] for name in names if name in mounts}.values()),
            user_script=draft.scripts.get(index),
        )
        subject = f"fleets[{index}]"
        draft.user_data[index] = [
            plan
            for request in user_data_requests(fleet, inputs)
            if (plan := draft.attempt(partial(plan_user_data, request, subject=subject))) is not None
        ]


def plan_alarms(draft: ClusterDraft) -> None:
    """The alarms of every planned fleet and Lustre file system."""
    watch = draft.parts.observability
    percent = None if watch is None else watch.utilization_threshold_percent
    for index, fleet in draft.fleets.items():
        queue, dead = interruption_queue_names(draft.group(fleet)) if fleet.spot is not None else (None, None)
        request = FleetAlarmRequest(
            group_name=draft.group(fleet),
            profile=fleet_profile(fleet, namespace=_namespace(draft)),
            utilization_threshold_percent=percent,
            interruption_queue_name=queue,
            interruption_dead_letter_queue_name=dead,
        )
        _alarms(draft, f"fleets[{index}]", partial(alarms_for_fleet, request))
    for index, lustre in draft.lustre.items():
        groups = tuple(draft.group(draft.fleets[at]) for at in draft.mounting(lustre.name) if at in draft.fleets)
        prefix = alarm_prefix(draft.name, lustre.name)
        watched = lustre_alarm_request(lustre, name=prefix, client_groups=groups)
        _alarms(draft, f"storage.lustre[{index}]", partial(alarms_for_lustre, watched))


def _alarms(draft: ClusterDraft, subject: str, make: Callable[..., tuple[AlarmPlan, ...]]) -> None:
    try:
        draft.alarms[subject] = make(subject=subject)
    except FindingsError as error:
        draft.findings += error.findings


def _namespace(draft: ClusterDraft) -> str:
    watch = draft.parts.observability
    return "UltraCluster" if watch is None else watch.metrics_namespace
