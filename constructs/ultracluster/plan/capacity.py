"""What the launch template and the Auto Scaling group say about capacity, decided from the purchase option."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from ultracluster.findings import raise_if_errors
from ultracluster.plan.capacity_options import Capacity, CapacityBlock, OnDemand, Reservation, Spot
from ultracluster.plan.capacity_rules import capacity_findings, scale_in_lead
from ultracluster.plan.decision import Decision
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.facts.instances import InstanceType
    from ultracluster.findings import Finding

__all__ = [
    "Capacity",
    "CapacityBlock",
    "CapacityKind",
    "CapacityPlan",
    "CapacityRequest",
    "OnDemand",
    "Reservation",
    "Spot",
    "check_capacity",
    "plan_capacity",
    "scale_in_lead",
]

CapacityKind = Literal["on-demand", "reservation", "capacity-block", "spot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRequest:
    """What is asked of the capacity of one fleet.

    Attributes:
        capacity: the purchase option.
        instance_types: facts of the types.
        min_count: fewest instances.
        max_count: most instances.
        region: the Region; None when it is not known, then what depends on it is not judged.
        availability_zones: names of the zones.
        now: the time to hold ends against; None judges no end as past.
    """

    capacity: Capacity
    instance_types: tuple[InstanceType, ...]
    min_count: int
    max_count: int
    region: str | None = None
    availability_zones: tuple[str, ...] = ()
    now: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityPlan:
    """What the launch template and the Auto Scaling group say about capacity.

    Attributes:
        kind: the purchase option.
        market_type: InstanceMarketOptions.MarketType of the launch template; None leaves InstanceMarketOptions out.
            Spot never stands here: it comes through the mixed instances policy, and the two exclude each other.
        reservation_id: CapacityReservationTarget.CapacityReservationId of the launch template.
        resource_group_arn: CapacityReservationTarget.CapacityReservationResourceGroupArn, inside the target.
        preference: CapacityReservationPreference beside the target; the only one that may stand there.
        fixed_size: whether minimum and maximum must stay equal.
        size: instances reserved, when it is known.
        end: when the capacity ends, in UTC.
        scale_in_at: when to scale to 0, once and without recurrence, in UTC.
        quota_code: the EC2 vCPU quota that the fleet counts against; None when it counts against none.
        spot: the Spot settings of a Spot fleet.
        decisions: why it looks like this.
        warnings: findings that do not stop the plan.
    """

    kind: CapacityKind
    market_type: Literal["capacity-block"] | None = None
    reservation_id: str | None = None
    resource_group_arn: str | None = None
    preference: Literal["capacity-reservations-only"] | None = None
    fixed_size: bool = False
    size: int | None = None
    end: datetime | None = None
    scale_in_at: datetime | None = None
    quota_code: str | None = None
    spot: Spot | None = None
    decisions: tuple[Decision, ...] = ()
    warnings: tuple[Finding, ...] = ()

    @property
    def scale_in_start_time(self) -> str | None:
        """`scale_in_at` as a scheduled action wants it, for example `2027-03-01T10:55:00Z`."""
        return None if self.scale_in_at is None else self.scale_in_at.strftime("%Y-%m-%dT%H:%M:%SZ")


def check_capacity(request: CapacityRequest, *, subject: str) -> tuple[Finding, ...]:
    """All faults of a capacity request; those of Spot settings are found by `plan.spot`.

    Args:
        request: what is asked.
        subject: the fleet's path in the user's terms.
    """
    return capacity_findings(request, subject)


def plan_capacity(request: CapacityRequest, *, subject: str) -> CapacityPlan:
    """Decide market type, reservation target, size and scheduled scale-in.

    Args:
        request: what is asked.
        subject: the fleet's path in the user's terms.

    Raises:
        FindingsError: UC-CAP-001, 002, 006, 007, 009, 012, 018 or UC-API-102, 103, 115.
    """
    warnings = raise_if_errors(check_capacity(request, subject=subject))
    return replace(_decide(request, subject), warnings=warnings)


def _decide(request: CapacityRequest, subject: str) -> CapacityPlan:
    first = request.instance_types[0]
    match request.capacity:
        case CapacityBlock() as block:
            return _block(request, block, subject)
        case Reservation() as reservation:
            # Reserved instances count against the On-Demand quota; a block counts against none.
            return replace(_reservation(reservation, subject), quota_code=first.quota_on_demand)
        case Spot() as spot:
            because = "the mixed instances policy asks for Spot; the launch template must not ask for it too"
            decisions = (Decision(subject=f"{subject}.capacity", value="Spot", because=because),)
            return CapacityPlan(kind="spot", spot=spot, quota_code=first.quota_spot, decisions=decisions)
        case OnDemand():
            because = "no reservation, block or Spot asked for"
            decisions = (Decision(subject=f"{subject}.capacity", value="On-Demand", because=because),)
            return CapacityPlan(kind="on-demand", quota_code=first.quota_on_demand, decisions=decisions)


def _block(request: CapacityRequest, block: CapacityBlock, subject: str) -> CapacityPlan:
    end = None if block.end is None else block.end.astimezone(UTC)
    lead = scale_in_lead(request.instance_types)
    plan = CapacityPlan(
        kind="capacity-block",
        market_type="capacity-block",
        reservation_id=block.reservation_id,
        fixed_size=True,
        size=block.size,
        end=end,
        scale_in_at=None if end is None else end - lead,
        decisions=(
            Decision(
                subject=f"{subject}.capacity",
                value=f"Capacity Block {block.reservation_id}, fixed at {request.max_count} instances",
                because="a block needs its market type and its id together, takes no placement group, has one size",
            ),
        ),
    )
    if end is None:
        return plan
    scheduled = Decision(
        subject=f"{subject}.capacity.end",
        value=f"scale to 0 at {plan.scale_in_start_time}",
        because=f"{lead // timedelta(minutes=1)} minutes before the end, before EC2 takes the instances away",
    )
    return replace(plan, decisions=(*plan.decisions, scheduled))


def _reservation(reservation: Reservation, subject: str) -> CapacityPlan:
    group = reservation.resource_group_arn
    if group is None:
        because = "named by its id, so launches beyond it fail; a reservation takes no market type"
    elif reservation.strict:
        because = "reserved instances only: beyond the group of reservations a launch fails instead of costing more"
    else:
        because = "strict is off: beyond the group of reservations launches become plain On-Demand instances"
    value = f"On-Demand reservation {reservation.reservation_id or group}"
    return CapacityPlan(
        kind="reservation",
        reservation_id=reservation.reservation_id,
        resource_group_arn=group,
        preference="capacity-reservations-only" if group is not None and reservation.strict else None,
        size=reservation.size,
        decisions=(Decision(subject=f"{subject}.capacity", value=value, because=because),),
    )
