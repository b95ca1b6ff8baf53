"""Which fleets buy Spot instances, and how."""

from __future__ import annotations

from collections.abc import Hashable

from ultracluster.policy.graph.capacity import market_type
from ultracluster.policy.graph.fleets import AUTO_SCALING_GROUP, EC2_FLEET, SPOT_FLEET
from ultracluster.policy.graph.launch_templates import uses_of
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = ["buys_spot", "distribution", "named_in", "overrides", "policy_launch_templates"]

_WHOLE = 100  # percent


def distribution(group: Resource) -> Value:
    """InstancesDistribution of an Auto Scaling group."""
    return group.get("MixedInstancesPolicy", "InstancesDistribution")


def overrides(group: Resource) -> list[Value]:
    """The overrides of its mixed instances policy.

    Raises:
        NotKnown: the list is not known.
    """
    return group.get("MixedInstancesPolicy", "LaunchTemplate", "Overrides").items()


def policy_launch_templates(group: Resource) -> list[Value]:
    """Every specification of a launch template in its policy: the base one, then those of overrides."""
    base = group.get("MixedInstancesPolicy", "LaunchTemplate", "LaunchTemplateSpecification")
    own = [entry["LaunchTemplateSpecification"] for entry in overrides(group)]
    return [value for value in (base, *own) if value.exists]


def named_in(specification: Value) -> Hashable:
    """Equal for two specifications that certainly name the same launch template, whatever the version."""
    return tuple(specification[key].symbol() for key in ("LaunchTemplateId", "LaunchTemplateName"))


@remembered
def buys_spot(consumer: Resource) -> bool:
    """Whether a group or fleet that leaves Spot to its owner buys Spot instances.

    Node groups, Batch and PCS manage Spot themselves and count as none.

    Raises:
        NotKnown: it cannot be told.
    """
    if consumer.type == SPOT_FLEET:
        return True
    if consumer.type == EC2_FLEET:
        target = consumer.get("TargetCapacitySpecification")
        return target["DefaultTargetCapacityType"].text("") == "spot" or target["SpotTargetCapacity"].integer(0) > 0
    if consumer.type != AUTO_SCALING_GROUP:
        return False
    if consumer.get("MixedInstancesPolicy").exists:
        return distribution(consumer)["OnDemandPercentageAboveBaseCapacity"].integer(_WHOLE) < _WHOLE
    return any(market_type(use.launch_template).text("") == "spot" for use in uses_of(consumer))
