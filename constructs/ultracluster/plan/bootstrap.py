"""The user data of a fleet, as far as it follows from the plans: what only the deployment knows stays a slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ultracluster.plan.names import LAUNCH_HOOK, TERMINATE_HOOK, log_group_name
from ultracluster.plan.user_data import MountRequest, UserDataRequest, node_type
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.plan.fleet import FleetPlan
    from ultracluster.plan.home import HomePlan
    from ultracluster.plan.lustre_request import LustrePlan

__all__ = ["BootstrapInputs", "mount_of", "user_data_requests"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapInputs:
    """What the user data of a fleet is told beside its plan.

    Attributes:
        auto_scaling_group_name: literal name of the fleet's group.
        metrics_namespace: CloudWatch namespace of the agent.
        mounts: file systems that the fleet mounts, in their order.
        user_script: the user's own program, if any.
    """

    auto_scaling_group_name: str
    metrics_namespace: str
    mounts: tuple[MountRequest, ...]
    user_script: str | None


def mount_of(plan: LustrePlan | HomePlan) -> MountRequest:
    """The mount of a file system."""
    from ultracluster.plan.home import HomePlan

    if isinstance(plan, HomePlan):
        return MountRequest(
            kind="efs",
            mount_path=plan.mount_path,
            options=plan.mount_options,
            access_point=plan.mount_access_point is not None,
        )
    return MountRequest(kind="lustre", mount_path=plan.mount_path, efa=plan.efa, options=plan.mount_options)


def user_data_requests(fleet: FleetPlan, inputs: BootstrapInputs) -> Sequence[UserDataRequest]:
    """What the user data of each launch template of a fleet has to do, in the order of its layouts."""
    return [
        UserDataRequest(
            fleet_name=fleet.name,
            vendor=layout.instance_types[0].vendor,
            node_types=tuple(node_type(facts, efa=layout.interfaces.efa_count) for facts in layout.instance_types),
            auto_scaling_group_name=inputs.auto_scaling_group_name,
            lifecycle_hook_name=LAUNCH_HOOK,
            terminate_hook_name=TERMINATE_HOOK,
            log_group_name=log_group_name(inputs.auto_scaling_group_name),
            metrics_namespace=inputs.metrics_namespace,
            mounts=inputs.mounts,
            spot=fleet.spot is not None,
            user_script=inputs.user_script,
            suspend_zone_rebalancing=len(fleet.availability_zones) > 1,
            capacity_block_end=_block_end(fleet),
            os=fleet.image.os,
            nodes=fleet.max_count,
            tuning=fleet.tuning,
        )
        for layout in fleet.layouts
    ]


def _block_end(fleet: FleetPlan) -> str:
    end = fleet.capacity.end if fleet.capacity.kind == "capacity-block" else None
    return "" if end is None else end.strftime("%Y-%m-%dT%H:%M:%SZ")
