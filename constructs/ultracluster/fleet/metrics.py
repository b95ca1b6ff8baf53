"""Metrics of a fleet. Nothing is made before somebody asks: alarms and dashboards are written from plain names."""

from __future__ import annotations

from aws_cdk import aws_cloudwatch as cloudwatch

__all__ = ["group_metric", "node_metric"]


def group_metric(auto_scaling_group_name: str, metric_name: str, *, statistic: str = "Minimum") -> cloudwatch.Metric:
    """A metric that the Auto Scaling group publishes itself, for example `GroupInServiceInstances`.

    Args:
        auto_scaling_group_name: literal name of the group.
        metric_name: the name of the metric.
        statistic: the smallest value of a period by default, so that a dip of the group is not averaged away.
    """
    return cloudwatch.Metric(
        namespace="AWS/AutoScaling",
        metric_name=metric_name,
        dimensions_map={"AutoScalingGroupName": auto_scaling_group_name},
        statistic=statistic,
    )


def node_metric(
    namespace: str, auto_scaling_group_name: str, metric_name: str, *, statistic: str = "Average"
) -> cloudwatch.Metric:
    """A metric that the agent on the nodes publishes, aggregated over the fleet.

    Args:
        namespace: the namespace of the fleet's agent.
        auto_scaling_group_name: literal name of the group, the only dimension of the aggregate.
        metric_name: the name of the metric.
        statistic: the mean over nodes and time by default.
    """
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=metric_name,
        dimensions_map={"AutoScalingGroupName": auto_scaling_group_name},
        statistic=statistic,
    )
