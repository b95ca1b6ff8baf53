"""Intrinsics of CloudFormation, reduced as far as the template tells; one level at a time, never more than is asked.

`resolve` turns a node into one whose `raw` is a plain scalar, a list or object whose entries are still to be resolved,
or a state of `policy.states`.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from ultracluster.policy.conditions import condition_holds, symbol_of
from ultracluster.policy.mentions import static_text
from ultracluster.policy.parameters import as_text, bound_node, declared, parameter_value, pseudo_state
from ultracluster.policy.states import ABSENT, Encoded, Impossible, Node, NotKnown, Reference, Text, Unknown
from ultracluster.policy.text import join, literal_text, split_text, substitute
from ultracluster.policy.world import World

if TYPE_CHECKING:
    from ultracluster.policy.model import TemplateModel

__all__ = ["IMPORTED", "OUTPUT_OF_ELSEWHERE", "exists", "is_settled", "list_entries", "list_items", "resolve"]

IMPORTED = "imported from a stack that is not at hand"
OUTPUT_OF_ELSEWHERE = "the output of a stack that is not at hand"
"""Reasons for which a value is not known although somebody else has it for certain."""

_STACK = "AWS::CloudFormation::Stack"
_MOST_BLOCKS = 256
_OUTPUTS = "Outputs."


def resolve(node: Node, world: World) -> Node:
    """Reduce the outermost intrinsics of a node.

    Raises:
        NotKnown: references go round in a circle.
        Impossible: the world refers to a resource that it does not have.
    """
    raw = node.raw
    if type(raw) is str:
        return node if "{{resolve:" not in raw else node.become(literal_text(raw))
    if type(raw) is not dict or len(raw) != 1:
        return node
    key = next(iter(raw))
    reader = _READERS.get(key)
    if reader is not None:
        with world.deeper():
            return reader(node.child(key, raw[key]), world)
    if key.startswith("Fn::"):
        return node.become(Unknown(f"{key} is known at deployment only", symbol_of(node), may_be_absent=True))
    return node


def is_settled(raw: object) -> bool:
    """Whether a value is what it is written as: there is nothing to resolve at its outermost level."""
    if type(raw) is str:
        return "{{resolve:" not in raw
    if type(raw) is not dict or len(raw) != 1:
        return True
    key = next(iter(raw))
    return key not in _READERS and not key.startswith("Fn::")


def list_entries(node: Node, world: World) -> list[tuple[int, Node]]:
    """The entries of a resolved list with their index as written, those under AWS::NoValue left out.

    Raises:
        NotKnown: it is no list, or one that is not known.
    """
    raw = node.raw
    if isinstance(raw, Unknown):
        raise NotKnown(raw.reason)
    if not isinstance(raw, list):
        raise NotKnown(f"{_kind(raw)} where a list was expected")
    entries = ((at, resolve(node.child(at, entry), world)) for at, entry in enumerate(raw))
    return [(at, item) for at, item in entries if item.raw is not ABSENT]


def list_items(node: Node, world: World) -> list[Node]:
    """The entries of a resolved list, those under AWS::NoValue left out.

    Raises:
        NotKnown: it is no list, or one that is not known.
    """
    return [item for _, item in list_entries(node, world)]


def _kind(raw: object) -> str:
    if isinstance(raw, Reference):
        return f"the reference {raw}"
    return "an object" if isinstance(raw, dict) else "a single value"


def exists(world: World, template: TemplateModel, logical_id: str) -> bool:
    """Whether a resource is there in this world."""
    condition = template.resources[logical_id].raw.get("Condition")
    return condition is None or condition_holds(world, template, condition)


def unknown(node: Node, why: str, *because: Node) -> Node:
    """The node as something that is not known; written alike means equal.

    Args:
        node: what is not known.
        why: the reason, unless a part gives its own.
        because: parts that may be the reason.
    """
    reasons = (part.raw.reason for part in because if isinstance(part.raw, Unknown | Text))
    return node.become(Unknown(next(reasons, why), symbol_of(node)))


def _children(node: Node) -> list[Node]:
    return [node.child(at, raw) for at, raw in enumerate(node.raw)] if isinstance(node.raw, list) else []


def _ref(node: Node, world: World) -> Node:
    name, template = node.raw, node.template
    if not isinstance(name, str):
        return unknown(node, "Ref of something that is no name")
    if name == "AWS::NoValue":
        return node.become(ABSENT)
    if name.startswith("AWS::"):
        return node.become(pseudo_state(world, template, name))
    if name in template.resources:
        return node.become(_reference(world, template, name, ""))
    if name in template.section("Parameters"):
        bound = bound_node(template, name)
        return node.become(parameter_value(world, template, name)) if bound is None else _bound(node, bound, world)
    return unknown(node, f"{name} is not in the template")


def _bound(node: Node, bound: Node, world: World) -> Node:
    """What the parent passes; a list parameter gets the parts of a text between commas."""
    state = resolve(bound, world)
    name = str(node.raw)
    declaration, given = declared(node.template, name), literal(state)
    if declaration.allowed and given is not None and given not in declaration.allowed:
        # A mark that something fills in before the deployment, or a fault that is told at once.
        return unknown(node, f"parameter {name} does not take {given[:40]!r}, which is passed to it")
    if declaration.is_list and isinstance(state.raw, str | Text):
        return state.become(list(split_text(state.raw, ",")))
    return state


def _reference(world: World, template: TemplateModel, logical_id: str, attribute: str) -> Reference:
    if not exists(world, template, logical_id):
        raise Impossible
    return Reference(template.resources[logical_id], attribute)


def _get_att(node: Node, world: World) -> Node:
    parts = node.raw.split(".", 1) if isinstance(node.raw, str) else node.raw
    if not (isinstance(parts, list) and len(parts) == 2 and isinstance(parts[0], str)):  # noqa: PLR2004 - id, attribute
        return unknown(node, "Fn::GetAtt of something that is no resource")
    name, template = parts[0], node.template
    attribute = literal(resolve(node.child(1, parts[1]), world))
    if name not in template.resources or attribute is None:
        return unknown(node, f"{name} is not in the template")
    reference = _reference(world, template, name, attribute)
    if reference.type == _STACK and attribute.startswith(_OUTPUTS):
        return _output(node, template.children.get(name), attribute.removeprefix(_OUTPUTS), world)
    return node.become(reference)


def _output(node: Node, template: TemplateModel | None, name: object, world: World) -> Node:
    body = template.section("Outputs").get(name) if template is not None and isinstance(name, str) else None
    if template is None or not isinstance(body, dict) or "Value" not in body:
        return unknown(node, OUTPUT_OF_ELSEWHERE)
    return resolve(Node(body["Value"], template, ("Outputs", str(name), "Value")), world)


def _import_value(node: Node, world: World) -> Node:
    name = literal(resolve(node, world)) or static_text(node.raw, node.template)
    place = world.assembly.exported.get(name or "")
    return unknown(node, IMPORTED) if place is None else _output(node, *place, world)


def _stack_output(node: Node, world: World) -> Node:
    raw = node.raw if isinstance(node.raw, dict) else {}
    stack = literal(resolve(node.child("StackName", raw.get("StackName")), world))
    found = [template for template in world.assembly.templates if template.environment.stack_name == stack]
    return _output(node, found[0] if stack and len(found) == 1 else None, raw.get("OutputName"), world)


def _if(node: Node, world: World) -> Node:
    parts = _children(node)
    if len(parts) != 3:  # noqa: PLR2004 - condition and two branches
        return unknown(node, "Fn::If without its three parts")
    holds = condition_holds(world, node.template, parts[0].raw)
    return resolve(parts[1 if holds else 2], world)


def literal(node: Node) -> str | None:
    """The text of a resolved scalar; None for everything else."""
    return as_text(node.raw)


def _join(node: Node, world: World) -> Node:
    parts = _children(node)
    delimiter = literal(resolve(parts[0], world)) if len(parts) == 2 else None  # noqa: PLR2004 - delimiter and list
    entries = resolve(parts[1], world) if delimiter is not None else node
    if delimiter is None or not isinstance(entries.raw, list):
        return unknown(node, "Fn::Join of a list that is not known", entries)
    return node.become(join(delimiter, [item.raw for item in list_items(entries, world)]))


def _split(node: Node, world: World) -> Node:
    parts = [resolve(part, world) for part in _children(node)]
    delimiter = literal(parts[0]) if len(parts) == 2 else None  # noqa: PLR2004 - delimiter and text
    if not delimiter or not isinstance(parts[1].raw, str | Text):
        return unknown(node, "Fn::Split of a text that is not known", *parts)
    return node.become(list(split_text(parts[1].raw, delimiter)))


def _select(node: Node, world: World) -> Node:
    parts = [resolve(part, world) for part in _children(node)]
    index = literal(parts[0]) if len(parts) == 2 else None  # noqa: PLR2004 - index and list
    if index is None or not index.isdecimal() or not isinstance(parts[1].raw, list):
        return unknown(node, "Fn::Select from a list that is not known", *parts)
    items = list_items(parts[1], world)
    return items[int(index)] if int(index) < len(items) else unknown(node, "Fn::Select beyond the end of its list")


def _find_in_map(node: Node, world: World) -> Node:
    parts = _children(node)
    default = parts[3].raw if len(parts) > 3 else None  # noqa: PLR2004 - the fourth part holds the default
    keys = [literal(resolve(part, world)) for part in parts[:3]]
    mapping = node.template.section("Mappings").get(str(keys[0])) if keys else None
    found = _one_row(mapping, keys[1:])
    if found is not None:
        return resolve(Node(found, node.template, ("Mappings", *map(str, keys))), world)
    if isinstance(default, dict) and "DefaultValue" in default and None not in keys:
        return resolve(parts[3].child("DefaultValue", default["DefaultValue"]), world)
    return unknown(node, "Fn::FindInMap by a key that is not known")


def _one_row(mapping: object, keys: list[str | None]) -> object:
    """What a mapping holds; where a key is open but every row says the same, that."""
    rows = [mapping]
    for key in keys:
        tables = [row for row in rows if isinstance(row, dict)]
        if len(tables) < len(rows):
            return None
        found = [[*row.values()] if key is None else [row.get(key)] for row in tables]
        rows = [row for group in found for row in group]
    return rows[0] if rows and all(row == rows[0] for row in rows) else None


def _sub(node: Node, world: World) -> Node:
    raw = node.raw
    pattern = raw[0] if isinstance(raw, list) and raw else raw
    given = raw[1] if isinstance(raw, list) and len(raw) > 1 and isinstance(raw[1], dict) else {}
    if not isinstance(pattern, str):
        return unknown(node, "Fn::Sub of something that is no text")

    @cache
    def value(name: str) -> object:
        if name in given:
            return resolve(node.child(1, given).child(name, given[name]), world).raw
        key = "Fn::GetAtt" if "." in name else "Ref"
        return resolve(node.become({key: name}), world).raw

    return node.become(substitute(pattern, value))


def _length(node: Node, world: World) -> Node:
    state = resolve(node, world)
    return node.become(len(list_items(state, world))) if isinstance(state.raw, list) else unknown(node, "its length")


def _to_json(node: Node, world: World) -> Node:
    from ultracluster.policy.plain import plain

    try:
        value = plain(node, world)
        return node.become(ABSENT if value is ABSENT else json.dumps(value, separators=(",", ":")))
    except NotKnown as doubt:
        return unknown(node, doubt.reason)


def _cidr(node: Node, world: World) -> Node:
    parts = [literal(resolve(part, world)) for part in _children(node)]
    try:
        network = ipaddress.ip_network(str(parts[0]))
        bits = int(parts[2] or "") if len(parts) > 2 else 8  # noqa: PLR2004 - the bits may be left out
        count = int(parts[1] or "")
        if count > _MOST_BLOCKS:
            return unknown(node, f"Fn::Cidr of more than {_MOST_BLOCKS} blocks, which CloudFormation refuses")
        subnets = network.subnets(new_prefix=network.max_prefixlen - bits)
        return node.become([str(subnet) for subnet in islice(subnets, count)])
    except (ValueError, IndexError):
        return unknown(node, "Fn::Cidr of values that are not known")


def _base64(node: Node, world: World) -> Node:
    return node.become(Encoded(resolve(node, world)))


_READERS: dict[str, Callable[[Node, World], Node]] = {
    "Ref": _ref,
    "Fn::GetAtt": _get_att,
    "Fn::If": _if,
    "Fn::Sub": _sub,
    "Fn::Join": _join,
    "Fn::Select": _select,
    "Fn::Split": _split,
    "Fn::FindInMap": _find_in_map,
    "Fn::ImportValue": _import_value,
    "Fn::GetStackOutput": _stack_output,
    "Fn::Base64": _base64,
    "Fn::Cidr": _cidr,
    "Fn::Length": _length,
    "Fn::ToJsonString": _to_json,
}
