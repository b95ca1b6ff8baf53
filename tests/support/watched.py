"""Fleets and file systems as their alarms see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ultracluster.observability.fleet_alarms import FleetToWatch
from ultracluster.plan.capacity import Spot
from ultracluster.plan.data_repository import DataRepositoryRequest
from ultracluster.plan.fleet import FleetRequest, plan_fleet
from ultracluster.plan.lustre import plan_lustre
from ultracluster.plan.lustre_deployments import IntelligentTiering, Persistent2
from ultracluster.plan.lustre_request import LustrePlan, LustreRequest
from ultracluster.plan.placement import NONE


def watched(*types: str, group: str = "demo-train", **changes: Any) -> FleetToWatch:
    """A fleet of the given types, `p5.48xlarge` by default."""
    arguments: dict[str, Any] = {
        "name": "train",
        "instance_types": types or ("p5.48xlarge",),
        "availability_zones": ("us-east-1a",),
        "count": 4,
    }
    plan = plan_fleet(FleetRequest(**arguments | changes), subject="fleets[0]")
    return FleetToWatch(plan=plan, auto_scaling_group_name=group)


def watched_spot(group: str = "demo-spot") -> FleetToWatch:
    """A Spot fleet over two zones."""
    zones = ("us-east-1a", "us-east-1b")
    return watched("p5.48xlarge", group=group, availability_zones=zones, capacity=Spot(), efa=0, placement=NONE)


@dataclass(frozen=True)
class WatchedSystem:
    """A file system by its plan and id."""

    plan: LustrePlan
    file_system_id: str = "fs-0123456789abcdef0"


def watched_lustre(*, tiering: bool = False) -> WatchedSystem:
    """A file system with an association that imports and exports, or one with Intelligent-Tiering."""
    deployment = (
        IntelligentTiering(throughput_capacity_mbps=4000, metadata_iops=6000)
        if tiering
        else Persistent2(capacity_gib=4800, throughput_mbps_per_tib=250)
    )
    link = DataRepositoryRequest(
        file_system_path="/data", bucket="demo-data", auto_export=("NEW", "CHANGED", "DELETED")
    )
    repositories = () if tiering else (link,)
    request = LustreRequest(name="data", deployment=deployment, data_repositories=repositories)
    return WatchedSystem(plan_lustre(request, subject="storage.lustre[0]"))
