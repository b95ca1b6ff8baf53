"""What launches instances, beside its launch templates: its size, and the zones it spreads over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

from ultracluster.policy.graph.zones import Zone, same, subnets_of, zone_of, zone_of_value
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Assembly, Resource
from ultracluster.policy.world import remembered

__all__ = [
    "AUTO_SCALING_GROUP",
    "EC2_FLEET",
    "NODE_GROUP",
    "PCS_NODE_GROUP",
    "SPOT_FLEET",
    "Spread",
    "largest_size",
    "named_auto_scaling_group",
    "spread_over_zones",
]

AUTO_SCALING_GROUP = "AWS::AutoScaling::AutoScalingGroup"
EC2_FLEET = "AWS::EC2::EC2Fleet"
NODE_GROUP = "AWS::EKS::Nodegroup"
PCS_NODE_GROUP = "AWS::PCS::ComputeNodeGroup"
SPOT_FLEET = "AWS::EC2::SpotFleet"


@dataclass(frozen=True, slots=True)
class Spread:
    """Two subnets, or zones, of a fleet that certainly lie apart.

    Attributes:
        where: the second of them.
        zones: their zones.
    """

    where: Value
    zones: tuple[Zone, Zone]

    @property
    def shown(self) -> str:
        """Both zones, for a message."""
        return f"{self.zones[0]} and {self.zones[1]}"


@remembered
def spread_over_zones(consumer: Resource) -> Spread | None:
    """How a fleet certainly spreads over several zones; None when it stays in one.

    Raises:
        NotKnown: no two zones are known to differ, and one is not known.
    """
    doubt: NotKnown | None = None
    zones: list[tuple[Value, Zone]] = []
    for value, read in _places(consumer):
        try:
            zones.append((value, read(value)))
        except NotKnown as found:
            doubt = found
    for (_, first), (value, second) in combinations(zones, 2):
        try:
            if not same(first, second):
                return Spread(value, (first, second))
        except NotKnown as found:
            doubt = found
    if doubt is not None:
        raise doubt
    return None


def _places(consumer: Resource) -> list[tuple[Value, Callable[[Value], Zone]]]:
    """The subnets, or where none is named the zones, each once; none where there is one only."""
    if consumer.type == EC2_FLEET and _picks_one_zone(consumer):
        return []
    subnets = subnets_of(consumer)
    if not subnets and consumer.type == AUTO_SCALING_GROUP:
        return _distinct(consumer.get("AvailabilityZones").items(), zone_of_value)
    return _distinct(subnets, zone_of)


def _distinct(values: list[Value], read: Callable[[Value], Zone]) -> list[tuple[Value, Callable[[Value], Zone]]]:
    each = list({value.symbol(): value for value in values}.values())
    return [(value, read) for value in each] if len(each) > 1 else []


def _picks_one_zone(fleet: Resource) -> bool:
    return any(fleet.get(name, "SingleAvailabilityZone").boolean(False) for name in ("OnDemandOptions", "SpotOptions"))


_SIZES = {
    AUTO_SCALING_GROUP: ("MaxSize",),
    EC2_FLEET: ("TargetCapacitySpecification", "TotalTargetCapacity"),
    NODE_GROUP: ("ScalingConfig", "MaxSize"),
    PCS_NODE_GROUP: ("ScalingConfiguration", "MaxInstanceCount"),
    SPOT_FLEET: ("SpotFleetRequestConfigData", "TargetCapacity"),
}


def largest_size(consumer: Resource) -> Value | None:
    """The property with the most instances of a fleet; None where it is not counted in instances."""
    keys = _SIZES.get(consumer.type)
    if keys is None or (consumer.type == EC2_FLEET and _counts_otherwise(consumer)):
        return None
    return consumer.get(*keys)


def _counts_otherwise(fleet: Resource) -> bool:
    return fleet.get("TargetCapacitySpecification", "TargetCapacityUnitType").text("units") != "units"


def named_auto_scaling_group(name: Value) -> Resource | None:
    """The Auto Scaling group of the assembly that a name belongs to; None for one of elsewhere.

    Raises:
        NotKnown: what it names is not known.
    """
    found = name.resource(AUTO_SCALING_GROUP)
    if found is not None or name.reference() is not None:
        return found
    wanted = name.text()
    for group in Assembly(name.world).resources(AUTO_SCALING_GROUP):
        written = group.get("AutoScalingGroupName")
        if written.is_scalar and written.known and written.text() == wanted:
            return group
    return None
