"""Conditions of a template in one world."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from ultracluster.policy.parameters import FreeParameter, as_text, bound_node, compared_value, pseudo_parameter
from ultracluster.policy.states import Node, NotKnown, Reference, Text, Unknown
from ultracluster.policy.world import World

if TYPE_CHECKING:
    from ultracluster.policy.model import TemplateModel

__all__ = ["condition_holds", "symbol_of"]


def symbol_of(node: Node) -> tuple[object, ...]:
    """A mark that is equal for values that are written alike in one template."""
    return ("as written", id(node.template), json.dumps(node.raw, sort_keys=True, default=str))


def condition_holds(world: World, template: TemplateModel, name: object) -> bool:
    """Whether a condition holds in this world.

    Raises:
        NotKnown: the condition refers to itself.
    """
    if not isinstance(name, str):
        raise NotKnown("the name of a condition is no text")
    key = ("condition", id(template), name)
    written = template.section("Conditions").get(name)
    node = Node(written, template, ("Conditions", name))

    def read() -> bool:
        with world.deeper():
            return _holds(world, node, name)

    return world.remember(key, read)


def _holds(world: World, node: Node, label: str) -> bool:
    raw = node.raw
    if isinstance(raw, dict) and len(raw) == 1:
        key, inner = next(iter(raw.items()))
        reader = _READERS.get(key)
        if reader is not None:
            with world.deeper():
                return reader(world, node.child(key, inner), label)
    return _either(world, node, label)


def _either(world: World, node: Node, label: str, *, first: bool = True) -> bool:
    options = (first, not first)
    return world.choose(symbol_of(node), options, told=lambda holds: f"{label} is {'true' if holds else 'false'}")


def _operands(node: Node) -> list[Node]:
    return [node.child(at, raw) for at, raw in enumerate(node.raw)] if isinstance(node.raw, list) else []


def _and(world: World, node: Node, label: str) -> bool:
    return all(_holds(world, operand, label) for operand in _operands(node))


def _or(world: World, node: Node, label: str) -> bool:
    return any(_holds(world, operand, label) for operand in _operands(node))


def _not(world: World, node: Node, label: str) -> bool:
    operands = _operands(node)
    return not _holds(world, operands[0], label) if len(operands) == 1 else _either(world, node, label)


def _named(world: World, node: Node, label: str) -> bool:  # noqa: ARG001 - one signature for all readers
    return condition_holds(world, node.template, node.raw)


def _equals(world: World, node: Node, label: str) -> bool:
    operands = _operands(node)
    if len(operands) != 2:  # noqa: PLR2004 - Fn::Equals takes two
        return _either(world, node, label)
    reads = world.defaults_read
    one, other = (_operand(world, operand) for operand in operands)
    if isinstance(other, FreeParameter):
        one, other = other, one
    if isinstance(one, FreeParameter) and isinstance(other, str):
        return one.equals(other)
    if isinstance(one, str) and isinstance(other, str):
        if world.defaults_read == reads:
            return one == other
        return _either(world, node, label, first=one == other)
    return _either(world, node, label)


def _operand(world: World, node: Node) -> str | FreeParameter | None:
    """A text, an open parameter, or None for what cannot be compared."""
    raw = node.raw
    name = raw.get("Ref") if isinstance(raw, dict) and len(raw) == 1 else None
    if isinstance(name, str):
        with world.deeper():
            return _parameter_operand(world, node, name)
    from ultracluster.policy.resolve import resolve  # resolves conditions in its turn

    state = resolve(node, world).raw
    if isinstance(state, Unknown | Text | Reference):
        return None
    return as_text(state)


def _parameter_operand(world: World, node: Node, name: str) -> str | FreeParameter | None:
    template = node.template
    if name.startswith("AWS::"):
        return pseudo_parameter(world, template, name)
    if name not in template.section("Parameters"):
        return None
    bound = bound_node(template, name)
    return compared_value(world, template, name) if bound is None else _operand(world, bound)


_READERS: dict[str, Callable[[World, Node, str], bool]] = {
    "Fn::And": _and,
    "Fn::Or": _or,
    "Fn::Not": _not,
    "Fn::Equals": _equals,
    "Condition": _named,
}
