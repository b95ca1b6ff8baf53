"""Rules on what alarms watch: metrics that somebody publishes, under the dimensions that have data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cache

from ultracluster.facts.agent_sections import (
    agent_sections,
    container_insights_metrics,
    default_namespace,
    nitro_of_metric,
    placeholders_since,
)
from ultracluster.facts.instances import catalog
from ultracluster.facts.service_metrics import service_metrics
from ultracluster.findings import Severity
from ultracluster.policy.graph.alarms import ALARM, WatchedMetric, watched_metrics
from ultracluster.policy.graph.emitted import Agent, agents_of, fetches_elsewhere
from ultracluster.policy.graph.file_systems import FILE_SYSTEM, is_lustre
from ultracluster.policy.graph.fleets import AUTO_SCALING_GROUP
from ultracluster.policy.graph.launch_templates import uses_of
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Assembly, Resource

_FSX = "AWS/FSx"
# Only Lustre publishes them; the other names exist on other file systems too, under other dimensions.
_LUSTRE_ALONE = {"FreeDataStorageCapacity"}
_FILTER = "AWS::Logs::MetricFilter"
_SENDS = ("put-metric-data", "put_metric_data", "PutMetricData")
_ACCELERATED = re.compile(r"(?:node|pod|container|cluster)_(?:gpu|neuron\w*|efa)_")
_RESERVED = ("nvidia_smi_", "efa_")
_SCRIPTS = ("AWS::EC2::LaunchTemplate", "AWS::EC2::Instance", "AWS::Lambda::Function", "AWS::SSM::Document")


@rule("UC-ALM-003", on=ALARM)
def dimensions_are_emitted(alarm: Resource) -> Iterator[Problem]:
    """The dimensions of an alarm are exactly a set that the agent publishes."""
    for metric in _of_agents(alarm):
        with metric.where.judged_apart():
            yield from _emitted(alarm, metric)


def _of_agents(alarm: Resource) -> Iterator[WatchedMetric]:
    """Metrics of an alarm outside the namespaces of services."""
    for metric in watched_metrics(alarm):
        with metric.where.judged_apart():
            if metric.namespace and not metric.namespace.startswith("AWS/"):
                yield metric


def _emitted(alarm: Resource, metric: WatchedMetric) -> Iterator[Problem]:
    agents = _agents(alarm.assembly, metric.namespace)
    name = metric.name
    publishing = [found for agent in agents if (found := agent.metrics.get(name)) is not None]
    if not publishing:
        if not agents and _is_of_the_agent(metric):
            raise NotKnown("the configuration of the agent, which is not in the templates")
        return  # whether anybody publishes it is another question
    asked = frozenset(metric.dimensions)
    if any(asked in found.sets for found in publishing):
        return
    if any(asked in found.newer_sets for found in publishing):
        message = (
            f"{_shown(asked)} is published by agents from {placeholders_since()} on only: append_dimensions stands "
            "inside a section, not at the level of metrics"
        )
        fix = "move append_dimensions to the level of metrics"
        yield Problem(metric.at_dimensions, message, fix, severity=Severity.WARNING)
        return
    if fetches_elsewhere(alarm.assembly):
        raise NotKnown("an agent whose configuration is not in the templates")
    sets = sorted({_shown(found) for each in publishing for found in each.sets}) or ["no set at all"]
    message = f"{_shown(asked)}, and the agent publishes {name} under {' and '.join(sets)}"
    yield Problem(metric.at_dimensions, message)


def _agents(assembly: Assembly, namespace: str) -> list[Agent]:
    agents = agents_of(assembly)
    found = [agent for agent in agents if agent.namespace == namespace]
    if not found and any(agent.namespace is None for agent in agents):
        raise NotKnown("the namespace of an agent")
    return found


def _shown(names: Iterable[str]) -> str:
    return "{" + ", ".join(sorted(names)) + "}"


@rule("UC-ALM-004", on=ALARM)
def metric_is_collected(alarm: Resource) -> Iterator[Problem]:
    """The metric of an alarm is one that the agent can publish, and is told to."""
    for metric in _of_agents(alarm):
        with metric.where.judged_apart():
            message = _fault_of_name(alarm, metric)
            if message:
                yield Problem(metric.at_name, message)


def _fault_of_name(alarm: Resource, metric: WatchedMetric) -> str:
    namespace, name = metric.namespace, metric.name
    insights, known = container_insights_metrics()
    if namespace == insights:
        return _near(name, known, "Container Insights publishes")
    agents = _agents(alarm.assembly, namespace)
    is_told = any(name in agent.metrics for agent in agents)
    if is_told or not (agents or namespace == default_namespace()) or _is_published_otherwise(alarm.assembly, name):
        return ""
    if name not in _possible() and name.startswith(_RESERVED):
        return _no_metric(name, agents)
    if not agents:
        if name in _possible():
            raise NotKnown("the configuration of the agent, which is not in the templates")
        return ""
    if name not in _possible() and any(agent.is_open for agent in agents):
        raise NotKnown(f"whether a program on the nodes sends {name}")
    if fetches_elsewhere(alarm.assembly):
        raise NotKnown("an agent whose configuration is not in the templates")
    what = "is not among the measurements of the agent" if name in _possible() else "is no metric of the agent"
    return f"{name} {what}, so the alarm never has data"


def _no_metric(name: str, agents: Iterable[Agent]) -> str:
    near = get_close_matches(name, _possible(), 1, 0.8)
    if not near and any(agent.is_open for agent in agents):
        raise NotKnown(f"whether a program on the nodes sends {name}")
    return f"no agent publishes {name}{f'; it has {near[0]}' if near else ''}"


@cache
def _possible() -> frozenset[str]:
    """Everything that an agent can publish."""
    sections = agent_sections().values()
    return frozenset(f"{section.prefix}{each}" for section in sections for each in section.measurements)


def _is_of_the_agent(metric: WatchedMetric) -> bool:
    return metric.namespace == default_namespace() and metric.name in _possible()


def _near(name: str, known: frozenset[str], what: str) -> str:
    """A misspelt name; what is new to the table is none."""
    if name in known or not _ACCELERATED.match(name):
        return ""
    near = get_close_matches(name, known, 1, 0.9)
    return f"{name} does not exist; {what} {near[0]}" if near else ""


def _is_published_otherwise(assembly: Assembly, name: str) -> bool:
    """Whether a metric filter, or a script or function of the assembly, sends a metric of that name."""
    for found in assembly.resources(_FILTER):
        for entry in found.get("MetricTransformations").items():
            if entry["MetricName"].text() == name:
                return True
    return name in assembly.world.remember("what sends metrics", lambda: _senders(assembly))


def _senders(assembly: Assembly) -> str:
    texts = (str(found.model.raw.get("Properties")) for found in assembly.resources(*_SCRIPTS))
    return "".join(text for text in texts if any(word in text for word in _SENDS))


@rule("UC-ALM-007", on=ALARM)
def counters_exist_on_the_type(alarm: Resource) -> Iterator[Problem]:
    """Alarms on the reliability counters of EFA watch types that have them."""
    for metric in watched_metrics(alarm):
        with metric.where.judged_apart():
            needed = nitro_of_metric(metric.name)
            if needed is None:
                continue
            for kind in _types_behind(alarm, metric):
                facts = catalog().get(kind)
                if facts is not None and (facts.nitro_version or needed) < needed:
                    message = (
                        f"{metric.name} has no data on {kind}: Nitro version {facts.nitro_version}, "
                        f"and the counter exists from {needed} on"
                    )
                    yield Problem(metric.at_name, message)
                    break


def _types_behind(alarm: Resource, metric: WatchedMetric) -> list[str]:
    """The instance types whose metric an alarm watches.

    Raises:
        NotKnown: the dimensions do not tell.
    """
    dimensions = metric.dimensions
    if "InstanceType" in dimensions:
        return [dimensions["InstanceType"].text()]
    named = dimensions.get("AutoScalingGroupName")
    group = _group_named(alarm.assembly, named) if named is not None else None
    if group is None:
        raise NotKnown("on which instance types the metric is counted")
    uses = uses_of(group)
    types = [value for use in uses for value in use.types]
    for use in uses:
        own = use.launch_template.get("LaunchTemplateData", "InstanceType")
        if not use.types and own.exists:
            types.append(own)
    if not types:
        raise NotKnown(f"the instance types of {group}")
    return [value.text() for value in types]


def _group_named(assembly: Assembly, named: Value) -> Resource | None:
    found = named.resource(AUTO_SCALING_GROUP)
    if found is not None or named.reference() is not None:
        return found
    for group in assembly.resources(AUTO_SCALING_GROUP):
        name = group.get("AutoScalingGroupName")
        if name.is_scalar and name.known and name.text() == named.text():
            return group
    return None


@rule("UC-ALM-008", on=ALARM)
def dimensions_of_lustre(alarm: Resource) -> Iterator[Problem]:
    """An alarm on a file system asks for the dimensions under which the metric has data."""
    for metric in watched_metrics(alarm):
        with metric.where.judged_apart():
            if metric.namespace != _FSX:
                continue
            facts = service_metrics().get((_FSX, metric.name))
            if facts is None or set(metric.dimensions) == set(facts.dimensions):
                continue
            if _is_of_lustre(metric):
                message = (
                    f"{_shown(metric.dimensions)}, and FSx for Lustre publishes {facts.name} under "
                    f"{_shown(facts.dimensions)} only"
                )
                yield Problem(metric.at_dimensions, message)


def _is_of_lustre(metric: WatchedMetric) -> bool:
    if metric.name in _LUSTRE_ALONE:
        return True
    named = metric.dimensions.get("FileSystemId")
    found = named.resource(FILE_SYSTEM) if named is not None else None
    if found is None:
        raise NotKnown("of which kind the file system is")
    return is_lustre(found)
