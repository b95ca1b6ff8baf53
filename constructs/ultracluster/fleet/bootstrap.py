"""What storage means for the nodes: mounts of the bootstrap, values of its slots, and over which interfaces they go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ultracluster.plan.fleet import FleetPlan
from ultracluster.plan.user_data import MountRequest
from ultracluster.storage.contract import Mount

__all__ = ["mount_request", "mount_slots", "mounts_over_efa"]


def mounts_over_efa(plan: FleetPlan, mount: Mount) -> bool:
    """Whether nodes reach this storage over EFA: it offers it, and all types of a launch template can be clients."""
    return mount.efa and any(
        layout.interfaces.efa_count and all(kind.fsx_lustre_efa_client for kind in layout.instance_types)
        for layout in plan.layouts
    )


def mount_request(mount: Mount) -> MountRequest:
    """The mount in plain values; the bootstrap decides per instance type whether EFA carries it."""
    request = MountRequest(
        kind=mount.kind,
        mount_path=mount.mount_path,
        efa=mount.efa,
        access_point=bool(mount.slots.get("access_point_id")),
    )
    return replace(request, options=mount.options) if mount.options else request


def mount_slots(mounts: Sequence[Mount]) -> Mapping[str, str]:
    """Values of the slots of all mounts, by the names that the user data plan gives them."""
    return {
        f"{mount.kind}_{place}_{key}": value for place, mount in enumerate(mounts) for key, value in mount.slots.items()
    }
