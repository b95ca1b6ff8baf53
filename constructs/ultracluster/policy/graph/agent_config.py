"""Configurations of the CloudWatch agent: in user data, in SSM parameters, wherever the assembly shows one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ultracluster.policy.graph.user_data import user_data
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Assembly

__all__ = ["AgentConfiguration", "agent_configurations"]

_SECTIONS = ("metrics", "logs", "traces")
_HOLDERS = ("AWS::EC2::LaunchTemplate", "AWS::EC2::Instance")
# Beyond what EC2 and Systems Manager take, and beyond what any script has of opening braces.
_MOST_TEXT = 64_000
_MOST_TRIES = 500
_MARK = "\ufffc"


@dataclass(frozen=True, slots=True)
class AgentConfiguration:
    """One configuration.

    Attributes:
        where: the value that holds it.
        content: the configuration; a mark (U+FFFC) stands for parts of texts that are not known.
    """

    where: Value
    content: Mapping[str, Any]

    @property
    def metrics(self) -> Mapping[str, Any]:
        """Its `metrics` section; empty when it has none."""
        found = self.content.get("metrics")
        return found if isinstance(found, dict) else {}


def agent_configurations(assembly: Assembly) -> list[AgentConfiguration]:
    """All configurations of an assembly, each once per place."""
    found: list[AgentConfiguration] = []
    for resource in assembly.resources(*_HOLDERS):
        with resource.properties.judged_apart():
            data = user_data(resource)
            if data is not None:
                found.extend(AgentConfiguration(data.value, content) for content in _configurations(data.text))
    for parameter in assembly.resources("AWS::SSM::Parameter"):
        value = parameter.get("Value")
        try:
            text = value.known_text(_MARK)
        except NotKnown:
            continue  # a parameter of something else, as far as can be seen
        found.extend(AgentConfiguration(value, content) for content in _configurations(text))
    return found


def _configurations(text: str) -> Iterator[Mapping[str, Any]]:
    """Every JSON object of a text that looks like a configuration of the agent."""
    if not any(f'"{section}"' in text for section in _SECTIONS):
        return
    decoder = json.JSONDecoder()
    text = text[:_MOST_TEXT]
    at = text.find("{")
    for _ in range(_MOST_TRIES):
        if at == -1:
            return
        try:
            content, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if isinstance(content, dict) and any(isinstance(content.get(section), dict) for section in _SECTIONS):
            yield content
        at = text.find("{", max(end, at + 1))
