"""CloudWatch alarms: the metrics they watch, and who uses them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from ultracluster.policy.mentions import names_in
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = [
    "ALARM",
    "COMPOSITE",
    "WatchedMetric",
    "alarms_on",
    "is_in_outputs",
    "is_partly_read",
    "metric_names",
    "watched_metrics",
]

_T = TypeVar("_T")
_QUERY = re.compile(r"\s*SELECT\b.*\bWHERE\b", re.IGNORECASE | re.DOTALL)

ALARM, COMPOSITE = "AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"


class WatchedMetric:
    """One metric that an alarm reads; its name is read once for all rules.

    Attributes:
        where: the alarm's properties, or the metric in a list of queries.
    """

    __slots__ = ("_name", "_namespace", "where")

    def __init__(self, where: Value) -> None:
        """Read the metric."""
        self.where = where
        self._namespace = _read(lambda: where["Namespace"].text(""))
        self._name = _read(where["MetricName"].text)

    @property
    def namespace(self) -> str:
        """Its namespace; empty when it is left out.

        Raises:
            NotKnown: it is not known.
        """
        return _told(self._namespace)

    @property
    def name(self) -> str:
        """Its name.

        Raises:
            NotKnown: it is not known.
        """
        return _told(self._name)

    @property
    def dimensions(self) -> Mapping[str, Value]:
        """Values of its dimensions by name.

        Raises:
            NotKnown: the list, or a name in it, is not known.
        """
        return {entry["Name"].text(): entry["Value"] for entry in self.where["Dimensions"].items()}

    @property
    def at_name(self) -> Value:
        """Where a finding on its name stands."""
        return self.where["MetricName"]

    @property
    def at_dimensions(self) -> Value:
        """Where a finding on its dimensions stands: the list, or the name when there is none."""
        listed = self.where["Dimensions"]
        return listed if listed.exists else self.at_name


def _read(ask: Callable[[], _T]) -> _T | NotKnown:
    try:
        return ask()
    except NotKnown as doubt:
        return doubt


def _told(answer: _T | NotKnown) -> _T:
    if isinstance(answer, NotKnown):
        raise answer
    return answer


@remembered
def watched_metrics(alarm: Resource) -> list[WatchedMetric]:
    """Every metric of an alarm; none for an alarm on a query or on logs.

    Raises:
        NotKnown: the list of queries is not known.
    """
    found = [WatchedMetric(alarm.properties)] if alarm.get("MetricName").exists else []
    for query in alarm.get("Metrics").items():
        metric = query.get("MetricStat", "Metric")
        if metric.exists:
            found.append(WatchedMetric(metric))
    return found


def metric_names(alarm: Resource) -> set[str]:
    """Names of metrics that an alarm reads, and what its expressions say, as far as they are known."""
    found: set[str] = set()
    with alarm.properties.judged_apart():
        for metric in watched_metrics(alarm):
            with metric.where.judged_apart():
                found.add(metric.name)
    for query in alarm.get("Metrics").items() if alarm.get("Metrics").is_list else ():
        expression = query["Expression"]
        if expression.is_scalar:
            found.add(expression.known_text())
    return found


def is_partly_read(alarm: Resource) -> bool:
    """Whether a metric or expression of an alarm is not known: what it watches may be anything."""
    try:
        for metric in watched_metrics(alarm):
            _ = metric.name
        queries = alarm.get("Metrics").items()
    except NotKnown:
        return True
    return any(query["Expression"].exists and not _tells_its_metric(query["Expression"]) for query in queries)


def _tells_its_metric(expression: Value) -> bool:
    """Whether an expression is known, or is a query of which only the condition is not: that names no metric."""
    return expression.known or _QUERY.match(expression.prefix()) is not None


def alarms_on(resource: Resource) -> list[Resource]:
    """Alarms that name a resource, in a dimension or an expression."""
    return resource.referrers(ALARM)


def is_in_outputs(resource: Resource) -> bool:
    """Whether its template hands it on, so that others may use it."""
    outputs = resource.template.model.section("Outputs")
    return resource.logical_id in names_in(outputs)
