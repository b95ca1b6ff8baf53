"""Queries over synthesized templates, which are plain dictionaries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Template = Mapping[str, Any]
_VARIABLE = re.compile(r"\$\{(!?)([^}]+)\}")


def resources(template: Template, resource_type: str) -> dict[str, dict[str, Any]]:
    """All resources of a type by logical id."""
    return {key: body for key, body in template.get("Resources", {}).items() if body["Type"] == resource_type}


def resource_types(template: Template) -> Counter[str]:
    """How many resources of each type the template holds."""
    return Counter(body["Type"] for body in template.get("Resources", {}).values())


def all_properties(template: Template, resource_type: str) -> list[dict[str, Any]]:
    """The properties of every resource of a type, in the order of the template."""
    return [body.get("Properties", {}) for body in resources(template, resource_type).values()]


def only(template: Template, resource_type: str) -> dict[str, Any]:
    """The properties of the one resource of a type.

    Raises:
        AssertionError: there is none, or more than one.
    """
    found = all_properties(template, resource_type)
    if len(found) != 1:
        raise AssertionError(
            f"{len(found)} resources of type {resource_type}, expected one of {resource_types(template)}"
        )
    return found[0]


def launch_template_data(template: Template) -> list[dict[str, Any]]:
    """The data of every launch template."""
    return [body["LaunchTemplateData"] for body in all_properties(template, "AWS::EC2::LaunchTemplate")]


def user_data(template: Template, data: Mapping[str, Any], values: Mapping[str, str] | None = None) -> str:
    """The user data of one launch template as an instance would read it (see `text`)."""
    return text(template, data["UserData"], values)


def references(value: Any) -> set[str]:
    """Logical ids and pseudo parameters that a value names in `Ref`, `Fn::GetAtt` and `Fn::Sub`."""
    return {name.partition(".")[0] for name in _named(value)}


def _named(value: Any) -> Iterator[str]:
    match value:
        case {"Ref": str(name)}:
            yield name
        case {"Fn::GetAtt": [str(name), *_]} | {"Fn::GetAtt": str(name)}:
            yield name
        case {"Fn::Sub": str(pattern)} | {"Fn::Sub": [str(pattern), *_]}:
            yield from (name for literal, name in _VARIABLE.findall(pattern) if not literal)
        case dict():
            for inner in value.values():
                yield from _named(inner)
        case list():
            for inner in value:
                yield from _named(inner)


def text(template: Template, value: Any, values: Mapping[str, str] | None = None) -> str:
    """Resolve a value of the template to text.

    What only a deployment knows stays a placeholder: `${LogicalId}`, `${LogicalId.Attribute}`, `${AWS::Region}`.
    `Fn::Base64` gives the text before encoding.

    Args:
        template: the template the value stands in; its mappings are read.
        value: a string or an intrinsic function.
        values: what placeholders stand for, by name, for example `{"AWS::Region": "us-east-1"}`.

    Raises:
        ValueError: an intrinsic function that is not text, so that no test passes on what was not understood.
    """
    return _Resolver(template.get("Mappings", {}), values or {}).text(value)


class _Resolver:
    """Intrinsic functions by name, over the mappings of one template."""

    def __init__(self, mappings: Mapping[str, Any], known: Mapping[str, str]) -> None:
        self._mappings = mappings
        self._known = known
        self._functions: dict[str, Callable[[Any], str]] = {
            "Ref": self._placeholder,
            "Fn::Base64": self.text,
            "Fn::FindInMap": self._find_in_map,
            "Fn::GetAtt": lambda value: self._placeholder(value if isinstance(value, str) else ".".join(value)),
            "Fn::GetStackOutput": lambda value: self._placeholder(f"{value['StackName']}.{value['OutputName']}"),
            "Fn::ImportValue": lambda value: self._placeholder(self.text(value)),
            "Fn::Join": lambda value: value[0].join(map(self.text, value[1])),
            "Fn::Select": lambda value: self.text(value[1][int(value[0])]),
            "Fn::Sub": self._substitute,
        }

    def text(self, value: Any) -> str:
        """The text of a string, a number or an intrinsic function."""
        if isinstance(value, str | int | float):
            return str(value)
        if isinstance(value, dict) and len(value) == 1:
            ((name, argument),) = value.items()
            if name in self._functions:
                return self._functions[name](argument)
        raise ValueError(f"not text: {value!r}")

    def _placeholder(self, name: str) -> str:
        return self._known.get(name, f"${{{name}}}")

    def _find_in_map(self, argument: list[Any]) -> str:
        name, first, second = map(self.text, argument)
        return self.text(self._mappings[name][first][second])

    def _substitute(self, argument: str | list[Any]) -> str:
        pattern, own = (argument, {}) if isinstance(argument, str) else argument
        names = {name: self.text(inner) for name, inner in own.items()}

        def replace(match: re.Match[str]) -> str:
            literal, name = match.groups()
            return f"${{{name}}}" if literal else names.get(name) or self._placeholder(name)

        return _VARIABLE.sub(replace, pattern)
