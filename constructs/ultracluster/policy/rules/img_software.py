"""Rules on what an image or a node fetches and builds, and on versions of recipes."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ultracluster.facts.image_software import Signs, image_software, version_of
from ultracluster.policy.graph.attached_groups import INSTANCE
from ultracluster.policy.graph.image_recipes import COMPONENT, Part, command_lines, parts_of, steps_of
from ultracluster.policy.graph.image_sources import RECIPE
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE
from ultracluster.policy.graph.user_data import user_data
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import diff_rule, rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_CONTAINER_RECIPE = "AWS::ImageBuilder::ContainerRecipe"
_SHOWN = 3
# Neither makes another version of what is built.
_BESIDE_CONTENT = ("Name", "Tags", "Version")


@diff_rule("UC-IMG-001", on=(RECIPE, _CONTAINER_RECIPE, COMPONENT))
def content_changes_with_the_version(old: Resource | None, new: Resource | None) -> Iterator[Problem]:
    """Another content has another version: what is built is immutable under its name and version."""
    if old is None or new is None or old.get("Name").written != new.get("Name").written:
        return
    version = new.get("Version")
    if old.get("Version").text() == version.text() and "x" not in version.text() and _content(old) != _content(new):
        yield Problem(version, f"{version.shown} as before, with another content: it exists already")


def _content(resource: Resource) -> str:
    """What a version stands for, with the versions of the components that it is made of."""
    written = {key: value.written for key, value in resource.properties.fields().items() if key not in _BESIDE_CONTENT}
    versions = [_version(entry["ComponentArn"]) for entry in resource.get("Components").items()]
    return json.dumps([written, versions], sort_keys=True)


def _version(component: Value) -> object:
    try:
        found = component.resource(COMPONENT)
    except NotKnown:
        return None  # how it is written is compared anyway
    return found.get("Version").written if found is not None else None


@rule("UC-IMG-012", on=COMPONENT)
def component_fetches_what_stays(component: Resource) -> Iterator[Problem]:
    """A component fetches what does not change behind its back."""
    lines = [line for step in steps_of(component) for line in step.lines]
    yield from _moving(component.get("Data"), lines)


@rule("UC-IMG-012", on=(LAUNCH_TEMPLATE, INSTANCE))
def node_fetches_what_stays(launched: Resource) -> Iterator[Problem]:
    """User data fetches what does not change behind its back."""
    found = user_data(launched)
    if found is not None:
        yield from _moving(found.value, command_lines(found.text))


def _moving(where: Value, lines: list[str]) -> Iterator[Problem]:
    facts = image_software()
    named: list[str] = []
    for line in lines:
        if not any(hint in line for hint in facts.moving_hints):
            continue
        if facts.fetch.at(line) is not None and facts.spared.at(line) is None:
            named.extend(found.group(0).strip("\"'`);,") for found in facts.moving.finditer(line))
    distinct = list(dict.fromkeys(named))
    if distinct:
        more = f" and {len(distinct) - _SHOWN} more" if len(distinct) > _SHOWN else ""
        yield Problem(
            where, f"what {', '.join(distinct[:_SHOWN])}{more} holds changes without a change of the template"
        )


@rule("UC-IMG-013", on=RECIPE)
def one_plugin(recipe: Resource) -> Iterator[Problem]:
    """The plugin that the EFA installer brings is not built a second time."""
    facts = image_software()
    parts = parts_of(recipe)
    builders = [part for part in parts if _has(part, facts.plugin_built)]
    if not builders or not any(_has(part, facts.installer_run) for part in parts):
        return
    versions = {found for part in parts for line in part.lines("build") for found in facts.installer.findall(line)}
    if not versions:
        raise NotKnown("which version of the EFA installer is run")
    newest = max(versions, key=lambda text: (text == "latest", version_of(text) if text != "latest" else ()))
    if newest == "latest" or version_of(newest) >= facts.plugin_bundled_from:
        message = f"aws-ofi-nccl is built beside the one that the EFA installer ({newest}) brings"
        yield Problem(builders[0].where, message)


def _has(part: Part, signs: Signs) -> bool:
    return any(signs.at(line) is not None for line in part.lines("build"))
