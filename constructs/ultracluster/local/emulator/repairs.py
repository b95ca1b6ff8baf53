"""What MiniStack implements but reads back incompletely: launch templates, groups, alarms, instance profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ultracluster.local.constraints import service_shape
from ultracluster.local.emulator.internals import handlers, part, replace
from ultracluster.local.emulator.wire import render

__all__ = ["install_repairs"]

_MATH = "metric math"
_CREATE_ARGUMENTS = 3
_ANSWER_SECONDS = 30
"""How long the function of a custom resource may take; what runs here takes a few seconds."""
Answer = tuple[int, dict[str, str], bytes]


def install_repairs() -> None:
    """Exchange the functions; once per process."""
    part("services.ec2")._lt_data_xml = _launch_template_data
    groups = part("services.autoscaling")
    groups._ACTION_MAP["DescribeAutoScalingGroups"] = _described(groups._ACTION_MAP["DescribeAutoScalingGroups"])
    replace("_asg_fields", _group_fields)
    replace("_cw_metric_alarm_record", _alarm_record)
    table = handlers()
    for step in ("create", "update"):
        table["AWS::AutoScaling::AutoScalingGroup"][step] = _group(table["AWS::AutoScaling::AutoScalingGroup"][step])
    _name_profiles(table["AWS::IAM::InstanceProfile"])
    functions = part("services.cloudformation.custom_resource")
    functions.invoke_custom_resource = _bounded(functions.invoke_custom_resource)


def _launch_template_data(data: Mapping[str, Any]) -> str:
    """Every member of the data as `DescribeLaunchTemplateVersions` shows it; MiniStack knows a few of them."""
    return render(service_shape("ec2", "ResponseLaunchTemplateData"), data)


def _group_fields(original: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    def fields(properties: Mapping[str, Any]) -> dict[str, Any]:
        least, most = int(properties.get("MinSize", 0)), int(properties.get("MaxSize", 0))
        desired = int(properties.get("DesiredCapacity", least))
        if least > most:
            raise ValueError(f"MinSize: {least} is more than MaxSize {most}")
        if not least <= desired <= most:
            raise ValueError(f"DesiredCapacity: {desired} is not between MinSize {least} and MaxSize {most}")
        kept = original(properties)
        kept["MixedInstancesPolicy"] = properties.get("MixedInstancesPolicy")
        kept["CapacityRebalance"] = properties.get("CapacityRebalance")
        kept["MetricsCollection"] = properties.get("MetricsCollection")
        return kept

    return fields


def _group(original: Callable[..., tuple[str, dict[str, Any]]]) -> Callable[..., tuple[str, dict[str, Any]]]:
    """Life-cycle hooks given inside the group, and one listed instance per unit of desired capacity."""

    def made(*arguments: Any) -> tuple[str, dict[str, Any]]:
        name, attributes = original(*arguments)
        # A create is called with (logical id, properties, stack), an update with (id, old, new properties, ...).
        properties = arguments[1 if len(arguments) == _CREATE_ARGUMENTS else 2]
        groups = part("services.autoscaling")
        for hook in properties.get("LifecycleHookSpecificationList") or ():
            groups._hooks[f"{name}/{hook['LifecycleHookName']}"] = groups._hook_record(
                name, hook["LifecycleHookName"], hook
            )
        groups._reconcile_instances(groups._asgs[name])
        return name, attributes

    return made


def _described(original: Callable[[Any], Answer]) -> Callable[[Any], Answer]:
    def described(parameters: Any) -> Answer:
        status, headers, body = original(parameters)
        text = body.decode()
        for name, group in part("services.autoscaling")._asgs.items():
            added = {
                key: group[key] for key in ("MixedInstancesPolicy", "CapacityRebalance") if group.get(key) is not None
            }
            if added:
                head = f"<AutoScalingGroupName>{name}</AutoScalingGroupName>"
                text = text.replace(head, head + render(service_shape("autoscaling", "AutoScalingGroup"), added), 1)
        return status, headers, text.encode()

    return described


def _alarm_record(original: Callable[[str, Any], dict[str, Any]]) -> Callable[[str, Any], dict[str, Any]]:
    """Alarms over an expression: kept and shown, but never evaluated: they stay in `INSUFFICIENT_DATA`."""

    def record(name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
        metrics = properties.get("Metrics")
        if not metrics:
            return original(name, properties)
        plain = {key: value for key, value in properties.items() if key not in ("Metrics", "ThresholdMetricId")}
        kept = original(name, {"Threshold": 0, **plain, "MetricName": _MATH, "Namespace": _MATH})
        kept["Metrics"] = [{"ReturnData": True, **metric} for metric in metrics]
        kept["ThresholdMetricId"] = properties.get("ThresholdMetricId")
        absent = ("MetricName", "Namespace", "Statistic", "Period")
        return {key: value for key, value in kept.items() if value is not None and key not in absent}

    return record


def _name_profiles(table: dict[str, Any]) -> None:
    """`Ref` of an instance profile is its name; MiniStack returns its ARN."""
    create, update, delete = table["create"], table["update"], table["delete"]
    profiles = part("services.iam")._instance_profiles

    def arn(name: str) -> str:
        return str(profiles[name]["Arn"]) if name in profiles else name

    def named(made: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
        return made[0].rpartition("/")[2], made[1]

    table["create"] = lambda *arguments: named(create(*arguments))
    table["update"] = lambda identifier, *rest: named(update(arn(identifier), *rest))
    table["delete"] = lambda identifier, properties: delete(arn(identifier), properties)


def _bounded(original: Callable[..., Any]) -> Callable[..., Any]:
    """A custom resource whose function does not answer fails soon and says why; on AWS it would take an hour."""

    def invoked(request: str, logical_id: str, properties: Mapping[str, Any], *rest: Any, **named: Any) -> Any:
        try:
            return original(request, logical_id, {**properties, "ServiceTimeout": _ANSWER_SECONDS}, *rest, **named)
        except TimeoutError as error:
            raise ValueError(
                f"the function of custom resource {logical_id} did not answer within {_ANSWER_SECONDS} s: the embedded"
                " AWS runs functions that bring everything they import, and has no AWS SDK for them"
            ) from error

    return invoked
