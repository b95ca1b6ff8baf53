"""Who launches instances from a launch template, and of which types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ultracluster.policy.graph.launch_places import CONSUMERS, LaunchPlace, launch_places
from ultracluster.policy.model import AssemblyModel, ResourceModel
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Assembly, Resource
from ultracluster.policy.world import remembered

if TYPE_CHECKING:
    from ultracluster.facts.instances import InstanceType

__all__ = [
    "CONSUMERS",
    "LAUNCH_TEMPLATE",
    "LaunchTemplateUse",
    "instance_types",
    "mixed_launch_templates",
    "named_launch_template",
    "served_types",
    "users_of",
    "uses_of",
]

LAUNCH_TEMPLATE = "AWS::EC2::LaunchTemplate"


@dataclass(frozen=True, slots=True)
class LaunchTemplateUse:
    """One place where a consumer names a launch template.

    Attributes:
        consumer: Auto Scaling group, fleet, instance, node group, Batch environment or PCS node group.
        launch_template: the launch template of the assembly.
        place: the specification that names it, with its version.
        types: instance types that the consumer launches from it; empty when it leaves them to the launch template.
    """

    consumer: Resource
    launch_template: Resource
    place: Value
    types: tuple[Value, ...]


def named_launch_template(specification: Value) -> Resource | None:
    """The launch template that a specification names by id or by name; None when it is a literal of elsewhere.

    Args:
        specification: an object with LaunchTemplateId (EKS: Id, PCS: TemplateId) or LaunchTemplateName (EKS: Name).

    Raises:
        NotKnown: what it names is not known.
    """
    for key in ("LaunchTemplateId", "Id", "TemplateId"):
        value = specification[key]
        if value.exists:
            return value.resource(LAUNCH_TEMPLATE)
    for key in ("LaunchTemplateName", "Name"):
        name = specification[key]
        if name.exists:
            return name.resource(LAUNCH_TEMPLATE) or _by_name(name)
    return None


def _by_name(name: Value) -> Resource | None:
    if name.reference() is not None:
        return None
    wanted = name.text()
    for template in Assembly(name.world).resources(LAUNCH_TEMPLATE):
        written = template.get("LaunchTemplateName")
        if written.is_scalar and written.known and written.text() == wanted:
            return template
    return None


@remembered
def uses_of(consumer: Resource) -> list[LaunchTemplateUse]:
    """Every launch template of the assembly that a consumer names; what cannot be read is noted as not judged."""
    uses: list[LaunchTemplateUse] = []
    for place in launch_places(consumer):
        with place.specification.judged_apart():
            uses.extend(_use(consumer, place))
    return uses


def _use(consumer: Resource, place: LaunchPlace) -> Iterator[LaunchTemplateUse]:
    found = named_launch_template(place.specification)
    if found is not None:
        yield LaunchTemplateUse(consumer, found, place.specification, place.types)


@remembered
def users_of(launch_template: Resource) -> list[LaunchTemplateUse]:
    """Every use of a launch template in the assembly."""
    uses: list[LaunchTemplateUse] = []
    for consumer in _candidates(launch_template):
        for place in launch_places(consumer):
            try:
                uses.extend(use for use in _use(consumer, place) if use.launch_template == launch_template)
            except NotKnown:
                continue  # it names something, and what refers to this launch template is always known
    return uses


def _candidates(launch_template: Resource) -> list[Resource]:
    found = launch_template.referrers(*CONSUMERS)
    name = launch_template.get("LaunchTemplateName")
    if name.is_scalar and name.known:
        named = _named_users(launch_template.world.assembly).get(name.text(), ())
        views = (Resource(model, launch_template.world) for model in named)
        found = list(dict.fromkeys([*found, *(view for view in views if view.exists)]))
    return found


def _named_users(assembly: AssemblyModel) -> dict[str, list[ResourceModel]]:
    """Consumers by the texts they hold under a name key: candidates for a launch template of that name."""
    key = "users by launch template name"
    if key not in assembly.cache:
        users: dict[str, list[ResourceModel]] = {}
        for kind in CONSUMERS:
            for model in assembly.by_type.get(kind, ()):
                for name in _names_in(model.raw.get("Properties")):
                    users.setdefault(name, []).append(model)
        assembly.cache[key] = users
    found: dict[str, list[ResourceModel]] = assembly.cache[key]
    return found


def _names_in(raw: object) -> set[str]:
    names: set[str] = set()
    stack = [raw]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            names |= {name for key in ("LaunchTemplateName", "Name") if isinstance(name := value.get(key), str)}
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return names


def mixed_launch_templates(group: Resource) -> list[Resource]:
    """Launch templates of the mixed instances policy of an Auto Scaling group, overrides included, each once."""
    if not group.get("MixedInstancesPolicy").exists:
        return []
    return list(dict.fromkeys(use.launch_template for use in uses_of(group)))


@remembered
def instance_types(launch_template: Resource) -> list[Value]:
    """The types that a launch template serves: those its consumers name, else its own; none when nobody says.

    The values may still be unknown: ask each for its text.
    """
    own = launch_template.get("LaunchTemplateData", "InstanceType")
    found: list[Value] = []
    uses = users_of(launch_template)
    for use in uses:
        found.extend(use.types)
    if own.exists and (not uses or any(not use.types for use in uses)):
        found.insert(0, own)
    return found


def served_types(launch_template: Resource) -> list[tuple[Value, InstanceType | None]]:
    """The types with their facts, each name once; None for a type outside the catalogue.

    A Batch family name (`p5`) stands for all its catalogued sizes.

    Raises:
        NotKnown: a type is not known.
    """
    from ultracluster.facts.instances import catalog

    known = catalog()
    found: dict[str, tuple[Value, InstanceType | None]] = {}
    for value in instance_types(launch_template):
        name = value.text()
        family = [name] if "." in name else [full for full in known if full.startswith(f"{name}.")]
        for full in family or [name]:
            found.setdefault(full, (value, known.get(full)))
    return list(found.values())
