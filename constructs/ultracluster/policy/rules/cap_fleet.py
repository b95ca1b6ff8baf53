"""Rules on fleets that draw on reserved capacity: size, zone, policies, updates, the end of a block."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.compute_limits import limit, limit_list
from ultracluster.policy.graph.capacity import (
    CAPACITY_BLOCK,
    fleet_buys_block,
    is_block,
    reservation_of,
    segment_types,
    target_of,
)
from ultracluster.policy.graph.events import is_heard
from ultracluster.policy.graph.fleets import (
    AUTO_SCALING_GROUP,
    NODE_GROUP,
    PCS_NODE_GROUP,
    largest_size,
    named_auto_scaling_group,
)
from ultracluster.policy.graph.launch_templates import CONSUMERS, uses_of
from ultracluster.policy.graph.zones import SUBNET, same, subnets_of, zone_of_value
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_WARM_POOL = "AWS::AutoScaling::WarmPool"
_SCHEDULED = "AWS::AutoScaling::ScheduledAction"
_DRAINED_HERE = (AUTO_SCALING_GROUP, PCS_NODE_GROUP, "AWS::Batch::ComputeEnvironment")
_ZONE_KEYS = ("AvailabilityZone", "AvailabilityZoneId")
_STRICT = "capacity-reservations-only"


def _launch_templates(consumer: Resource) -> list[Resource]:
    return list(dict.fromkeys(use.launch_template for use in uses_of(consumer)))


@rule("UC-CAP-007", on=CONSUMERS)
def fleet_fits_the_block(consumer: Resource) -> Iterator[Problem]:
    """A fleet on one Capacity Block is not larger than blocks are."""
    size = largest_size(consumer)
    if size is None or not any(_is_on_one_block(found, consumer) for found in _launch_templates(consumer)):
        return
    most = limit("capacity_block_max_instances")
    if size.exists and size.integer() > most:
        message = f"{size.shown} instances do not fit one capacity block (at most {most} instances)"
        yield Problem(size, message, f"lower it to {most} or less, or add a fleet on a second block")


def _is_on_one_block(launch_template: Resource, consumer: Resource) -> bool:
    """Behind the ARN of a reservation group there may be several blocks."""
    if not target_of(launch_template)["CapacityReservationId"].exists:
        return False
    return is_block(launch_template) or fleet_buys_block(consumer)


@rule("UC-CAP-008", on=CONSUMERS)
def fleet_in_the_zone_of_its_reservation(consumer: Resource) -> Iterator[Problem]:
    """The subnets of a fleet lie in the zone of the reservation that it draws on."""
    for launch_template in _launch_templates(consumer):
        reservation = reservation_of(target_of(launch_template)["CapacityReservationId"])
        if reservation is None:
            continue
        for value in subnets_of(consumer):
            with value.judged_apart():
                if _lies_elsewhere(value, reservation):
                    yield Problem(value, f"{value.shown} does not lie in the zone of reservation {reservation}")
                    return


def _lies_elsewhere(value: Value, reservation: Resource) -> bool:
    subnet = value.resource(SUBNET)
    if subnet is None:
        raise NotKnown(f"the zone of subnet {value.shown}")
    for key in _ZONE_KEYS:
        one, other = subnet.get(key), reservation.get(key)
        if one.exists and other.exists:
            return not same(zone_of_value(one), zone_of_value(other))
    raise NotKnown(f"the zones of subnet {value.shown} and reservation {reservation}")


@rule("UC-CAP-009", on=(AUTO_SCALING_GROUP, NODE_GROUP, _WARM_POOL))
def one_launch_template_over_a_block(resource: Resource) -> Iterator[Problem]:
    """Over a Capacity Block stands no mixed policy without a distribution segment, and no warm pool."""
    if resource.type == AUTO_SCALING_GROUP:
        policy = resource.get("MixedInstancesPolicy")
        if not policy.exists:
            return
        segment = segment_types(resource)
        if CAPACITY_BLOCK in segment:
            yield from _segment_over_a_block(resource)
        elif not segment and any(is_block(found) for found in _launch_templates(resource)):
            yield Problem(policy, "a mixed instances policy over a launch template with market type capacity-block")
        return
    group, where = _warmed(resource)
    if group is not None and (fleet_buys_block(group) or any(is_block(found) for found in _launch_templates(group))):
        yield Problem(where, f"a warm pool over {group}, which draws on a Capacity Block", "leave the warm pool out")


def _warmed(resource: Resource) -> tuple[Resource | None, Value]:
    """The fleet with the warm pool, and where the pool is written."""
    if resource.type == _WARM_POOL:
        name = resource.get("AutoScalingGroupName")
        return named_auto_scaling_group(name), name
    pool = resource.get("WarmPoolConfig")
    return (resource if pool.exists and pool["Enabled"].boolean(True) else None), pool


def _segment_over_a_block(group: Resource) -> Iterator[Problem]:
    specification = group.get("CapacityReservationSpecification")
    distribution = group.get("MixedInstancesPolicy", "InstancesDistribution")
    preference = specification["CapacityReservationPreference"]
    strategy = distribution["OnDemandAllocationStrategy"]
    share = distribution["OnDemandPercentageAboveBaseCapacity"]
    if not specification.get("CapacityReservationTarget", "CapacityReservationResourceGroupArns").exists:
        message = "a segment with capacity-block, and the group names no reservation group to draw on"
        yield Problem(distribution["DistributionSegments"], message, "name its ARN in the target of the group")
    if preference.text("default") != "default":
        yield Problem(preference, f"{preference.shown} beside a distribution segment, which takes default only")
    if strategy.text("prioritized") != "prioritized":
        yield Problem(strategy, f"{strategy.shown} beside a distribution segment, which takes prioritized only")
    if share.integer(100) < 100:  # noqa: PLR2004 - percent
        yield Problem(share, f"{share.shown} % On-Demand leaves a Spot share, a distribution segment has none")


@rule("UC-CAP-011", on=_DRAINED_HERE)
def something_ends_the_work(consumer: Resource) -> Iterator[Problem]:
    """Before a Capacity Block ends something scales its fleet in, or hears of it."""
    if not consumer.assembly.is_app:
        return
    if not (fleet_buys_block(consumer) or any(is_block(found) for found in _launch_templates(consumer))):
        return
    if _is_scaled_in(consumer) or is_heard(consumer.assembly, limit_list("capacity_block_end_events")):
        return
    message = "it draws on a Capacity Block, and no scheduled action or EventBridge rule acts before the block ends"
    yield Problem(consumer, message)


def _is_scaled_in(consumer: Resource) -> bool:
    if consumer.type != AUTO_SCALING_GROUP:
        return False
    return any(
        named_auto_scaling_group(action.get("AutoScalingGroupName")) == consumer
        and 0 in (action.get("MaxSize").integer(None), action.get("DesiredCapacity").integer(None))
        for action in consumer.assembly.resources(_SCHEDULED)
    )


@rule("UC-CAP-020", on=AUTO_SCALING_GROUP)
def reserved_fleet_is_not_doubled(group: Resource) -> Iterator[Problem]:
    """An update of a fleet in reserved capacity ends instances before it starts new ones."""
    policy = group.attribute("UpdatePolicy")
    replace = policy.get("AutoScalingReplacingUpdate", "WillReplace")
    rolling = policy.get("AutoScalingRollingUpdate", "MinInstancesInService")
    if not (replace.exists or rolling.exists) or not _is_reserved_only(group):
        return
    if replace.boolean(False):
        yield Problem(replace, "the update makes a second fleet, and the reservation holds only one")
    elif rolling.integer(0) >= group.get("MaxSize").integer() > 0:
        message = (
            f"{rolling.shown} of at most {group.get('MaxSize').shown} instances stay, so new ones find no capacity"
        )
        yield Problem(rolling, message)


def _is_reserved_only(group: Resource) -> bool:
    """Whether instances of a group launch into reserved capacity or not at all."""
    specification = group.get("CapacityReservationSpecification")
    if specification["CapacityReservationPreference"].text("") == _STRICT:
        return True
    return any(_is_strict(found) for found in _launch_templates(group))


def _is_strict(launch_template: Resource) -> bool:
    if is_block(launch_template) or target_of(launch_template)["CapacityReservationId"].exists:
        return True
    specification = launch_template.get("LaunchTemplateData", "CapacityReservationSpecification")
    return specification["CapacityReservationPreference"].text("") == _STRICT
