"""A planned alarm as a CloudFormation resource; few crossings into the CDK, because a cluster has hundreds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from ultracluster.plan.alarms import AlarmPlan
from ultracluster.plan.metric_refs import FILE_SYSTEM, MetricRef

__all__ = ["alarm_arns", "metric_alarm"]

_Query = cloudwatch.CfnAlarm.MetricDataQueryProperty
_Dimensions = list[cloudwatch.CfnAlarm.DimensionProperty]


def metric_alarm(
    scope: Construct, plan: AlarmPlan, *, actions: Sequence[str], file_system_id: str = ""
) -> cloudwatch.CfnAlarm:
    """The alarm; its id in the scope follows from the table.

    Args:
        scope: the parent.
        plan: what to watch.
        actions: ARNs that are told when it fires and when it is over.
        file_system_id: replaces the placeholder of the plan.
    """
    facts = plan.facts
    only = plan.metrics[0][1] if plan.expression is None else None
    return cloudwatch.CfnAlarm(
        scope,
        "".join(word.title() for word in facts.id.split("-")),
        alarm_name=plan.name,
        alarm_description=plan.description,
        comparison_operator=facts.comparison,
        evaluation_periods=facts.evaluation_periods,
        datapoints_to_alarm=facts.datapoints,
        threshold=plan.threshold,
        treat_missing_data=facts.missing_data,
        alarm_actions=list(actions),
        ok_actions=list(actions),
        namespace=only.namespace if only else None,
        metric_name=only.name if only else None,
        dimensions=_dimensions(only, file_system_id) if only else None,
        statistic=only.statistic if only else None,
        period=facts.period_s if only else None,
        metrics=None if only else _queries(plan, file_system_id),
    )


def alarm_arns(stack: cdk.Stack, names: Iterable[str]) -> tuple[str, ...]:
    """ARNs of alarms by their literal names: nothing refers to the resources, so lists of alarms stay short."""
    prefix = stack.format_arn(
        service="cloudwatch", resource="alarm", resource_name="", arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
    )
    return tuple(prefix + name for name in names)


def _queries(plan: AlarmPlan, file_system_id: str) -> list[_Query]:
    period = plan.facts.period_s
    queries = [
        _Query(
            id=name,
            return_data=False,
            metric_stat=cloudwatch.CfnAlarm.MetricStatProperty(
                metric=cloudwatch.CfnAlarm.MetricProperty(
                    namespace=metric.namespace,
                    metric_name=metric.name,
                    dimensions=_dimensions(metric, file_system_id),
                ),
                period=period,
                stat=metric.statistic,
            ),
        )
        for name, metric in plan.metrics
    ]
    expression = (plan.expression or "").replace(FILE_SYSTEM, file_system_id)
    return [
        _Query(
            id="result",
            expression=expression,
            period=None if plan.metrics else period,
        ),
        *queries,
    ]


def _dimensions(metric: MetricRef, file_system_id: str) -> _Dimensions:
    return [
        cloudwatch.CfnAlarm.DimensionProperty(name=name, value=value.replace(FILE_SYSTEM, file_system_id))
        for name, value in metric.dimensions
    ]
