"""Configuration of the CloudWatch agent of a fleet, and the list of metrics that it publishes.

User data, alarms and dashboards ask here what exists, so that none of them can name a metric that nobody sends.
"""

from __future__ import annotations

from collections.abc import Mapping

from ultracluster.facts.agent_metrics import AgentMetric, agent_facts
from ultracluster.facts.nvidia_xid import critical_xids
from ultracluster.values import dataclass

__all__ = ["AgentProfile", "agent_configuration", "metric_of_role", "metrics_of_role", "metrics_settings", "published"]

_PLUGINS = ("nvidia_gpu", "efa", "mem", "disk")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProfile:
    """What decides which metrics a node has.

    Attributes:
        vendor: `nvidia` or `aws`.
        efa: whether its nodes have EFA devices.
        nitro_version: the lowest among its instance types.
        spot: whether its nodes can be interrupted.
        namespace: CloudWatch namespace.
    """

    vendor: str
    efa: bool
    nitro_version: int
    spot: bool = False
    namespace: str = "UltraCluster"

    def has(self, metric: AgentMetric) -> bool:
        """Whether nodes of this profile publish the metric."""
        return (
            metric.vendor in {None, self.vendor}
            and (self.efa or not metric.efa)
            and self.nitro_version >= (metric.nitro_version or 0)
            and (self.spot or not metric.spot)
        )


def published(profile: AgentProfile) -> Mapping[str, AgentMetric]:
    """The metrics of such nodes by name, all with the dimension set of the table and no other."""
    return {metric.name: metric for metric in agent_facts().metrics if profile.has(metric)}


def metrics_of_role(profile: AgentProfile, role: str) -> tuple[AgentMetric, ...]:
    """The published metrics with a role, in the order of the table."""
    return tuple(metric for metric in published(profile).values() if metric.role == role)


def metric_of_role(profile: AgentProfile, role: str) -> AgentMetric:
    """The one published metric with a role.

    Raises:
        ValueError: none or several have it.
    """
    (metric,) = metrics_of_role(profile, role)
    return metric


def metrics_settings(profile: AgentProfile) -> dict[str, object]:
    """Settings of the program that feeds the agent (`ultracluster.node.metrics`), as they stand in `node.json`."""
    facts = agent_facts()
    counters = [name for name, metric in published(profile).items() if _statsd(metric) and metric.kind == "counter"]
    return {
        "sources": [
            "kernel",
            "nvidia" if profile.vendor == "nvidia" else "neuron",
            *(["spot"] if profile.spot else []),
        ],
        "counters": [name for name in counters if name != "node_heartbeat"],
        "critical_xids": list(critical_xids()) if profile.vendor == "nvidia" else [],
        "kernel_log": next(file.path for file in facts.log_files if file.stream == "kernel"),
        "period_s": facts.period_s,
        "spot_period_s": facts.spot_poll_s,
    }


def agent_configuration(profile: AgentProfile, *, log_group_name: str) -> dict[str, object]:
    """The agent's configuration file as a dictionary.

    The dimensions stand at the level of `metrics`: inside a section they would do nothing. The instance id is
    appended so that no metric starts with the aggregated set alone, which the agent would not roll up; the originals
    are dropped, so that a fleet costs one series per metric, however many nodes and devices it has.

    Args:
        profile: what the nodes are.
        log_group_name: log group of the fleet; streams are `<instance id>/<name>`.
    """
    facts = agent_facts()
    streams = [
        {"file_path": file.path, "log_group_name": log_group_name, "log_stream_name": f"{{instance_id}}/{file.stream}"}
        for file in facts.log_files
    ]
    return {
        "agent": {"metrics_collection_interval": facts.period_s, "run_as_user": "root"},
        "metrics": {
            "namespace": profile.namespace,
            "append_dimensions": {name: f"${{aws:{name}}}" for name in (*facts.dimensions, "InstanceId")},
            "aggregation_dimensions": [list(facts.dimensions)],
            "force_flush_interval": facts.flush_s,
            "metrics_collected": _sections(profile),
        },
        "logs": {"force_flush_interval": 5, "logs_collected": {"files": {"collect_list": streams}}},
    }


def _statsd(metric: AgentMetric) -> bool:
    return metric.section == "statsd"


def _sections(profile: AgentProfile) -> dict[str, object]:
    facts = agent_facts()
    sections: dict[str, object] = {}
    for plugin in _PLUGINS:
        names = [metric.measurement for metric in published(profile).values() if metric.section == plugin]
        if names:
            sections[plugin] = {
                "measurement": names,
                "drop_original_metrics": names,
                **({"resources": list(facts.disk_paths)} if plugin == "disk" else {}),
            }
    sections["statsd"] = {
        "service_address": "127.0.0.1:8125",
        "metrics_collection_interval": facts.period_s,
        "metrics_aggregation_interval": facts.period_s,
        "drop_original_metrics": [name for name, metric in published(profile).items() if _statsd(metric)],
    }
    return sections
