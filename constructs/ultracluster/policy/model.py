"""Templates and assemblies as they were read: no condition decided, nothing resolved, nothing that changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ultracluster.policy.document import Document
    from ultracluster.policy.states import Path

__all__ = ["AssemblyModel", "Environment", "ResourceModel", "TemplateModel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Where a template will be deployed; `None` is unknown."""

    region: str | None = None
    account: str | None = None
    stack_name: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ResourceModel:
    """One resource as it is written.

    Attributes:
        template: the template it stands in.
        logical_id: its name there.
        type: its type; empty when it is missing or no text.
        raw: its body.
        path: place of the body.
    """

    template: TemplateModel
    logical_id: str
    type: str
    raw: Mapping[str, Any]
    path: Path

    @property
    def construct_path(self) -> str:
        """The path that the CDK notes, without the `Resource` of L2 constructs; empty elsewhere."""
        metadata = self.raw.get("Metadata")
        path = metadata.get("aws:cdk:path") if isinstance(metadata, dict) else None
        if not isinstance(path, str):
            path = self.template.construct_paths.get(self.logical_id, "")
        return path.removesuffix("/Resource")

    @property
    def name(self) -> str:
        """How a person finds it: the construct path where there is one, else the logical id."""
        return self.construct_path or self.logical_id


class TemplateModel:
    """One template, or one use of it when it is nested in several stacks."""

    def __init__(
        self,
        document: Document,
        *,
        environment: Environment | None = None,
        parent: ResourceModel | None = None,
    ) -> None:
        """Index the resources of a document whose loops are expanded."""
        self.document = document
        self.environment = environment or Environment()
        self.parent = parent
        self.children: dict[str, TemplateModel] = {}
        # Parameters as they are declared, each read once.
        self.declared: dict[str, Any] = {}
        # Construct paths by logical id, where the CDK notes them beside the template only.
        self.construct_paths: Mapping[str, str] = {}
        # (construct path, id, reason) of what the CDK notes beside the template.
        self.acknowledged: list[tuple[str, str, str]] = []
        self.raw: Mapping[str, Any] = document.expanded
        self.resources: dict[str, ResourceModel] = {}
        for logical_id, body in self.section("Resources").items():
            if isinstance(body, dict):
                kind = body.get("Type")
                place = document.origin("Resources", logical_id)
                text = kind if isinstance(kind, str) else ""
                self.resources[logical_id] = ResourceModel(self, logical_id, text, body, place)

    @property
    def name(self) -> str:
        """The file, as it was given."""
        return self.document.name

    def section(self, name: str) -> Mapping[str, Any]:
        """A top-level section; empty when it is missing or no object."""
        found = self.raw.get(name)
        return found if isinstance(found, dict) else {}

    @cached_property
    def by_type(self) -> Mapping[str, Sequence[ResourceModel]]:
        """Resources by type."""
        return _by_type(self.resources.values())

    @cached_property
    def condition_names(self) -> frozenset[str]:
        """Every name that the conditions and assertions mention: parameters among them may be decided there."""
        from ultracluster.policy.mentions import names_in

        return frozenset(names_in([self.section("Conditions"), self.section("Rules")]))


def _by_type(resources: Iterable[ResourceModel]) -> dict[str, list[ResourceModel]]:
    found: dict[str, list[ResourceModel]] = {}
    for resource in resources:
        found.setdefault(resource.type, []).append(resource)
    return found


@dataclass(eq=False)
class AssemblyModel:
    """Templates that are deployed together.

    Attributes:
        templates: all of them, nested ones after their parents.
        is_app: whether they are a whole app, so that what is missing in them is missing.
    """

    templates: Sequence[TemplateModel]
    is_app: bool = False
    cache: dict[object, Any] = field(default_factory=dict)

    @cached_property
    def by_type(self) -> Mapping[str, Sequence[ResourceModel]]:
        """Resources of all templates by type."""
        if len(self.templates) == 1:
            return self.templates[0].by_type
        return _by_type(resource for template in self.templates for resource in template.resources.values())

    @cached_property
    def exported(self) -> Mapping[str, tuple[TemplateModel, str]]:
        """Exported names with the template and the output behind them."""
        from ultracluster.policy.mentions import exports

        return exports(self.templates)

    @cached_property
    def referrers(self) -> Mapping[ResourceModel, Sequence[ResourceModel]]:
        """For each resource those that name it, also through outputs, exports and parameters of nested stacks."""
        from ultracluster.policy.mentions import referrers

        return referrers(self.templates)
