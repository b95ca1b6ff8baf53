"""`fleets[].capacity`: how the instances are bought, one model per kind."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ultracluster.spec.base import SpecModel
from ultracluster.spec.forms import Moment, PlacementGroupName, ReservationId, ResourceGroupArn
from ultracluster.spec.keys import KeyRule, exactly_one

__all__ = ["CapacityBlockSpec", "CapacitySpec", "OnDemandSpec", "ReservationSpec", "SpotSpec"]

Percent = Annotated[int, Field(ge=0, le=100)]
Nodes = Annotated[int, Field(ge=1)]


class OnDemandSpec(SpecModel):
    """Plain On-Demand instances: paid by the second, no promise that they can be had."""

    kind: Literal["on-demand"] = Field(default="on-demand", description="Kind of capacity.")


class ReservationSpec(SpecModel):
    """An On-Demand Capacity Reservation, by its id or through a resource group of reservations."""

    key_rules: ClassVar[tuple[KeyRule, ...]] = (
        exactly_one("reservation_id", "resource_group_arn", example="reservation_id: cr-0a1b2c3d4e5f60718"),
    )

    kind: Literal["reservation"] = Field(description="Kind of capacity.")
    reservation_id: ReservationId | None = Field(
        default=None, description="Id of the reservation.", examples=["cr-0a1b2c3d4e5f60718"]
    )
    resource_group_arn: ResourceGroupArn | None = Field(
        default=None,
        description="ARN of a resource group that holds reservations; instances go where one has room.",
        examples=["arn:aws:resource-groups:us-east-1:111122223333:group/training"],
    )
    placement_group: PlacementGroupName | None = Field(
        default=None,
        description="Placement group of the reservation. A reservation made without one serves instances outside any "
        "group, and one made with a group only instances inside it.",
        examples=["training-a"],
    )
    size: Nodes | None = Field(
        default=None, description="Instances in the reservation; with it, fleets that ask for more are refused here."
    )


class CapacityBlockSpec(SpecModel):
    """A Capacity Block for ML: bought in advance for a fixed time, placed close together by EC2."""

    kind: Literal["capacity-block"] = Field(description="Kind of capacity.")
    reservation_id: ReservationId = Field(
        description="Id of the Capacity Block; it looks like that of any reservation, so the kind has to be stated.",
        examples=["cr-0a1b2c3d4e5f60718"],
    )
    size: Nodes | None = Field(
        default=None, description="Instances in the block; with it, fleets that ask for more are refused here."
    )
    end: Moment | None = Field(
        default=None,
        description="When the block ends, as date and time with its zone. With it the fleet is scaled in 35 minutes "
        "before, ahead of EC2, which terminates instances from 30 minutes before the end.",
        examples=["2027-03-15T11:30:00Z"],
    )


class SpotSpec(SpecModel):
    """Spot instances, over one or several types and zones."""

    kind: Literal["spot"] = Field(description="Kind of capacity.")
    on_demand_base_count: int = Field(
        default=0, ge=0, description="Instances of the fleet that are On-Demand before any Spot instance is started."
    )
    on_demand_percentage_above_base: Percent = Field(
        default=0, description="Per cent of the instances above the base that are On-Demand."
    )
    allocation_strategy: Literal[
        "price-capacity-optimized", "capacity-optimized", "capacity-optimized-prioritized", "lowest-price"
    ] = Field(
        default="price-capacity-optimized",
        description="How Spot pools are chosen. The default weighs the depth of a pool before its price, which gives "
        "the fewest interruptions for the money; lowest-price picks the pools that are interrupted first.",
    )
    max_price_usd: float | None = Field(
        default=None,
        gt=0,
        description="Most USD per instance hour; default: the On-Demand price, which interrupts least.",
    )


CapacitySpec = Annotated[OnDemandSpec | ReservationSpec | CapacityBlockSpec | SpotSpec, Field(discriminator="kind")]
"""One of the kinds, chosen by `kind`."""
