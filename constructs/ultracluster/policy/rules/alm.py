"""Rules on alarms themselves: that they do something, say what missing data means, and can be made at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ultracluster.facts.log_retention import retention_days
from ultracluster.plan.alarm_limits import (
    check_alarm_actions,
    check_alarm_name,
    check_composite_rule,
    check_dimension_count,
    check_period,
    check_span,
)
from ultracluster.policy.graph.alarms import ALARM, COMPOSITE, is_in_outputs, watched_metrics
from ultracluster.policy.graph.alarms_as_written import acts_plainly, decides_plainly, fits_plainly
from ultracluster.policy.graph.event_patterns import event_pattern, texts_of
from ultracluster.policy.graph.events import EVENT_RULE
from ultracluster.policy.problem import Problem, from_findings
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_ACTIONS = ("AlarmActions", "OKActions", "InsufficientDataActions")
_DASHBOARD = "AWS::CloudWatch::Dashboard"
_HEARTBEAT = re.compile(r"heart.?beat|keep.?alive|is.?alive", re.IGNORECASE)
_CHILD = re.compile(r"\b(?:ALARM|OK|INSUFFICIENT_DATA)\s*\(")


def _at(where: Value) -> Callable[[str], Value]:
    """The same place for every finding."""
    return lambda _: where


@rule("UC-ALM-001", on=(ALARM, COMPOSITE))
def alarm_does_something(alarm: Resource) -> Iterator[Problem]:
    """An alarm has an action, or something else listens to it."""
    if acts_plainly(alarm):
        return
    acts = False
    for key in _ACTIONS:
        listed = alarm.get(key)
        actions = listed.items()
        acts = acts or bool(actions)
        yield from from_findings(check_alarm_actions(len(actions), subject=""), _at(listed))
    if acts and alarm.get("ActionsEnabled").boolean(True):
        return
    if _is_listened_to(alarm):
        return
    written = alarm.model.raw.get("Properties")
    if not acts and isinstance(written, dict) and any(isinstance(written.get(key), dict) for key in _ACTIONS):
        raise NotKnown("whether somebody asks for actions: the template leaves the choice")
    if is_in_outputs(alarm):
        raise NotKnown("who uses the alarm: the template hands it on")
    message = "ActionsEnabled is false" if acts else "it has no action"
    yield Problem(alarm, f"{message}, and nothing in the app listens to it")


def _is_listened_to(alarm: Resource) -> bool:
    """Whether a composite alarm, a rollback or suppressor list, or an event rule uses it."""
    if any(found.type != _DASHBOARD for found in alarm.referrers()):
        return True
    name = alarm.get("AlarmName")
    if name.is_scalar and name.known:
        text = name.text()
        for composite in alarm.assembly.resources(COMPOSITE):
            for key in ("AlarmRule", "ActionsSuppressor"):
                value = composite.get(key)
                if value.is_scalar and text in value.known_text():
                    return True
    return _hears_of_alarms(alarm)


def _hears_of_alarms(alarm: Resource) -> bool:
    for found in alarm.assembly.resources(EVENT_RULE):
        pattern = event_pattern(found)
        if pattern is not None and "aws.cloudwatch" in (texts_of(pattern, "source") or ()):
            return True
    return False


@rule("UC-ALM-002", on=ALARM)
def missing_data_is_decided(alarm: Resource) -> Iterator[Problem]:
    """An alarm says what a period without data means; that of a heartbeat takes it for a failure."""
    if decides_plainly(alarm):
        return
    treatment = alarm.get("TreatMissingData")
    if not treatment.exists:
        yield Problem(alarm, "TreatMissingData is left out, so a dead collector leaves the alarm as it is")
        return
    if not alarm.get("ComparisonOperator").text("").startswith("LessThan"):
        return
    beats = [metric for metric in watched_metrics(alarm) if _HEARTBEAT.search(metric.name)]
    if beats and treatment.text() != "breaching" and not alarm.get("InsufficientDataActions").items():
        message = f"{treatment.shown} on {beats[0].name}, so nobody hears when the heartbeat stops"
        yield Problem(treatment, message, "use breaching")


@rule("UC-ALM-010", on=ALARM)
def alarm_fits_the_service(alarm: Resource) -> Iterator[Problem]:
    """Periods, dimensions and the name of an alarm are within the limits of CloudWatch."""
    if fits_plainly(alarm):
        return
    yield from _name(alarm)
    periods = [alarm.get("Period"), *_periods_of_queries(alarm)]
    for period in periods:
        with period.judged_apart():
            if period.exists:
                yield from _period(alarm, period)
    for metric in watched_metrics(alarm):
        with metric.where.judged_apart():
            listed = metric.where["Dimensions"]
            found = check_dimension_count(len(listed.items()), subject="")
            yield from from_findings(found, _at(listed))


def _name(alarm: Resource) -> Iterator[Problem]:
    name = alarm.get("AlarmName")
    if name.is_scalar:
        # What is not known only makes it longer.
        yield from from_findings(check_alarm_name(name.known_text(""), subject=""), lambda _: name)


def _periods_of_queries(alarm: Resource) -> list[Value]:
    queries = alarm.get("Metrics").items()
    return [period for query in queries for period in (query.get("MetricStat", "Period"), query["Period"])]


def _period(alarm: Resource, period: Value) -> Iterator[Problem]:
    seconds = period.integer()
    found = check_period(seconds, subject="")
    if not found:
        evaluated = alarm.get("EvaluationPeriods")
        found = check_span(seconds, evaluated.integer(1), subject="")
    yield from from_findings(found, lambda _: period)


@rule("UC-ALM-010", on=COMPOSITE)
def composite_fits_the_service(composite: Resource) -> Iterator[Problem]:
    """The rule of a composite alarm is short enough and names few enough alarms."""
    yield from _name(composite)
    text = composite.get("AlarmRule")
    if not text.exists:
        return
    known = text.known_text("")
    found = check_composite_rule(len(known), len(_CHILD.findall(known)), subject="")
    yield from from_findings(found, lambda _: text)


@rule("UC-ALM-014", on="AWS::Logs::LogGroup")
def logs_are_kept_for_a_time(group: Resource) -> Iterator[Problem]:
    """A log group says for how long it keeps events, in a number of days that exists."""
    days = group.get("RetentionInDays")
    if not days.exists:
        yield Problem(group, "RetentionInDays is left out, so events are kept and paid for without end")
    elif days.integer() not in retention_days():
        nearest = min(retention_days(), key=lambda each: abs(each - days.integer()))
        yield Problem(days, f"{days.shown} days, CloudWatch Logs has no such period", f"use {nearest}")
