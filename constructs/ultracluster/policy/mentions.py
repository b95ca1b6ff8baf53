"""Who names whom: the references between resources, read once per assembly from the text of the intrinsics alone.

Conditions play no part here: the result says which resources are worth a closer look, not what they say.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ultracluster.policy.model import ResourceModel, TemplateModel

__all__ = ["SUB_NAME", "exports", "imports_of", "names_in", "referrers", "static_text"]

SUB_NAME = re.compile(r"\$\{\s*([^!{}\s][^{}]*?)\s*\}")
"""A placeholder of Fn::Sub; `${!Literal}` is none."""

_IMPORT, _OUTPUT = "import", "output"
Mention = tuple[str, object]


def mentions_in(raw: object) -> Iterator[Mention]:
    """(kind, what) of every reference below a value: names, imported values, and attributes as `id.attribute`."""
    stack: list[object] = [raw]
    while stack:
        value = stack.pop()
        if type(value) is list:
            stack.extend(value)
        elif type(value) is dict:
            for key, inner in value.items():
                if key in _READERS:
                    yield from _READERS[key](inner)
                stack.append(inner)


def _name(inner: object) -> Iterator[Mention]:
    if isinstance(inner, str):
        yield ("name", inner)


def _attribute(inner: object) -> Iterator[Mention]:
    parts = inner.split(".", 1) if isinstance(inner, str) else inner
    if isinstance(parts, list) and len(parts) >= 2 and isinstance(parts[0], str):  # noqa: PLR2004 - id and attribute
        yield ("name", parts[0])
        yield ("attribute", f"{parts[0]}.{parts[1]}")


def _substitution(inner: object) -> Iterator[Mention]:
    pattern = inner[0] if isinstance(inner, list) and inner else inner
    for name in SUB_NAME.findall(pattern) if isinstance(pattern, str) else ():
        yield ("name", name.split(".", 1)[0])
        if "." in name:
            yield ("attribute", name)


def _import(inner: object) -> Iterator[Mention]:
    yield (_IMPORT, inner)


def _stack_output(inner: object) -> Iterator[Mention]:
    yield (_OUTPUT, inner)


_READERS = {
    "Ref": _name,
    "Condition": _name,
    "Fn::GetAtt": _attribute,
    "Fn::Sub": _substitution,
    "Fn::ImportValue": _import,
    "Fn::GetStackOutput": _stack_output,
}


def names_in(raw: object) -> set[str]:
    """Names of parameters, resources and conditions that a value mentions."""
    return {str(what) for kind, what in mentions_in(raw) if kind == "name"}


def imports_of(template: TemplateModel) -> set[str]:
    """Names that a template imports, where they are literal."""
    if template.document.text and "ImportValue" not in template.document.text:
        return set()
    found = (static_text(what, template) for kind, what in mentions_in(template.raw) if kind == _IMPORT)
    return {name for name in found if name is not None}


def static_text(raw: object, template: TemplateModel) -> str | None:
    """A text that needs no decision: a literal, or Fn::Sub with known pseudo parameters only."""
    if isinstance(raw, str):
        return raw
    pattern = raw.get("Fn::Sub") if isinstance(raw, dict) and len(raw) == 1 else None
    if not isinstance(pattern, str):
        return None
    known = {
        "AWS::StackName": template.environment.stack_name,
        "AWS::Region": template.environment.region,
        "AWS::AccountId": template.environment.account,
    }
    if any(known.get(name) is None for name in SUB_NAME.findall(pattern)):
        return None
    return SUB_NAME.sub(lambda found: str(known[found.group(1)]), pattern)


def exports(templates: Iterable[TemplateModel]) -> Mapping[str, tuple[TemplateModel, str]]:
    """Exported names with the template and the output behind them; a name exported twice is left out."""
    found: dict[str, tuple[TemplateModel, str]] = {}
    twice: set[str] = set()
    for template in templates:
        for output, body in template.section("Outputs").items():
            export = body.get("Export") if isinstance(body, dict) else None
            name = static_text(export.get("Name"), template) if isinstance(export, dict) else None
            if name is not None:
                twice |= {name} & found.keys()
                found[name] = (template, output)
    return {name: place for name, place in found.items() if name not in twice}


def referrers(templates: Sequence[TemplateModel]) -> Mapping[ResourceModel, Sequence[ResourceModel]]:
    """For each resource those that name it, directly or by way of outputs, exports and nested parameters."""
    users = _users(templates)
    return {
        resource: _reached(resource, users)
        for template in templates
        for resource in template.resources.values()
        if resource in users
    }


def _reached(start: Hashable, users: Mapping[Hashable, Sequence[Hashable]]) -> tuple[ResourceModel, ...]:
    found: dict[ResourceModel, None] = {}
    seen, stack = {start}, [start]
    while stack:
        for user in users.get(stack.pop(), ()):
            if user in seen:
                continue
            seen.add(user)
            if isinstance(user, ResourceModel):
                found[user] = None
            else:
                stack.append(user)
    return tuple(found)


def _users(templates: Sequence[TemplateModel]) -> dict[Hashable, list[Hashable]]:
    exported = exports(templates)
    by_stack: dict[str | None, TemplateModel] = {
        template.environment.stack_name: template for template in templates if template.environment.stack_name
    }
    users: dict[Hashable, list[Hashable]] = {}
    for template in templates:
        for user, raw in _sites(template):
            for used in _used(raw, template, exported, by_stack):
                users.setdefault(used, []).append(user)
    return users


def _sites(template: TemplateModel) -> Iterator[tuple[Hashable, object]]:
    for resource in template.resources.values():
        yield resource, resource.raw
        child = template.children.get(resource.logical_id)
        properties = resource.raw.get("Properties")
        parameters = properties.get("Parameters") if isinstance(properties, dict) else None
        if child is not None and isinstance(parameters, dict):
            for name, value in parameters.items():
                yield ("parameter", id(child), name), value
    for name, body in template.section("Outputs").items():
        yield ("output", id(template), name), body


def _used(
    raw: object,
    template: TemplateModel,
    exported: Mapping[str, tuple[TemplateModel, str]],
    by_stack: Mapping[str | None, TemplateModel],
) -> Iterator[Hashable]:
    for kind, what in mentions_in(raw):
        if kind == "name":
            yield template.resources.get(str(what)) or ("parameter", id(template), what)
        elif kind == "attribute":
            logical_id, _, attribute = str(what).partition(".")
            child = template.children.get(logical_id)
            if child is not None and attribute.startswith("Outputs."):
                yield ("output", id(child), attribute.removeprefix("Outputs."))
        elif kind == _IMPORT:
            exporter = exported.get(static_text(what, template) or "")
            if exporter is not None:
                yield ("output", id(exporter[0]), exporter[1])
        elif isinstance(what, dict):
            yield from _stack_output_used(what, template, by_stack)


def _stack_output_used(
    what: Mapping[str, Any], template: TemplateModel, by_stack: Mapping[str | None, TemplateModel]
) -> Iterator[Hashable]:
    source = by_stack.get(static_text(what.get("StackName"), template))
    if source is not None:
        yield ("output", id(source), what.get("OutputName"))
