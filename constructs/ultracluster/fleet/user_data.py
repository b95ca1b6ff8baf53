"""Realises the user data of the plan: text that all fleets share stands once per stack, in a mapping of the template.

A bootstrap of some kilobytes per launch template would fill a template after a few dozen fleets. Its shared parts go
into one `Mappings` entry, and a launch template holds only what is its own and look-ups of the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import cast
from weakref import WeakKeyDictionary

import aws_cdk as cdk

from ultracluster.plan.references import is_unresolved
from ultracluster.plan.user_data_parts import Part, Shared, Slot, Text, merged
from ultracluster.values import dataclass

__all__ = ["PROGRAM", "render_user_data"]

PROGRAM = "program"
"""The slot for the place and the digest of the programs: one value per stack, so shared where it is plain text."""
_MAPPING = "Bootstrap"
_SECOND_KEY = "text"


@dataclass(slots=True)
class _Texts:
    """The mapping of a stack, and what is in it already: a second fleet of a kind crosses into the CDK no more."""

    mapping: cdk.CfnMapping
    name: str
    keys: set[str] = field(default_factory=set)

    def add(self, text: Shared) -> str:
        key = text.key
        if key not in self.keys:
            self.mapping.set_value(key, _SECOND_KEY, text.text)
            self.keys.add(key)
        return key


_known: WeakKeyDictionary[cdk.Stack, _Texts] = WeakKeyDictionary()


def render_user_data(stack: cdk.Stack, parts: tuple[Part, ...], slots: Mapping[str, str]) -> str:
    """The user data as a launch template wants it: base64 over the joined parts.

    Args:
        stack: the stack of the launch template; it gets the mapping.
        parts: those of the plan.
        slots: values of the slots; tokens are allowed.

    Raises:
        KeyError: a slot has no value.
    """
    texts = _texts(stack)
    joined: list[object] = []
    for part in merged(_filled(parts, slots)):
        match part:
            case Text(text=text):
                joined.append(text)
            case Slot(name=slot):
                joined.append(slots[slot])
            case Shared():
                joined.append({"Fn::FindInMap": [texts.name, texts.add(part), _SECOND_KEY]})
    return cdk.Token.as_string({"Fn::Base64": {"Fn::Join": ["", joined]}})


def _filled(parts: tuple[Part, ...], slots: Mapping[str, str]) -> Iterator[Part]:
    for part in parts:
        if not isinstance(part, Slot) or is_unresolved(slots[part.name]):
            yield part
        else:
            value = slots[part.name]
            yield Shared(label="Program", text=value) if part.name == PROGRAM else Text(text=value)


def _texts(stack: cdk.Stack) -> _Texts:
    found = _known.get(stack)
    if found is None:
        made = stack.node.try_find_child(_MAPPING)
        mapping = cdk.CfnMapping(stack, _MAPPING, lazy=False) if made is None else cast("cdk.CfnMapping", made)
        found = _known[stack] = _Texts(mapping, mapping.logical_id)
    return found
