"""From a decided fleet to the bootstrap of each of its launch templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ultracluster.fleet.defaults import LAUNCH_HOOK
from ultracluster.plan.fleet import FleetPlan
from ultracluster.plan.spot import LayoutGroup
from ultracluster.plan.user_data import MountRequest, UserDataRequest, node_type
from ultracluster.storage.contract import Mount

__all__ = ["BootstrapInputs", "bootstrap_request", "mount_slots", "mounts_over_efa"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapInputs:
    """What the bootstrap of a fleet is told beside the plan.

    Attributes:
        auto_scaling_group_name: literal name of the group.
        log_group_name: literal name of the fleet's log group.
        metrics_namespace: CloudWatch namespace of the agent.
        mounts: shared file systems, in mounting order.
        user_script: the user's own program, if any.
    """

    auto_scaling_group_name: str
    log_group_name: str
    metrics_namespace: str
    mounts: tuple[Mount, ...]
    user_script: str | None


def mounts_over_efa(plan: FleetPlan, mount: Mount) -> bool:
    """Whether nodes reach this storage over EFA: it offers EFA, they have it, and each type can be such a client."""
    return mount.efa and plan.efa_count > 0 and all(kind.fsx_lustre_efa_client for kind in plan.instance_types)


def bootstrap_request(plan: FleetPlan, layout: LayoutGroup, inputs: BootstrapInputs) -> UserDataRequest:
    """What the user data of one launch template has to do."""
    return UserDataRequest(
        fleet_name=plan.name,
        vendor=layout.instance_types[0].vendor,
        node_types=tuple(node_type(kind, efa=layout.interfaces.efa_count) for kind in layout.instance_types),
        auto_scaling_group_name=inputs.auto_scaling_group_name,
        lifecycle_hook_name=LAUNCH_HOOK,
        log_group_name=inputs.log_group_name,
        metrics_namespace=inputs.metrics_namespace,
        mounts=tuple(_mount_request(plan, mount) for mount in inputs.mounts),
        spot=plan.spot is not None,
        user_script=inputs.user_script,
        os=plan.image.os,
    )


def mount_slots(mounts: Sequence[Mount]) -> Mapping[str, str]:
    """Values of the slots of all mounts, by the names that the user data plan gives them."""
    return {
        f"{mount.kind}_{place}_{key}": value for place, mount in enumerate(mounts) for key, value in mount.slots.items()
    }


def _mount_request(plan: FleetPlan, mount: Mount) -> MountRequest:
    return MountRequest(
        kind=mount.kind,
        mount_path=mount.mount_path,
        efa=mounts_over_efa(plan, mount),
        options=mount.options,
        access_point=bool(mount.slots.get("access_point_id")),
    )
