"""Rules on Image Builder recipes: order of their steps, tests, size, build instances, distribution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ultracluster.facts.image_names import architecture_named, architecture_of_type
from ultracluster.facts.image_software import has_accelerator, image_software
from ultracluster.policy.graph.image_recipes import BUILDS, Part, Step, build_of, parts_of
from ultracluster.policy.graph.image_sources import RECIPE, image_name
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.view import Resource

_CONTAINER_RECIPE = "AWS::ImageBuilder::ContainerRecipe"
_DISTRIBUTION = "AWS::ImageBuilder::DistributionConfiguration"
_TESTS = ("validate", "test")


@dataclass(frozen=True, slots=True)
class _Event:
    """Something that a component does in the build phase.

    Attributes:
        kind: update, pin, reboot, module, or open for a component that cannot be read.
        part: the component.
        what: the software.
    """

    kind: str
    part: Part
    what: str = ""


def _events(part: Part) -> Iterator[_Event]:
    facts = image_software()
    if part.is_open:
        yield _Event("open", part)
    if part.managed in facts.kernel_updates.managed:
        yield _Event("update", part)
    if part.managed in facts.reboots.managed:
        yield _Event("reboot", part)
    for step in part.steps or ():
        if step.phase == "build":
            yield from _of_step(part, step)


def _of_step(part: Part, step: Step) -> Iterator[_Event]:
    facts = image_software()
    keeps_kernel = any("kernel" in each or "linux" in each for each in step.excluded)
    if step.action in facts.kernel_updates.actions and not keeps_kernel:
        yield _Event("update", part)
    if step.action in facts.reboots.actions:
        yield _Event("reboot", part)
    for line in step.lines:
        if facts.build_step.at(line) is not None:
            yield from _of_line(part, line)


def _of_line(part: Part, line: str) -> Iterator[_Event]:
    facts = image_software()
    pinned = facts.kernel_pins.at(line)
    found = [(pinned, _Event("pin", part)), (facts.reboots.at(line), _Event("reboot", part))]
    if pinned is None:
        found.append((facts.kernel_updates.at(line), _Event("update", part)))
    found += [(module.installs.at(line), _Event("module", part, module.name)) for module in facts.modules]
    yield from (
        event for at, event in sorted(((at, each) for at, each in found if at is not None), key=lambda pair: pair[0])
    )


@rule("UC-IMG-002", on=RECIPE)
def reboot_before_modules(recipe: Resource) -> Iterator[Problem]:
    """Between a kernel update and the first kernel module that is built, the instance is rebooted."""
    updated: Part | None = None
    is_pinned = is_open = False
    for event in (event for part in parts_of(recipe) for event in _events(part)):
        if event.kind == "pin":
            is_pinned = True
        elif event.kind == "reboot":
            updated = None
        elif event.kind == "update" and not is_pinned:
            updated, is_open = event.part, False
        elif event.kind == "open":
            is_open = True
        elif event.kind == "module" and updated is not None:
            if is_open:
                raise NotKnown("whether a component that is not in the templates reboots")
            message = (
                f"{event.what} is installed after the kernel update of {updated.name} without a reboot between them"
            )
            yield Problem(event.part.where, message)
            return


@rule("UC-IMG-003", on=RECIPE)
def what_is_installed_is_tested(recipe: Resource) -> Iterator[Problem]:
    """A test phase looks for the drivers that the recipe installs."""
    parts = parts_of(recipe)
    installed = {event.what for part in parts for event in _events(part) if event.kind == "module"}
    tests = [line for part in parts for line in part.lines(*_TESTS)]
    missing = [
        module.name
        for module in image_software().modules
        if module.name in installed and not any(module.checks.at(line) is not None for line in tests)
    ]
    if missing and any(part.is_open for part in parts):
        raise NotKnown("what a component that is not in the templates tests")
    if missing:
        yield Problem(recipe.get("Components"), f"no test phase looks for {' and '.join(missing)}")


@rule("UC-IMG-005", on=BUILDS)
def built_on_the_architecture(image: Resource) -> Iterator[Problem]:
    """The build instances have the architecture of the parent image."""
    build = build_of(image)
    if build is None or not build.types:
        return
    parent = image_name(build.recipe.get("ParentImage"))
    wanted = architecture_named(parent.name)
    for kind in build.types:
        with kind.judged_apart():
            found = architecture_of_type(kind.text())
            if found is None or wanted is None:
                raise NotKnown(f"the architecture of {kind.shown if found is None else parent.name}")
            if found != wanted:
                yield Problem(
                    kind, f"{kind.shown} is {found}, the parent image {parent.name} {wanted}", f"build on {wanted}"
                )


@rule("UC-IMG-011", on=(RECIPE, _CONTAINER_RECIPE))
def not_too_many_components(recipe: Resource) -> Iterator[Problem]:
    """A recipe has a limited number of components."""
    components = recipe.get("Components")
    count, most = len(components.items()), image_software().components_per_recipe
    if count > most:
        yield Problem(components, f"{count} components, a recipe has at most {most}")


@rule("UC-IMG-016", on=BUILDS)
def tested_with_the_device(image: Resource) -> Iterator[Problem]:
    """An instance that tests an accelerator has one."""
    build = build_of(image)
    if build is None or not build.is_tested:
        return
    lines = [line for part in parts_of(build.recipe) for line in part.lines("test") if "||" not in line]
    for vendor, signs in image_software().device_tests.items():
        test = next((line for line in lines if signs.at(line) is not None), None)
        for kind in build.types if test is not None else ():
            with kind.judged_apart():
                able = has_accelerator(kind.text(), vendor)
                if able is None:
                    raise NotKnown(f"the accelerators of {kind.shown}")
                if not able:
                    yield Problem(kind, f"{kind.shown} has no device for the test {(test or '').strip()[:60]!r}")


@rule("UC-IMG-018", on=_DISTRIBUTION)
def image_stays_private(configuration: Resource) -> Iterator[Problem]:
    """A built image is shared with accounts or an organisation, never with everyone."""
    for entry in configuration.get("Distributions").items():
        with entry.judged_apart():
            groups = entry.get("AmiDistributionConfiguration", "LaunchPermissionConfiguration", "UserGroups")
            for group in groups.items():
                if group.text() == "all":
                    yield Problem(group, "all: the image is public, with its drivers, licences and baked-in data")
