"""Realises the user data of the plan: text that all fleets share stands once per stack, in a mapping of the template.

A bootstrap of some kilobytes per launch template would fill a template after a few dozen fleets. Its shared parts go
into one `Mappings` entry, and a launch template holds only what is its own and look-ups of the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import aws_cdk as cdk

from ultracluster.plan.user_data import Shared, Slot, Text, UserDataPlan

__all__ = ["render_user_data"]

_MAPPING = "Bootstrap"
_SECOND_KEY = "text"


def render_user_data(stack: cdk.Stack, plan: UserDataPlan, slots: Mapping[str, str]) -> str:
    """The user data as a launch template wants it: base64 over the joined parts.

    Args:
        stack: the stack of the launch template; it gets the mapping.
        plan: the parts.
        slots: values of the slots; tokens are allowed.

    Raises:
        KeyError: a slot has no value.
    """
    shared = {part.key: part.text for part in plan.parts if isinstance(part, Shared)}
    name = _mapping(stack, shared) if shared else ""
    joined: list[object] = []
    for part in plan.parts:
        match part:
            case Text(text=text):
                joined.append(text)
            case Slot(name=slot):
                joined.append(slots[slot])
            case Shared(key=key):
                joined.append({"Fn::FindInMap": [name, key, _SECOND_KEY]})
    return cdk.Token.as_string({"Fn::Base64": {"Fn::Join": ["", joined]}})


def _mapping(stack: cdk.Stack, shared: Mapping[str, str]) -> str:
    """Put the texts into the stack's mapping, which is made on first use; returns its name."""
    found = stack.node.try_find_child(_MAPPING)
    mapping = cdk.CfnMapping(stack, _MAPPING, lazy=False) if found is None else cast("cdk.CfnMapping", found)
    for key, text in shared.items():
        mapping.set_value(key, _SECOND_KEY, text)
    return mapping.logical_id
