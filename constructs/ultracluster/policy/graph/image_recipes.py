"""Image Builder recipes: their components in order, and what each step runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ultracluster.policy.states import NotKnown
from ultracluster.policy.unreadable import Unreadable
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = ["BUILDS", "COMPONENT", "Build", "Part", "Step", "build_of", "command_lines", "parts_of", "steps_of"]

COMPONENT = "AWS::ImageBuilder::Component"
_IMAGE, _PIPELINE = "AWS::ImageBuilder::Image", "AWS::ImageBuilder::ImagePipeline"
_RECIPE, _INFRASTRUCTURE = "AWS::ImageBuilder::ImageRecipe", "AWS::ImageBuilder::InfrastructureConfiguration"
BUILDS = (_IMAGE, _PIPELINE)
"""What brings a recipe and the instances that build it together."""

_MARK = "\ufffc"
_MANAGED = re.compile(r":imagebuilder:[^:]*:aws:component/([a-z0-9-_]+)/")
# No command that matters is longer, and no text may make the patterns slow.
_LONGEST_LINE = 1000


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a component.

    Attributes:
        phase: build, validate or test.
        action: its action module.
        lines: its command lines and other texts, in order.
        excluded: what an update leaves out.
    """

    phase: str
    action: str
    lines: tuple[str, ...]
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """One component of a recipe.

    Attributes:
        where: the property that names it.
        managed: its name, when it is one of AWS.
        steps: its steps; None when they cannot be read.
    """

    where: Value
    managed: str | None
    steps: tuple[Step, ...] | None

    @property
    def name(self) -> str:
        """What it is called in a finding."""
        return self.managed or self.where.shown

    def lines(self, *phases: str) -> Iterator[str]:
        """The lines of some phases."""
        for step in self.steps or ():
            if step.phase in phases:
                yield from step.lines

    @property
    def is_open(self) -> bool:
        """Whether nothing is known of what it does."""
        return self.steps is None and self.managed is None


def command_lines(text: str) -> list[str]:
    """The lines of a script, continued ones put together, without comments."""
    joined = text.replace("\\\n", " ")
    return [line[:_LONGEST_LINE] for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]


@remembered
def parts_of(recipe: Resource) -> list[Part]:
    """The components of a recipe, in the order in which they run.

    Raises:
        NotKnown: the list is not known.
    """
    return [_part(entry["ComponentArn"]) for entry in recipe.get("Components").items()]


def _part(where: Value) -> Part:
    try:
        component = where.resource(COMPONENT)
        if component is not None:
            return Part(where, None, tuple(steps_of(component)))
        managed = _MANAGED.search(where.known_text("*"))
        return Part(where, managed.group(1) if managed else None, None)
    except NotKnown:
        return Part(where, None, None)


@remembered
def steps_of(component: Resource) -> list[Step]:
    """The steps of a component.

    Raises:
        NotKnown: its document stands elsewhere, or cannot be read.
    """
    data = component.get("Data")
    if not data.exists:
        raise NotKnown(f"the document of {component}")
    found = _read(data.known_text(_MARK))
    if isinstance(found, str):
        raise NotKnown(f"the document of {component}: {found}")
    return list(found)


@lru_cache(maxsize=64)
def _read(text: str) -> tuple[Step, ...] | str:
    """The steps of a document, or why it cannot be read."""
    from ultracluster.policy.yaml_events import read_yaml

    try:
        document, _ = read_yaml(text)
    except Unreadable as error:
        return error.reason
    phases = document.get("phases") if isinstance(document, dict) else None
    return tuple(step for phase in _objects(phases) for step in _steps(phase))


def _objects(value: object) -> list[dict[str, object]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _steps(phase: dict[str, object]) -> Iterator[Step]:
    for step in _objects(phase.get("steps")):
        inputs = step.get("inputs")
        excluded = inputs.get("exclude") if isinstance(inputs, dict) else None
        yield Step(
            phase=str(phase.get("name")),
            action=str(step.get("action")),
            lines=tuple(line for text in _texts(inputs) for line in command_lines(text)),
            excluded=tuple(map(str, excluded)) if isinstance(excluded, list) else (),
        )


def _texts(value: object) -> Iterator[str]:
    """All texts below a value, in order."""
    pending: list[object] = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            pending.extend(reversed(list(each.values())))
        elif isinstance(each, list):
            pending.extend(reversed(each))


@dataclass(frozen=True, slots=True)
class Build:
    """A recipe with the instances that build it.

    Attributes:
        recipe: the recipe.
        types: instance types of the infrastructure; none when it leaves them to the service.
        is_tested: whether the test phases run.
    """

    recipe: Resource
    types: list[Value]
    is_tested: bool


@remembered
def build_of(image: Resource) -> Build | None:
    """What an image or pipeline builds, and where; None when it builds a container.

    Raises:
        NotKnown: the recipe or the infrastructure is not in the templates.
    """
    named = image.get("ImageRecipeArn")
    if not named.exists:
        return None
    recipe = named.resource(_RECIPE)
    infrastructure = image.get("InfrastructureConfigurationArn").resource(_INFRASTRUCTURE)
    if recipe is None or infrastructure is None:
        raise NotKnown(f"the recipe or infrastructure of {image}")
    tested = image.get("ImageTestsConfiguration", "ImageTestsEnabled").boolean(True)
    return Build(recipe, infrastructure.get("InstanceTypes").items(), tested)
