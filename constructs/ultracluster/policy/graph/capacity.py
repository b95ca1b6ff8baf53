"""What launch templates and fleets say about capacity: market types, Capacity Blocks, reservations."""

from __future__ import annotations

from ultracluster.policy.graph.fleets import AUTO_SCALING_GROUP, EC2_FLEET, NODE_GROUP, PCS_NODE_GROUP
from ultracluster.policy.graph.launch_templates import users_of
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = [
    "CAPACITY_BLOCK",
    "RESERVATION",
    "buys_block",
    "fleet_buys_block",
    "is_block",
    "market_type",
    "reservation_of",
    "segment_types",
    "target_of",
]

RESERVATION = "AWS::EC2::CapacityReservation"
CAPACITY_BLOCK = "capacity-block"
_OPTIONS = {NODE_GROUP: "CapacityType", PCS_NODE_GROUP: "PurchaseOption"}


def market_type(launch_template: Resource) -> Value:
    """InstanceMarketOptions.MarketType."""
    return launch_template.get("LaunchTemplateData", "InstanceMarketOptions", "MarketType")


def is_block(launch_template: Resource) -> bool:
    """Whether a launch template has the market type of a Capacity Block.

    Raises:
        NotKnown: its market type is not known.
    """
    return market_type(launch_template).text("") == CAPACITY_BLOCK


def target_of(launch_template: Resource) -> Value:
    """CapacityReservationTarget of a launch template."""
    return launch_template.get("LaunchTemplateData", "CapacityReservationSpecification", "CapacityReservationTarget")


def segment_types(group: Resource) -> list[str]:
    """Capacity types of the distribution segment of an Auto Scaling group; none without one.

    Raises:
        NotKnown: they are not known.
    """
    distribution = group.get("MixedInstancesPolicy", "InstancesDistribution")
    segments = distribution["DistributionSegments"].items()
    return [kind.text() for segment in segments for kind in segment["TargetCapacityTypes"].items()]


@remembered
def fleet_buys_block(consumer: Resource) -> bool:
    """Whether a fleet itself, apart from its launch templates, draws on a Capacity Block.

    Raises:
        NotKnown: its purchase option is not known.
    """
    option = _OPTIONS.get(consumer.type)
    if option is not None:
        return consumer.get(option).text("") == "CAPACITY_BLOCK"
    if consumer.type == EC2_FLEET:
        return consumer.get("TargetCapacitySpecification", "DefaultTargetCapacityType").text("") == CAPACITY_BLOCK
    return consumer.type == AUTO_SCALING_GROUP and CAPACITY_BLOCK in segment_types(consumer)


@remembered
def buys_block(launch_template: Resource) -> bool:
    """Whether a launch template, or a fleet that launches it, draws on a Capacity Block.

    Raises:
        NotKnown: none is known to, and one is not known.
    """
    if is_block(launch_template):
        return True
    return any(fleet_buys_block(use.consumer) for use in users_of(launch_template))


def reservation_of(value: Value) -> Resource | None:
    """The reservation of the assembly that an id or ARN names; None for one that is made elsewhere."""
    try:
        return value.resource(RESERVATION)
    except NotKnown:
        return None  # a parameter, an import: whatever it is, no template at hand makes it
