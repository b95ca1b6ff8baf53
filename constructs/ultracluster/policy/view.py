"""Resources, templates and assemblies as rules see them, all in the world of one reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ultracluster.policy.resolve import exists
from ultracluster.policy.states import ABSENT, Node, NotKnown
from ultracluster.policy.value import Value

if TYPE_CHECKING:
    from ultracluster.policy.model import Environment, ResourceModel, TemplateModel
    from ultracluster.policy.world import World

__all__ = ["Assembly", "Resource", "Template"]


class Resource:
    """One resource of a template.

    Two views of the same resource are equal, so that they can be compared and used as keys.

    Attributes:
        model: the resource as it is written.
        world: the reading that it belongs to.
    """

    __slots__ = ("model", "world")

    def __init__(self, model: ResourceModel, world: World) -> None:
        """Wrap a resource."""
        self.model = model
        self.world = world

    @property
    def logical_id(self) -> str:
        """Its name in the template."""
        return self.model.logical_id

    @property
    def type(self) -> str:
        """Its type, for example `AWS::EC2::LaunchTemplate`."""
        return self.model.type

    @property
    def exists(self) -> bool:
        """Whether its condition holds."""
        return exists(self.world, self.model.template, self.logical_id)

    @property
    def template(self) -> Template:
        """The template it stands in."""
        return Template(self.model.template, self.world)

    @property
    def assembly(self) -> Assembly:
        """All templates that are deployed together."""
        return Assembly(self.world)

    @property
    def properties(self) -> Value:
        """Its properties."""
        return self._section("Properties", ())

    def get(self, *keys: str | int) -> Value:
        """A property, or a value below one: `resource.get("LaunchTemplateData", "ImageId")`."""
        return self.properties.get(*keys)

    def attribute(self, name: str) -> Value:
        """What stands beside the properties: Metadata, DeletionPolicy, UpdatePolicy, CreationPolicy..."""
        return self._section(name, (name,))

    def _section(self, name: str, label: tuple[str, ...]) -> Value:
        model, world = self.model, self.world
        known = world.sections.get((model, name))
        if known is None:
            node = Node(model.raw.get(name, ABSENT), model.template, (*model.path, name))
            known = world.sections[model, name] = Value(node, world, self, label)
        return known

    @property
    def depends_on(self) -> tuple[str, ...]:
        """Logical ids of DependsOn."""
        return tuple(entry.text() for entry in self.attribute("DependsOn").one_or_many())

    def referrers(self, *types: str) -> list[Resource]:
        """Resources of the assembly that name this one, also through outputs and exports; in this world.

        Args:
            types: only resources of these types; all without.
        """
        named = self.world.assembly.referrers.get(self.model, ())
        views = (Resource(model, self.world) for model in named if not types or model.type in types)
        return [view for view in views if view.exists]

    def __eq__(self, other: object) -> bool:
        """Whether it is the same resource."""
        return isinstance(other, Resource) and other.model is self.model

    def __hash__(self) -> int:
        """By the resource."""
        return hash(self.model)

    def __str__(self) -> str:
        """As a person finds it: construct path, else logical id."""
        return self.model.name

    def __repr__(self) -> str:
        """For debugging."""
        return f"<Resource {self.logical_id} {self.type}>"


class Template:
    """One template.

    Attributes:
        model: the template as it was read.
        world: the reading that it belongs to.
    """

    __slots__ = ("model", "world")

    def __init__(self, model: TemplateModel, world: World) -> None:
        """Wrap a template."""
        self.model = model
        self.world = world

    @property
    def name(self) -> str:
        """Its file, as it was given."""
        return self.model.name

    @property
    def environment(self) -> Environment:
        """Region, account and stack name, as far as they are known."""
        return self.model.environment

    @property
    def assembly(self) -> Assembly:
        """All templates that are deployed together."""
        return Assembly(self.world)

    def section(self, name: str) -> Value:
        """A top-level section, for example `Outputs`."""
        known = self.world.sections.get((self.model, name))
        if known is None:
            node = Node(self.model.raw.get(name, ABSENT), self.model, (name,))
            known = self.world.sections[self.model, name] = Value(node, self.world, None, (name,))
        return known

    def resources(self, *types: str) -> Iterator[Resource]:
        """Its resources that exist in this world, of these types (all without types)."""
        yield from _existing(self.model.by_type, types, self.world)

    def resource(self, logical_id: str) -> Resource:
        """One resource.

        Raises:
            NotKnown: there is none of that name.
        """
        model = self.model.resources.get(logical_id)
        if model is None:
            raise NotKnown(f"{logical_id} is not in the template")
        return Resource(model, self.world)

    def __eq__(self, other: object) -> bool:
        """Whether it is the same template."""
        return isinstance(other, Template) and other.model is self.model

    def __hash__(self) -> int:
        """By the template."""
        return hash(self.model)


class Assembly:
    """All templates that are deployed together.

    Attributes:
        world: the reading that it belongs to.
    """

    __slots__ = ("world",)

    def __init__(self, world: World) -> None:
        """Wrap the assembly of a world."""
        self.world = world

    @property
    def is_app(self) -> bool:
        """Whether it is a whole app: only then may a rule say that something is missing in it."""
        return self.world.assembly.is_app

    @property
    def templates(self) -> list[Template]:
        """Its templates, nested ones after their parents."""
        return [Template(model, self.world) for model in self.world.assembly.templates]

    def resources(self, *types: str) -> Iterator[Resource]:
        """Resources of all templates that exist in this world, of these types (all without types)."""
        yield from _existing(self.world.assembly.by_type, types, self.world)


def _existing(
    by_type: Mapping[str, list[ResourceModel]] | Mapping[str, object], types: tuple[str, ...], world: World
) -> Iterator[Resource]:
    for kind in types or tuple(by_type):
        models = by_type.get(kind, ())
        for model in models if isinstance(models, list) else ():
            view = Resource(model, world)
            if view.exists:
                yield view
