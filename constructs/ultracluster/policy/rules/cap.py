"""Rules on what one launch template, group or fleet says about reserved capacity."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.plan.capacity_options import CapacityBlock
from ultracluster.plan.capacity_rules import check_block_reference
from ultracluster.policy.graph.capacity import CAPACITY_BLOCK, is_block, market_type, reservation_of, target_of
from ultracluster.policy.graph.fleets import AUTO_SCALING_GROUP, EC2_FLEET
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, users_of
from ultracluster.policy.problem import Problem, from_findings
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.view import Resource

_INSTANCE = "AWS::EC2::Instance"
_SPECIFICATION = "CapacityReservationSpecification"
_STRICT = "capacity-reservations-only"
_RESERVED = (CAPACITY_BLOCK, "reserved-capacity")


@rule("UC-CAP-002", on=LAUNCH_TEMPLATE)
def block_has_its_target(launch_template: Resource) -> Iterator[Problem]:
    """Beside the market type of a Capacity Block stands the block, in the launch template or in its group."""
    if not is_block(launch_template) or _names_reservation(launch_template):
        return
    fleets = [use.consumer for use in users_of(launch_template) if use.consumer.type != _INSTANCE]
    if not fleets:
        raise NotKnown("who launches it: the call may name the block")
    if not all(_brings_target(fleet) for fleet in fleets):
        found = check_block_reference(CapacityBlock(reservation_id=""), "")
        yield from from_findings(found, lambda _: market_type(launch_template))


def _names_reservation(launch_template: Resource) -> bool:
    target = target_of(launch_template)
    return any(target[key].exists for key in ("CapacityReservationId", "CapacityReservationResourceGroupArn"))


def _brings_target(fleet: Resource) -> bool:
    """Whether an Auto Scaling group names the reservation itself; with distribution segments it always does."""
    if fleet.type != AUTO_SCALING_GROUP:
        return False
    segments = fleet.get("MixedInstancesPolicy", "InstancesDistribution", "DistributionSegments")
    return segments.exists or fleet.get(_SPECIFICATION, "CapacityReservationTarget").exists


@rule("UC-CAP-003", on=LAUNCH_TEMPLATE)
def reservation_without_market_type(launch_template: Resource) -> Iterator[Problem]:
    """A launch into an On-Demand reservation has no other market type."""
    market = market_type(launch_template)
    reserved = target_of(launch_template)["CapacityReservationId"]
    if not market.exists or not reserved.exists:
        return
    reservation = reservation_of(reserved)
    if reservation is not None and market.text() in {CAPACITY_BLOCK, "spot"}:
        yield Problem(market, f"{market.shown} with {reservation}, which is an On-Demand reservation")


@rule("UC-CAP-004", on=(LAUNCH_TEMPLATE, AUTO_SCALING_GROUP))
def target_or_preference(resource: Resource) -> Iterator[Problem]:
    """Beside a target stands no preference that excludes it."""
    is_template = resource.type == LAUNCH_TEMPLATE
    specification = resource.get(*(["LaunchTemplateData"] if is_template else []), _SPECIFICATION)
    preference = specification["CapacityReservationPreference"]
    if not preference.exists or not specification["CapacityReservationTarget"].exists:
        return
    excluded = preference.text() != _STRICT if is_template else preference.text() in {"none", "open"}
    if excluded:
        yield Problem(preference, f"{preference.shown} beside a target, EC2 takes one or the other")


@rule("UC-CAP-005", on=LAUNCH_TEMPLATE)
def group_arn_inside_the_target(launch_template: Resource) -> Iterator[Problem]:
    """The ARN of a reservation group stands below CapacityReservationTarget."""
    arn = launch_template.get("LaunchTemplateData", _SPECIFICATION, "CapacityReservationResourceGroupArn")
    if arn.exists:
        yield Problem(arn, "the ARN stands beside the target, the API has it inside CapacityReservationTarget only")


@rule("UC-CAP-021", on=EC2_FLEET)
def fleet_into_reserved_capacity(fleet: Resource) -> Iterator[Problem]:
    """A fleet that draws on reserved capacity is an instant one, on a block for all of its target."""
    target = fleet.get("TargetCapacitySpecification")
    kind = target["DefaultTargetCapacityType"]
    if kind.text("on-demand") not in _RESERVED:
        return
    written = fleet.get("Type")
    if written.text("maintain") != "instant":
        shown = written.shown if written.exists else "maintain, the default,"
        message = f"{shown} with {kind.shown}, EC2 launches it in an instant fleet only"
        yield Problem(written if written.exists else kind, message)
    for name in ("OnDemandTargetCapacity", "SpotTargetCapacity") if kind.text() == CAPACITY_BLOCK else ():
        if target[name].integer(0):
            yield Problem(target[name], f"{target[name].shown} beside capacity-block, which is all of the target")
