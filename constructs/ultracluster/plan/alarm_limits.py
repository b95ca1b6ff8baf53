"""Alarms within what CloudWatch takes."""

from __future__ import annotations

from ultracluster.facts.alarms import alarm_limits
from ultracluster.findings import Finding, finding

__all__ = [
    "check_alarm_actions",
    "check_alarm_name",
    "check_composite_rule",
    "check_dimension_count",
    "check_period",
    "check_span",
]


def check_alarm_name(name: str, *, subject: str) -> tuple[Finding, ...]:
    """UC-ALM-010 for a name that is too long."""
    most = alarm_limits().name_length
    if len(name) <= most:
        return ()
    return (finding("UC-ALM-010", subject, f"{len(name)} characters, {most} are allowed", "shorten the name"),)


def check_period(seconds: int, *, subject: str) -> tuple[Finding, ...]:
    """UC-ALM-010 for a period that CloudWatch does not have."""
    limits = alarm_limits()
    if seconds in limits.short_periods_s or (seconds > 0 and seconds % limits.period_step_s == 0):
        return ()
    short = ", ".join(map(str, limits.short_periods_s))
    message = f"{seconds} s; periods are {short} s or a multiple of {limits.period_step_s} s"
    return (finding("UC-ALM-010", subject, message, "use 60 s or a multiple of it"),)


def check_span(period_s: int, evaluation_periods: int, *, subject: str) -> tuple[Finding, ...]:
    """UC-ALM-010 for an alarm that looks back too far."""
    limits = alarm_limits()
    most = limits.short_span_s if period_s < limits.long_period_s else limits.long_span_s
    if period_s * evaluation_periods <= most:
        return ()
    message = f"{evaluation_periods} periods of {period_s} s are {period_s * evaluation_periods} s, {most} are allowed"
    return (finding("UC-ALM-010", subject, message, "look at fewer or shorter periods"),)


def check_dimension_count(count: int, *, subject: str) -> tuple[Finding, ...]:
    """UC-ALM-010 for a metric with too many dimensions."""
    most = alarm_limits().dimensions
    if count <= most:
        return ()
    return (finding("UC-ALM-010", subject, f"{count} dimensions, a metric has {most}", "watch fewer dimensions"),)


def check_composite_rule(length: int, children: int, *, subject: str) -> tuple[Finding, ...]:
    """UC-ALM-010 for a composite alarm whose rule is too long or names too many alarms."""
    limits = alarm_limits()
    found: list[Finding] = []
    if length > limits.composite_rule_length:
        message = f"{length} characters, {limits.composite_rule_length} are allowed"
        found.append(
            finding("UC-ALM-010", subject, message, "put groups of alarms under composite alarms of their own")
        )
    if children > limits.composite_children:
        message = f"{children} alarms, a composite alarm takes {limits.composite_children}"
        found.append(
            finding("UC-ALM-010", subject, message, "put groups of alarms under composite alarms of their own")
        )
    return tuple(found)


def check_alarm_actions(count: int, *, subject: str) -> tuple[Finding, ...]:
    """UC-ALM-001 for a state with too many actions."""
    most = alarm_limits().actions
    if count <= most:
        return ()
    return (finding("UC-ALM-001", subject, f"{count} actions, a state takes {most}", "notify one topic for all"),)
