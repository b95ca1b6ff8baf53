"""`agent-metrics.md`: what nodes publish, what AWS services publish, and the alarms on both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reference_pages.markdown import bullets, code, page, prose, section, table
from ultracluster.facts import agent_metrics, alarms, service_metrics
from ultracluster.facts.agent_metrics import AgentFacts, AgentMetric, agent_facts
from ultracluster.facts.alarms import AlarmFacts, alarm_facts
from ultracluster.facts.service_metrics import ServiceMetric

__all__ = ["agent_metrics_page"]

_GROUPS = {
    "fleet": "Of every fleet, as far as its nodes publish the metrics.",
    "spot": "Of a Spot fleet and of its interruption queues.",
    "lustre": "Of a Lustre file system, as far as it has what is watched.",
}
_VENDORS = {"nvidia": "NVIDIA", "aws": "Trainium and Inferentia"}
_SIGNS = {"GreaterThanThreshold": "above", "GreaterThanOrEqualToThreshold": "at least", "LessThanThreshold": "below"}
_MISSING = {"breaching": "alarms", "notBreaching": "counts as fine", "missing": "leaves the state as it is"}


def agent_metrics_page() -> str:
    """The page."""
    facts = agent_facts()
    return page(
        "Metrics and alarms",
        _intro(facts),
        section("Metrics of the nodes", _agent_table(facts)),
        section("Logs of the nodes", _logs(facts)),
        section("Metrics of AWS services", _service_table()),
        section("Alarms", _ALARMS, *(_alarm_group(name, about) for name, about in _GROUPS.items())),
        section("Sources", _sources()),
    )


_ALARMS = """
An alarm fires when enough periods breach the threshold, and tells its topic again when it is over. Its name is that of
the group or file system with the id below at its end; its description says what to do.
"""


def _intro(facts: AgentFacts) -> str:
    dimensions = ", ".join(map(code, facts.dimensions))
    return (
        f"Nodes publish to the namespace `{facts.namespace}` (or the one of the cluster file) with one dimension, "
        f"{dimensions}: a metric costs one series per fleet, however many nodes and devices it has. Samples are taken "
        f"every {facts.period_s} s and leave the node within {facts.flush_s} s; Spot notices are looked for every "
        f"{facts.spot_poll_s} s. The CloudWatch agent has to be {facts.minimum_version} or later; a node that has an "
        "older one gets a newer one at its first boot."
    )


def _agent_table(facts: AgentFacts) -> str:
    rows = (
        (code(metric.name), metric.kind, metric.unit, _nodes(metric), prose(metric.about)) for metric in facts.metrics
    )
    return table(("Metric", "Kind", "Unit", "Nodes", "What it says"), rows)


def _nodes(metric: AgentMetric) -> str:
    conditions = (
        _VENDORS[metric.vendor] if metric.vendor else "",
        "EFA" if metric.efa else "",
        f"Nitro v{metric.nitro_version} and later" if metric.nitro_version else "",
        "Spot" if metric.spot else "",
    )
    return ", ".join(condition for condition in conditions if condition) or "all"


def _logs(facts: AgentFacts) -> str:
    lines = [f"`<instance id>/{file.stream}`: {code(file.path)}" for file in facts.log_files]
    return f"The log group of a fleet is `/ultracluster/<name of its group>`. Streams:\n\n{bullets(lines)}"


def _service_table() -> str:
    rows = (
        (
            code(f"{metric.namespace} {metric.name}"),
            ", ".join(map(code, metric.dimensions)),
            prose(metric.about) + _needs(metric),
        )
        for metric in service_metrics.service_metrics().values()
    )
    return table(("Metric", "Dimensions", "What it says"), rows)


def _needs(metric: ServiceMetric) -> str:
    needs = [metric.needs] if metric.needs else []
    needs += [f"storage type {' or '.join(metric.storage)}"] if metric.storage else []
    return f" (needs {prose(', '.join(needs))})" if needs else ""


def _alarm_group(name: str, about: str) -> str:
    rows = (_alarm(alarm_facts()[row["id"]]) for row in _document(alarms.DATA_FILE)[name])
    heads = ("Alarm", "Fires when", "No data", "Why", "What to do")
    return section(name.capitalize(), about, table(heads, rows), level=3)


def _alarm(facts: AlarmFacts) -> tuple[str, ...]:
    minutes = facts.period_s * facts.evaluation_periods / 60
    often = (
        f"for {minutes:g} min"
        if facts.datapoints == facts.evaluation_periods
        else f"in {facts.datapoints} of {facts.evaluation_periods} periods of {facts.period_s / 60:g} min"
    )
    when = f"{prose(facts.title)}: {_SIGNS[facts.comparison]} {facts.threshold:g} {facts.unit} {often}"
    return code(facts.id), when, _MISSING[facts.missing_data], prose(facts.because), prose(facts.do)


def _document(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


def _sources() -> str:
    found: dict[str, dict[str, str]] = {}
    for module in (agent_metrics, service_metrics, alarms):
        found.update(
            {source.get("url") or source["title"]: source for source in _document(module.DATA_FILE)["sources"].values()}
        )
    return table(("Source", "As of"), _rows(found))


def _rows(found: dict[str, dict[str, str]]) -> Iterator[tuple[str, str]]:
    for source in sorted(found.values(), key=lambda source: source["title"]):
        title = prose(source["title"])
        yield (f"[{title}]({source['url']})" if "url" in source else title), source["as_of"]
