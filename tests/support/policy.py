"""Judging templates in tests of rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ultracluster.policy.document import Document, read_document
from ultracluster.policy.engine import Judged, judge
from ultracluster.policy.explore import explore
from ultracluster.policy.load import assembly_of
from ultracluster.policy.model import Environment
from ultracluster.policy.view import Resource
from ultracluster.policy.world import World


@dataclass(frozen=True)
class Outcome:
    """What all rules say of some templates."""

    judged: Judged

    @property
    def ids(self) -> set[str]:
        """Ids of the rules that found something."""
        return {fault.rule_id for fault in self.judged.faults}

    @property
    def not_judged(self) -> set[str]:
        """Ids of the rules that could not decide about something."""
        return {rule_id for entry in self.judged.not_judged for rule_id in entry.rule_ids}

    def of(self, rule_id: str) -> list[str]:
        """Findings of one rule, as `place: message`."""
        return [
            f"{fault.resource.name if fault.resource else fault.template.name} {fault.property_path}: {fault.message}"
            for fault in self.judged.faults
            if fault.rule_id == rule_id
        ]


def judged(*templates: str | dict[str, Any], is_app: bool = False) -> Outcome:
    """All rules over templates that are deployed together, given as YAML or JSON text or as a value."""
    documents = [
        read_document(f"template{at}.yaml", template.encode())
        if isinstance(template, str)
        else Document(f"template{at}", "", template)
        for at, template in enumerate(templates)
    ]
    return Outcome(judge(assembly_of(documents, is_app=is_app), fenced=False))


def assert_finds(rule_id: str, *templates: str | dict[str, Any], place: str = "", is_app: bool = False) -> None:
    """The rule finds a fault, with `place` in its place or message."""
    found = judged(*templates, is_app=is_app).of(rule_id)
    assert any(place in text for text in found), f"{rule_id} did not find {place!r}; it found {found}"


def assert_passes(rule_id: str, *templates: str | dict[str, Any], is_app: bool = False) -> None:
    """The rule judges the templates and finds nothing."""
    outcome = judged(*templates, is_app=is_app)
    assert not outcome.of(rule_id)
    assert rule_id not in outcome.not_judged, [
        entry for entry in outcome.judged.not_judged if rule_id in entry.rule_ids
    ]


def assert_not_judged(rule_id: str, *templates: str | dict[str, Any], is_app: bool = False) -> None:
    """The rule finds nothing, and says that it could not decide."""
    outcome = judged(*templates, is_app=is_app)
    assert not outcome.of(rule_id)
    assert rule_id in outcome.not_judged


def reading(template: str | dict[str, Any], read: Any, *siblings: str | dict[str, Any], **environment: str) -> Any:
    """What a function of a world says in every reading: the exploration of faults and doubts.

    Args:
        template: the template whose resource `X` is handed to `read`.
        read: a rule over that resource.
        siblings: further templates of the assembly.
        environment: region, account or stack_name.
    """
    documents = [
        read_document(f"template{at}.yaml", text.encode())
        if isinstance(text, str)
        else Document(f"template{at}", "", text)
        for at, text in enumerate((template, *siblings))
    ]
    assembly = assembly_of(documents, environment=Environment(**environment))
    model = assembly.templates[0].resources["X"]

    def view(world: World) -> Any:
        resource = Resource(model, world)
        return read(resource) if resource.exists else ()

    return explore(World(assembly), view)
