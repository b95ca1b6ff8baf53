"""Rules on cost: what runs idle, what nobody pays attention to, what outlives its use."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.cost_rules import cost_rule_facts
from ultracluster.policy.graph.capacity import RESERVATION, fleet_buys_block, is_block, target_of
from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.fleets import (
    AUTO_SCALING_GROUP,
    NODE_GROUP,
    PCS_NODE_GROUP,
    largest_size,
    named_auto_scaling_group,
)
from ultracluster.policy.graph.interfaces import is_launched
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, users_of, uses_of
from ultracluster.policy.graph.launched_types import has_accelerators, launched_types
from ultracluster.policy.graph.spot import buys_spot
from ultracluster.policy.graph.world_access import is_exported
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_BATCH = "AWS::Batch::ComputeEnvironment"
_FLOORS: dict[str, tuple[tuple[str, ...], ...]] = {
    AUTO_SCALING_GROUP: (("MinSize",), ("DesiredCapacity",)),
    NODE_GROUP: (("ScalingConfig", "MinSize"), ("ScalingConfig", "DesiredSize")),
    PCS_NODE_GROUP: (("ScalingConfiguration", "MinInstanceCount"),),
    _BATCH: (("ComputeResources", "MinvCpus"), ("ComputeResources", "DesiredvCpus")),
}
# Who buys otherwise than On-Demand says so here.
_PURCHASE: dict[str, tuple[tuple[str, ...], str]] = {
    NODE_GROUP: (("CapacityType",), "ON_DEMAND"),
    PCS_NODE_GROUP: (("PurchaseOption",), "ONDEMAND"),
    _BATCH: (("ComputeResources", "Type"), "EC2"),
}
_INFRASTRUCTURE = "AWS::ImageBuilder::InfrastructureConfiguration"
_SCHEDULED = "AWS::AutoScaling::ScheduledAction"
_RESERVED_ONLY = "capacity-reservations-only"


@rule("UC-CST-001", on=tuple(_FLOORS))
def no_idle_accelerators(fleet: Resource) -> Iterator[Problem]:
    """An On-Demand fleet of accelerators shrinks to nothing."""
    for keys in _FLOORS[fleet.type]:
        floor = fleet.get(*keys)
        with floor.judged_apart():
            if floor.exists and floor.integer() > 0:
                if has_accelerators(fleet) and not _is_paid_otherwise(fleet) and not _is_emptied(fleet):
                    unit = "vCPUs" if fleet.type == _BATCH else "instances"
                    types = ", ".join(value.shown for value in launched_types(fleet))
                    yield Problem(floor, f"{floor.shown} {unit} of {types} run, and are billed, without a job")
                return


def _is_paid_otherwise(fleet: Resource) -> bool:
    """Whether the instances are Spot, or reserved and so paid in any case."""
    if fleet.type in _PURCHASE:
        keys, on_demand = _PURCHASE[fleet.type]
        if fleet.get(*keys).text(on_demand).upper() != on_demand:
            return True
    elif buys_spot(fleet):
        return True
    if fleet_buys_block(fleet) or _is_reserved(fleet.get("CapacityReservationSpecification")):
        return True
    templates = dict.fromkeys(use.launch_template for use in uses_of(fleet))
    return any_known(templates, _draws_on_reservation) or _may_use_an_open_one(fleet)


def _is_reserved(specification: Value) -> bool:
    if specification["CapacityReservationTarget"].exists:
        return True
    return specification["CapacityReservationPreference"].text("").startswith("capacity-reservations-")


def _draws_on_reservation(launch_template: Resource) -> bool:
    specification = launch_template.get("LaunchTemplateData", "CapacityReservationSpecification")
    return is_block(launch_template) or target_of(launch_template).exists or _is_reserved(specification)


def _may_use_an_open_one(fleet: Resource) -> bool:
    """Whether the assembly reserves a type of the fleet for whoever launches it."""
    reserved = {each.get("InstanceType").symbol() for each in fleet.assembly.resources(RESERVATION)}
    return any(value.symbol() in reserved for value in launched_types(fleet))


def _is_emptied(fleet: Resource) -> bool:
    """Whether a scheduled action brings the fleet to nothing."""
    actions = fleet.referrers(_SCHEDULED) if fleet.type == AUTO_SCALING_GROUP else []
    return any(
        named_auto_scaling_group(action.get("AutoScalingGroupName")) == fleet
        and 0 in (action.get("MinSize").integer(None), action.get("MaxSize").integer(None))
        for action in actions
    )


@rule("UC-CST-009", on=LAUNCH_TEMPLATE)
def detailed_monitoring_of_few(launch_template: Resource) -> Iterator[Problem]:
    """Large fleets have no detailed monitoring."""
    enabled = launch_template.get("LaunchTemplateData", "Monitoring", "Enabled")
    if not enabled.boolean(False):
        return
    least = cost_rule_facts().detailed_monitoring_nodes
    for consumer in dict.fromkeys(use.consumer for use in users_of(launch_template)):
        size = largest_size(consumer)
        with enabled.judged_apart():
            if size is not None and size.exists and size.integer() >= least:
                message = f"detailed monitoring of up to {size.shown} instances of {consumer}, billed per metric"
                yield Problem(enabled, message)
                return


@rule("UC-CST-010", on=(LAUNCH_TEMPLATE, _INFRASTRUCTURE))
def nothing_outlives_its_job(resource: Resource) -> Iterator[Problem]:
    """Build hosts end with their build, volumes with their node."""
    if resource.type == _INFRASTRUCTURE:
        for key in ("TerminateInstanceOnFailure", "TerminateInstanceOnCompletion"):
            value = resource.get(key)
            with value.judged_apart():
                if not value.boolean(True):
                    yield Problem(value, f"{value.shown}: the build host stays, and is billed, until somebody ends it")
        return
    if not is_launched(resource):
        return  # an instance by itself may keep state
    for mapping in resource.get("LaunchTemplateData", "BlockDeviceMappings").items():
        value = mapping.get("Ebs", "DeleteOnTermination")
        with value.judged_apart():
            if not value.boolean(True):
                yield Problem(value, f"{value.shown}: each node that is replaced leaves a volume behind")
                return


@rule("UC-CST-011", on=RESERVATION)
def reservations_end(reservation: Resource) -> Iterator[Problem]:
    """A capacity reservation has an end, and somebody who uses it."""
    kind, end = reservation.get("EndDateType"), reservation.get("EndDate")
    with kind.judged_apart():
        if kind.text("unlimited") != "limited" or not end.exists:
            where: Value | Resource = kind if kind.exists else reservation
            how = f"EndDateType {kind.shown}" if kind.exists else "unlimited by default"
            yield Problem(where, f"{how} without an end: billed, used or not, until somebody cancels it")
    criteria = reservation.get("InstanceMatchCriteria")
    if criteria.text("open") == "targeted" and not reservation.referrers() and not is_exported(reservation):
        yield Problem(criteria, "targeted, and no fleet, output or export names it: nothing can run in it")
