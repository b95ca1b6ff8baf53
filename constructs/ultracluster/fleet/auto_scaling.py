"""The Auto Scaling group of a fleet: keeps the number of nodes and changes nothing on its own.

- A new launch template version reaches new nodes only. There is no update policy, so that a deployment never replaces a
  running node; to roll a fleet, drain it and terminate its nodes, or start an instance refresh.
- CloudFormation cannot suspend zone rebalancing for good. A fleet in one zone has nothing to rebalance; in a fleet over
  several zones every node suspends the process on its own group when it boots.
- The size of a fleet with `min < max` is left to whoever scales it: no desired capacity is written, so that a
  deployment does not reset it.
"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from ultracluster.fleet import defaults
from ultracluster.plan.fleet import FleetPlan
from ultracluster.plan.names import LAUNCH_HOOK, TERMINATE_HOOK
from ultracluster.plan.spot import SpotPlan

__all__ = ["auto_scaling_group", "scheduled_scale_in"]

_Group = autoscaling.CfnAutoScalingGroup
_NOTIFICATIONS = (
    "autoscaling:EC2_INSTANCE_LAUNCH",
    "autoscaling:EC2_INSTANCE_LAUNCH_ERROR",
    "autoscaling:EC2_INSTANCE_TERMINATE",
    "autoscaling:EC2_INSTANCE_TERMINATE_ERROR",
)


def auto_scaling_group(
    scope: Construct,
    *,
    plan: FleetPlan,
    name: str,
    subnet_ids: Sequence[str],
    launch_templates: Sequence[ec2.CfnLaunchTemplate],
    topic_arn: str | None,
) -> autoscaling.CfnAutoScalingGroup:
    """Make the group over the launch templates of the plan's layouts, in the same order.

    Args:
        scope: the parent; the group is its primary resource.
        plan: the fleet as decided.
        name: literal name of the group.
        subnet_ids: subnets of the fleet's zones.
        launch_templates: one per layout.
        topic_arn: topic for launches and terminations, if any.
    """
    fixed = plan.min_count == plan.max_count
    specifications = [_specification(template) for template in launch_templates]
    return _Group(
        scope,
        "Resource",
        auto_scaling_group_name=name,
        min_size=str(plan.min_count),
        max_size=str(plan.max_count),
        desired_capacity=str(plan.max_count) if fixed else None,
        vpc_zone_identifier=list(subnet_ids),
        launch_template=specifications[0] if plan.spot is None else None,
        mixed_instances_policy=None if plan.spot is None else _mixed_policy(plan.spot, specifications),
        capacity_rebalance=None if plan.spot is None else plan.spot.capacity_rebalance,
        lifecycle_hook_specification_list=[_launch_hook(), _terminate_hook()],
        metrics_collection=[_Group.MetricsCollectionProperty(granularity="1Minute")],  # all metrics: no list
        health_check_grace_period=defaults.HEALTH_CHECK_GRACE_S,
        default_instance_warmup=defaults.DEFAULT_INSTANCE_WARMUP_S,
        notification_configurations=_notifications(topic_arn),
    )


def scheduled_scale_in(
    scope: Construct, group: autoscaling.CfnAutoScalingGroup, start_time: str
) -> autoscaling.CfnScheduledAction:
    """Empty the group before its Capacity Block ends, so that nodes end their work instead of being cut off.

    Args:
        scope: the parent.
        group: the group.
        start_time: UTC, as `2027-03-01T10:55:00Z`.
    """
    return autoscaling.CfnScheduledAction(
        scope,
        "ScaleIn",
        auto_scaling_group_name=group.ref,
        start_time=start_time,
        min_size=0,
        max_size=0,
        desired_capacity=0,
    )


def _specification(
    template: ec2.CfnLaunchTemplate,
) -> autoscaling.CfnAutoScalingGroup.LaunchTemplateSpecificationProperty:
    return _Group.LaunchTemplateSpecificationProperty(
        launch_template_id=template.ref, version=template.attr_latest_version_number
    )


def _mixed_policy(
    spot: SpotPlan, specifications: Sequence[autoscaling.CfnAutoScalingGroup.LaunchTemplateSpecificationProperty]
) -> autoscaling.CfnAutoScalingGroup.MixedInstancesPolicyProperty:
    overrides = [
        _Group.LaunchTemplateOverridesProperty(
            instance_type=instance_type.name,
            # The first layout is the base template; only the others name their own.
            launch_template_specification=specification if place else None,
        )
        for place, (group, specification) in enumerate(zip(spot.groups, specifications, strict=True))
        for instance_type in group.instance_types
    ]
    return _Group.MixedInstancesPolicyProperty(
        launch_template=_Group.LaunchTemplateProperty(
            launch_template_specification=specifications[0], overrides=overrides
        ),
        instances_distribution=_Group.InstancesDistributionProperty(
            on_demand_base_capacity=spot.on_demand_base_count,
            on_demand_percentage_above_base_capacity=spot.on_demand_percentage_above_base,
            on_demand_allocation_strategy=spot.on_demand_allocation_strategy,
            spot_allocation_strategy=spot.spot_allocation_strategy,
            spot_instance_pools=spot.spot_instance_pools,
            spot_max_price=None if spot.max_price_usd is None else f"{spot.max_price_usd:g}",
        ),
    )


def _launch_hook() -> autoscaling.CfnAutoScalingGroup.LifecycleHookSpecificationProperty:
    return _Group.LifecycleHookSpecificationProperty(
        lifecycle_hook_name=LAUNCH_HOOK,
        lifecycle_transition="autoscaling:EC2_INSTANCE_LAUNCHING",
        default_result="ABANDON",
        heartbeat_timeout=defaults.LAUNCH_HOOK_TIMEOUT_S,
    )


def _terminate_hook() -> autoscaling.CfnAutoScalingGroup.LifecycleHookSpecificationProperty:
    return _Group.LifecycleHookSpecificationProperty(
        lifecycle_hook_name=TERMINATE_HOOK,
        lifecycle_transition="autoscaling:EC2_INSTANCE_TERMINATING",
        default_result="CONTINUE",
        heartbeat_timeout=defaults.TERMINATE_HOOK_TIMEOUT_S,
    )


def _notifications(
    topic_arn: str | None,
) -> list[autoscaling.CfnAutoScalingGroup.NotificationConfigurationProperty] | None:
    if topic_arn is None:
        return None
    return [_Group.NotificationConfigurationProperty(topic_arn=topic_arn, notification_types=list(_NOTIFICATIONS))]
