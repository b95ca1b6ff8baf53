"""One fleet: interfaces, capacity, placement, image and root volume decided together.

`plan_fleet` calls the plan of every subject and re-decides nothing; it adds what only shows when they meet: counts,
totals, and the addresses and quotas that the fleet needs at its largest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from ultracluster.findings import raise_if_errors
from ultracluster.plan.capacity import CapacityPlan, plan_capacity
from ultracluster.plan.capacity_options import Capacity, OnDemand
from ultracluster.plan.decision import Decision
from ultracluster.plan.fleet_rules import Counts, check_fleets_together, fleet_findings, split_request
from ultracluster.plan.image_options import Dlami, Image
from ultracluster.plan.images import ImagePlan, plan_image
from ultracluster.plan.network_interfaces import (
    InterfaceLayout,
    NetworkInterface,
    NetworkInterfacesPlan,
    plan_network_interfaces,
)
from ultracluster.plan.placement import AUTO, Placement, PlacementPlan, plan_placement
from ultracluster.plan.spot import LayoutGroup, SpotPlan, plan_spot
from ultracluster.plan.volumes import RootVolume, RootVolumePlan, plan_root_volume
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from ultracluster.facts.instances import InstanceType
    from ultracluster.findings import Finding

__all__ = ["FleetPlan", "FleetRequest", "check_fleet", "check_fleets_together", "plan_fleet"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRequest:
    """What is asked of a fleet.

    Attributes:
        name: the user's name for it.
        instance_types: names of the types, the preferred one first; several only with Spot.
        availability_zones: names of the zones; one for a fleet with EFA.
        count: a fixed number of instances; or `min_count` and `max_count`.
        min_count: fewest instances.
        max_count: most instances.
        capacity: the purchase option; On-Demand by default.
        efa: fabric devices per node; None for all that the type has, 0 for none.
        layout: layout of the interfaces; one address per node by default.
        network_interfaces: a list of one's own instead of a layout; it is checked like any other.
        associate_public_ip: a public address on the primary interface; only for nodes with a single interface.
        placement: placement group; decided by the library by default.
        image: the machine image; AWS's base image for the accelerators by default.
        root_volume: the root volume.
        metadata_hop_limit: hops to the metadata service, 1 to 64; 1 by default, so that containers behind a bridge do
            not reach the credentials of the node.
        detailed_monitoring: EC2 metrics every minute instead of every five; on by default.
        tuning: settings of nodes that are not applied unasked, by the names of the table of settings.
        region: the Region; taken from the zones when left out.
        catalog: further instance types; the library's catalogue by default.
        now: the time to hold the end of a Capacity Block against; None judges no end as past.
    """

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
    tuning: tuple[str, ...] = ()
    region: str | None = None
    catalog: Mapping[str, InstanceType] | None = None
    now: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlan:
    """A fleet as decided.

    Attributes:
        name: the user's name for it.
        instance_types: facts of the types.
        availability_zones: names of the zones.
        min_count: fewest instances.
        max_count: most instances.
        layouts: one group of types per launch template; a single one unless the fleet is Spot.
        capacity: market type, reservation, scheduled scale-in.
        spot: the mixed instances policy of a Spot fleet; None for any other.
        placement: placement group.
        image: machine image.
        root_volume: root volume.
        associate_public_ip: public address on the primary interface.
        metadata_hop_limit: hops to the metadata service.
        detailed_monitoring: EC2 metrics every minute.
        tuning: settings of nodes that were asked for.
        decisions: why it looks like this.
        warnings: findings that do not stop the plan.
    """

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
    tuning: tuple[str, ...] = ()
    decisions: tuple[Decision, ...]
    warnings: tuple[Finding, ...]

    @property
    def efa_count(self) -> int:
        """Fabric devices that every node has at least."""
        return min(group.interfaces.efa_count for group in self.layouts)

    @property
    def efa_gbytes_per_s_per_node(self) -> float:
        """What the fabric of a node carries in GB/s, the least of any type."""
        return min(_efa_gbytes_per_s(group, facts) for group in self.layouts for facts in group.instance_types)

    @property
    def scale_up_gbytes_per_s_per_accelerator(self) -> float | None:
        """Rate between the accelerators of a node in GB/s each, both directions, the least; None when unpublished."""
        rates = [facts.scale_up_gbytes_per_s_per_accelerator for facts in self.instance_types]
        return None if None in rates else min(rate for rate in rates if rate is not None)

    @property
    def accelerators_max(self) -> int:
        """Accelerators when the fleet is at its largest."""
        return self.max_count * max(facts.accelerator_count for facts in self.instance_types)

    @property
    def vcpus_max(self) -> int:
        """All vCPUs when the fleet is at its largest, the unit of the EC2 quotas."""
        return self.max_count * max(facts.vcpus for facts in self.instance_types)

    @property
    def quota_code(self) -> str | None:
        """The EC2 quota that the vCPUs count against; None when they count against none."""
        return self.capacity.quota_code

    @property
    def ip_addresses_per_node(self) -> int:
        """Private addresses of one node, the most of any type."""
        return max(group.interfaces.ip_count for group in self.layouts)

    @property
    def ip_addresses_max(self) -> int:
        """Private addresses of the fleet at its largest."""
        return self.max_count * self.ip_addresses_per_node

    @property
    def network_interfaces_max(self) -> int:
        """Network interfaces of the fleet at its largest."""
        return self.max_count * max(len(group.interfaces.interfaces) for group in self.layouts)


def check_fleet(request: FleetRequest, *, subject: str) -> tuple[Finding, ...]:
    """All faults of a fleet request, those of every subject; see `plan_fleet`."""
    return fleet_findings(request, subject)


def plan_fleet(request: FleetRequest, *, subject: str) -> FleetPlan:
    """Decide everything about one fleet.

    Args:
        request: what is asked.
        subject: the fleet's path in the user's terms.

    Raises:
        FindingsError: with all faults of the fleet at once.
    """
    warnings = raise_if_errors(check_fleet(request, subject=subject))
    parts = split_request(request, subject)
    spot = plan_spot(parts.spot, subject=subject) if parts.spot else None
    layouts = _layouts(request, parts.types, spot, subject)
    capacity = plan_capacity(parts.capacity, subject=subject)
    placement = plan_placement(parts.placement, subject=subject)
    image = plan_image(request.image, instance_types=parts.types, subject=subject)
    root_volume = plan_root_volume(
        request.root_volume,
        device_name=image.root_device_name,
        recommended_size_gib=image.recommended_root_gib,
        subject=subject,
    )
    fabric = spot or layouts[0].interfaces
    plans = (fabric, capacity, placement, image, root_volume)
    return FleetPlan(
        name=request.name,
        instance_types=parts.types,
        availability_zones=request.availability_zones,
        min_count=parts.counts.fewest,
        max_count=parts.counts.most,
        layouts=layouts,
        capacity=capacity,
        spot=spot,
        placement=placement,
        image=image,
        root_volume=root_volume,
        associate_public_ip=request.associate_public_ip,
        metadata_hop_limit=request.metadata_hop_limit,
        detailed_monitoring=request.detailed_monitoring,
        tuning=tuple(sorted(set(request.tuning))),
        decisions=(
            _count_decision(parts.types, parts.counts, subject),
            *(decision for plan in plans for decision in plan.decisions),
        ),
        warnings=warnings,
    )


def _layouts(
    request: FleetRequest, types: tuple[InstanceType, ...], spot: SpotPlan | None, subject: str
) -> tuple[LayoutGroup, ...]:
    if request.network_interfaces is not None:
        own = _own_list(request.network_interfaces, types[0], request, subject)
        return (LayoutGroup(instance_types=types, interfaces=own),)
    if spot is not None:
        return spot.groups
    planned = plan_network_interfaces(types[0], efa=request.efa, layout=request.layout, subject=subject)
    return (LayoutGroup(instance_types=types, interfaces=planned),)


def _own_list(
    interfaces: tuple[NetworkInterface, ...], facts: InstanceType, request: FleetRequest, subject: str
) -> NetworkInterfacesPlan:
    efa_count = sum(item.has_efa for item in interfaces)
    ip_count = sum(item.has_ip for item in interfaces)
    decision = Decision(
        subject=f"{subject}.network_interfaces",
        value=f"{len(interfaces)} interfaces, {efa_count} EFA devices, {ip_count} addresses per node",
        because="the list that was given; it passed the checks of EC2 and of the cards",
    )
    # The primary interface comes first, as in every planned list.
    ordered = tuple(sorted(interfaces, key=lambda item: (item.card, item.device) != (0, 0)))
    return NetworkInterfacesPlan(
        layout=request.layout,
        interfaces=ordered,
        efa_count=efa_count,
        efa_available=max(efa_count, facts.max_efa_interfaces or 0),
        ip_count=ip_count,
        decisions=(decision,),
        warnings=(),
    )


def _efa_gbytes_per_s(group: LayoutGroup, facts: InstanceType) -> float:
    """The type's fabric rate, in proportion when the node has fewer devices than the type."""
    available = group.interfaces.efa_available
    share = group.interfaces.efa_count / available if available else 0.0
    return facts.efa_bandwidth_gbps / 8 * share


def _count_decision(types: tuple[InstanceType, ...], counts: Counts, subject: str) -> Decision:
    names = " or ".join(facts.name for facts in types)
    size = f"{counts.most}" if counts.fewest == counts.most else f"{counts.fewest} to {counts.most}"
    accelerators = counts.most * max(facts.accelerator_count for facts in types)
    return Decision(
        subject=f"{subject}.count",
        value=f"{size} x {names}",
        because=f"as asked; {accelerators} accelerators at the largest",
    )
