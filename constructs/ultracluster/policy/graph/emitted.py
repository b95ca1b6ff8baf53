"""What the agents that an assembly configures publish: names of metrics, each with its sets of dimensions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ultracluster.facts.agent_sections import AgentSection, agent_sections, default_namespace, host_dimension
from ultracluster.policy.graph.agent_config import AgentConfiguration, agent_configurations
from ultracluster.policy.graph.user_data import MARK, user_data
from ultracluster.policy.states import NotKnown
from ultracluster.policy.view import Assembly

__all__ = ["Agent", "Emitted", "agents_of", "fetches_elsewhere"]

_FETCHED = re.compile(r"amazon-cloudwatch-agent-ctl\b[^\n]*?-c[ =]\"?ssm:(?P<name>[^\s\"']+)")
_STATSD, _STATSD_TYPE = "statsd", "metric_type"
_HOLDERS = ("AWS::EC2::LaunchTemplate", "AWS::EC2::Instance")


@dataclass(frozen=True, slots=True)
class Emitted:
    """One published metric.

    Attributes:
        sets: its sets of dimensions.
        newer_sets: sets that only newer agents publish, which fill placeholders in below a section.
    """

    sets: frozenset[frozenset[str]]
    newer_sets: frozenset[frozenset[str]]


class Agent:
    """One configuration of the agent.

    Attributes:
        configuration: where it stands and what it says.
    """

    def __init__(self, configuration: AgentConfiguration) -> None:
        """Wrap a configuration."""
        self.configuration = configuration

    @property
    def namespace(self) -> str | None:
        """Its namespace; None when it is not known."""
        name = self.configuration.metrics.get("namespace", default_namespace())
        return name if isinstance(name, str) and MARK not in name else None

    @property
    def sections(self) -> Mapping[str, Any]:
        """What it collects."""
        found = self.configuration.metrics.get("metrics_collected")
        return found if isinstance(found, dict) else {}

    @property
    def is_open(self) -> bool:
        """Whether it also publishes what its configuration does not name, such as StatsD."""
        return any(name not in agent_sections() for name in self.sections)

    @cached_property
    def metrics(self) -> Mapping[str, Emitted]:
        """Everything that the sections publish whose metrics are known, by name in CloudWatch."""
        found: dict[str, Emitted] = {}
        for name, body in self.sections.items():
            section = agent_sections().get(name)
            if section is not None and isinstance(body, dict):
                found |= dict(self._section(section, body))
            elif name == _STATSD and isinstance(body, dict):
                found |= dict(self._named(body))
        return found

    def _section(self, section: AgentSection, body: Mapping[str, Any]) -> Iterator[tuple[str, Emitted]]:
        dropped = body.get("drop_original_metrics")
        dropped = {_bare(section, entry) for entry in dropped} if isinstance(dropped, list) else set()
        own = section.dimensions - ({"device"} if body.get("drop_device") is True else set())
        inner = body.get("append_dimensions")
        inner = inner if isinstance(inner, dict) else {}
        literal = {key for key, value in inner.items() if not str(value).startswith("${")}
        listed = body.get("measurement")
        for entry in listed if isinstance(listed, list) else ():
            bare = _bare(section, entry.get("name") if isinstance(entry, dict) else entry)
            renamed = entry.get("rename") if isinstance(entry, dict) else None
            keep = bare not in dropped
            sets = self._sets(own | literal, keep=keep)
            newer = self._sets(own | set(inner), keep=keep)
            yield str(renamed or f"{section.prefix}{bare}"), Emitted(sets, newer - sets)

    def _named(self, body: Mapping[str, Any]) -> Iterator[tuple[str, Emitted]]:
        """Metrics of programs on the nodes that the configuration names, to have them rolled up only."""
        dropped = body.get("drop_original_metrics")
        for name in dropped if isinstance(dropped, list) else ():
            yield str(name), Emitted(self._sets({_STATSD_TYPE}, keep=False), frozenset())

    def _sets(self, own: frozenset[str] | set[str], *, keep: bool) -> frozenset[frozenset[str]]:
        appended = self.configuration.metrics.get("append_dimensions")
        added = set(appended) if isinstance(appended, dict) else self._host
        whole = frozenset(own | added)
        rolled = self.configuration.metrics.get("aggregation_dimensions")
        sets = (
            {frozenset(map(str, each)) for each in rolled if isinstance(each, list)}
            if isinstance(rolled, list)
            else set()
        )
        # The agent rolls up to a smaller set only, and to one whose dimensions the metric has.
        return frozenset({each for each in sets if each < whole} | ({whole} if keep else set()))

    @property
    def _host(self) -> set[str]:
        settings = self.configuration.content.get("agent")
        hidden = isinstance(settings, dict) and settings.get("omit_hostname") is True
        return set() if hidden else {host_dimension()}


def _bare(section: AgentSection, name: object) -> str:
    return str(name).strip().removeprefix(section.prefix)


def agents_of(assembly: Assembly) -> list[Agent]:
    """The agents that an assembly configures to publish metrics."""
    return assembly.world.remember(
        "agents", lambda: [Agent(found) for found in agent_configurations(assembly) if found.metrics]
    )


def fetches_elsewhere(assembly: Assembly) -> bool:
    """Whether some nodes fetch a configuration that is not in the assembly."""
    return assembly.world.remember("agents of elsewhere", lambda: _fetches_elsewhere(assembly))


def _fetches_elsewhere(assembly: Assembly) -> bool:
    parameters = (each.get("Name") for each in assembly.resources("AWS::SSM::Parameter"))
    names = {name.text() for name in parameters if name.is_scalar and name.known}
    for holder in assembly.resources(*_HOLDERS):
        try:
            data = user_data(holder)
        except NotKnown:
            return True
        # A reference to a parameter of the assembly leaves a mark in its place.
        fetched = [found["name"] for found in _FETCHED.finditer(data.text)] if data is not None else []
        if any(MARK not in name and name not in names for name in fetched):
            return True
    return False
