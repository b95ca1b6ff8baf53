"""Reader of `data/agent_metrics.json`: every metric that the CloudWatch agent of a node publishes."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Literal

from ultracluster.values import dataclass

__all__ = ["AgentFacts", "AgentMetric", "LogFile", "agent_facts"]

DATA_FILE = Path(__file__).with_name("data") / "agent_metrics.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMetric:
    """One published metric.

    Attributes:
        name: as it appears in CloudWatch.
        section: section of the agent's configuration; `statsd` for what the node program sends.
        kind: `gauge` or `counter` (growth per period).
        unit: of the values.
        about: what it counts.
        source: key of the source.
        measurement: name inside the section; None for StatsD.
        vendor: `nvidia` or `aws` when only such nodes have it.
        efa: whether it takes EFA devices.
        nitro_version: lowest Nitro version whose devices count it.
        spot: whether only Spot nodes have it.
        role: what alarms use it for; metrics of one role can stand for each other.
    """

    name: str
    section: str
    kind: Literal["gauge", "counter"]
    unit: str
    about: str
    source: str
    measurement: str | None = None
    vendor: str | None = None
    efa: bool = False
    nitro_version: int | None = None
    spot: bool = False
    role: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """A file that the agent carries to the log group, into the stream `<instance id>/<stream>`."""

    stream: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFacts:
    """What the agent does on every node.

    Attributes:
        namespace: default namespace of the metrics.
        dimensions: the one dimension set under which every metric is published.
        minimum_version: oldest agent that collects everything.
        period_s: seconds between two samples.
        spot_poll_s: seconds between two looks for a Spot notice.
        flush_s: longest time in seconds that the agent holds metrics back.
        log_files: what goes to the log group.
        disk_paths: file systems whose use is reported.
        metrics: the table.
    """

    namespace: str
    dimensions: tuple[str, ...]
    minimum_version: str
    period_s: int
    spot_poll_s: int
    flush_s: int
    log_files: tuple[LogFile, ...]
    disk_paths: tuple[str, ...]
    metrics: tuple[AgentMetric, ...]


@cache
def agent_facts() -> AgentFacts:
    """The facts, read once."""
    document = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return AgentFacts(
        namespace=document["namespace"],
        dimensions=tuple(document["dimensions"]),
        minimum_version=document["agent_minimum_version"]["version"],
        period_s=document["period_s"],
        spot_poll_s=document["spot_poll_s"],
        flush_s=document["flush_s"],
        log_files=tuple(LogFile(**row) for row in document["log_files"]),
        disk_paths=tuple(document["disk_paths"]),
        metrics=tuple(AgentMetric(**row) for row in document["metrics"]),
    )
