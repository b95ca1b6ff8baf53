"""Metrics by their table: a name or a dimension set that nobody publishes cannot be written here."""

from __future__ import annotations

from ultracluster.facts.agent_metrics import AgentMetric, agent_facts
from ultracluster.facts.service_metrics import service_metric
from ultracluster.values import dataclass

__all__ = ["FILE_SYSTEM", "MetricRef", "agent_metric", "highest", "service"]

FILE_SYSTEM = "<file-system-id>"
"""Stands in dimensions and queries for an id that only the deployment knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRef:
    """One metric as CloudWatch is asked for it.

    Attributes:
        namespace: of the metric.
        name: of the metric.
        dimensions: names and values; the whole set under which it is published.
        statistic: `Sum`, `Average`, `Maximum` or `Minimum`.
    """

    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...]
    statistic: str


def agent_metric(metric: AgentMetric, *, group_name: str, namespace: str, statistic: str = "") -> MetricRef:
    """A metric of the agent under the one dimension set it has; counters are summed unless asked otherwise."""
    (dimension,) = agent_facts().dimensions
    return MetricRef(
        namespace=namespace,
        name=metric.name,
        dimensions=((dimension, group_name),),
        statistic=statistic or ("Sum" if metric.kind == "counter" else "Maximum"),
    )


def service(namespace: str, name: str, statistic: str, **values: str) -> MetricRef:
    """A metric of a service under the one dimension set it has.

    Raises:
        KeyError: the metric is not in the table, or a dimension of it has no value.
    """
    facts = service_metric(namespace, name)
    dimensions = tuple((dimension, values[dimension]) for dimension in facts.dimensions)
    return MetricRef(namespace=namespace, name=name, dimensions=dimensions, statistic=statistic)


def highest(metric: str) -> str:
    """Query for the highest value over all storage targets or servers of a file system."""
    facts = service_metric("AWS/FSx", metric)
    return (
        f'SELECT MAX({metric}) FROM SCHEMA("AWS/FSx", {", ".join(facts.dimensions)}) '
        f"WHERE FileSystemId = '{FILE_SYSTEM}'"
    )
