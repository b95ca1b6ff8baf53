"""CloudWatch alarms: the metrics they watch, and who uses them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ultracluster.policy.mentions import names_in
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = ["ALARM", "COMPOSITE", "WatchedMetric", "alarms_on", "is_in_outputs", "metric_names", "watched_metrics"]

ALARM, COMPOSITE = "AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"


@dataclass(frozen=True, slots=True)
class WatchedMetric:
    """One metric that an alarm reads.

    Attributes:
        where: the alarm's properties, or the metric in a list of queries.
    """

    where: Value

    @property
    def namespace(self) -> Value:
        """Its namespace."""
        return self.where["Namespace"]

    @property
    def name(self) -> Value:
        """Its name."""
        return self.where["MetricName"]

    @property
    def dimensions(self) -> Mapping[str, Value]:
        """Values of its dimensions by name.

        Raises:
            NotKnown: the list, or a name in it, is not known.
        """
        return {entry["Name"].text(): entry["Value"] for entry in self.where["Dimensions"].items()}

    @property
    def place(self) -> Value:
        """Where a finding on its dimensions stands: the list, or the name when there is none."""
        listed = self.where["Dimensions"]
        return listed if listed.exists else self.name


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
        found |= {metric.name.text() for metric in watched_metrics(alarm) if metric.name.is_scalar}
    for query in alarm.get("Metrics").items() if alarm.get("Metrics").is_list else ():
        expression = query["Expression"]
        if expression.is_scalar:
            found.add(expression.known_text())
    return found


def alarms_on(resource: Resource) -> list[Resource]:
    """Alarms that name a resource, in a dimension or an expression."""
    return resource.referrers(ALARM)


def is_in_outputs(resource: Resource) -> bool:
    """Whether its template hands it on, so that others may use it."""
    outputs = resource.template.model.section("Outputs")
    return resource.logical_id in names_in(outputs)
