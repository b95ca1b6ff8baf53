"""One fleet: interfaces, capacity, placement, image and root volume decided together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ultracluster.plan.capacity import Capacity, OnDemand
from ultracluster.plan.images import Dlami, Image
from ultracluster.plan.network_interfaces import InterfaceLayout, NetworkInterface
from ultracluster.plan.placement import AUTO, Placement
from ultracluster.plan.volumes import RootVolume

if TYPE_CHECKING:
    from datetime import datetime

    from ultracluster.facts.instances import InstanceType
    from ultracluster.findings import Finding
    from ultracluster.plan.capacity import CapacityPlan
    from ultracluster.plan.decision import Decision
    from ultracluster.plan.images import ImagePlan
    from ultracluster.plan.placement import PlacementPlan
    from ultracluster.plan.spot import LayoutGroup, SpotPlan
    from ultracluster.plan.volumes import RootVolumePlan

__all__ = ["FleetPlan", "FleetRequest", "check_fleet", "check_fleets_together", "plan_fleet"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRequest:
    """What is asked of a fleet. Either `count`, or `min_count` and `max_count`."""

    name: str
    instance_types: tuple[str, ...]
    availability_zones: tuple[str, ...]
    count: int | None = None
    min_count: int | None = None
    max_count: int | None = None
    capacity: Capacity = field(default_factory=OnDemand)
    efa: int | None = None
    layout: InterfaceLayout = InterfaceLayout.MIN_IP
    network_interfaces: tuple[NetworkInterface, ...] | None = None
    associate_public_ip: bool = False
    placement: Placement = AUTO
    image: Image = field(default_factory=Dlami)
    root_volume: RootVolume = field(default_factory=RootVolume)
    metadata_hop_limit: int = 1
    detailed_monitoring: bool = True
    region: str | None = None
    catalog: Mapping[str, InstanceType] | None = None
    now: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlan:
    """A fleet as decided. `layouts` holds one group unless the fleet is Spot."""

    name: str
    instance_types: tuple[InstanceType, ...]
    availability_zones: tuple[str, ...]
    min_count: int
    max_count: int
    layouts: tuple[LayoutGroup, ...]
    capacity: CapacityPlan
    spot: SpotPlan | None
    placement: PlacementPlan
    image: ImagePlan
    root_volume: RootVolumePlan
    associate_public_ip: bool
    metadata_hop_limit: int
    detailed_monitoring: bool
    efa_count: int
    efa_gbytes_per_s_per_node: float
    scale_up_gbytes_per_s_per_accelerator: float | None
    accelerators_max: int
    vcpus_max: int
    quota_code: str | None
    ip_addresses_per_node: int
    ip_addresses_max: int
    network_interfaces_max: int
    decisions: tuple[Decision, ...]
    warnings: tuple[Finding, ...]


def check_fleet(request: FleetRequest, *, subject: str) -> tuple[Finding, ...]:
    """All faults of a fleet request."""
    raise NotImplementedError


def plan_fleet(request: FleetRequest, *, subject: str) -> FleetPlan:
    """Decide everything about one fleet."""
    raise NotImplementedError


def check_fleets_together(fleets: Mapping[str, FleetPlan]) -> tuple[Finding, ...]:
    """Faults that only show between fleets; the keys are the subjects."""
    raise NotImplementedError
