"""What a parameter is worth in one world.

With AllowedValues every value is an option. Without, its default stands for it; a condition that compares it with a
text is taken both ways, and what was decided there holds wherever the parameter is read.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ultracluster.policy.choice import ChoiceKind
from ultracluster.policy.states import Node, Unknown
from ultracluster.policy.world import World

if TYPE_CHECKING:
    from ultracluster.policy.model import TemplateModel

__all__ = [
    "FreeParameter",
    "as_text",
    "declared",
    "free_parameter",
    "is_default",
    "parameter_value",
    "pseudo_parameter",
]

_DEFAULT = "default"
_PARTITIONS = (("cn-", "aws-cn", "amazonaws.com.cn"), ("us-gov-", "aws-us-gov", "amazonaws.com"))


def is_default(key: Hashable) -> bool:
    """Whether the key of a choice is that of a default that stands for its parameter."""
    return isinstance(key, tuple) and key[:1] == (_DEFAULT,)


def as_text(value: object) -> str | None:
    """A scalar as CloudFormation passes it on; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else None


class FreeParameter:
    """A parameter without a list of values, or a pseudo parameter that the environment does not tell.

    Attributes:
        name: its name.
        default: the text of its default.
        in_conditions: whether a condition may decide it.
        key: what is decided about it is told apart by this.
    """

    __slots__ = ("_decided", "_excluded", "_reading", "default", "in_conditions", "key", "name", "world")

    def __init__(self, world: World, name: str, default: str | None, key: Hashable, *, in_conditions: bool) -> None:
        """Nothing is decided yet."""
        self.world = world
        self.name = name
        self.default = default
        self.in_conditions = in_conditions
        self.key = key
        self._decided: str | None = None
        self._excluded: set[str] = set()
        self._reading = 0

    @property
    def decided(self) -> str | None:
        """What it was decided to be in this reading."""
        if self._reading != self.world.reading:  # what was decided in another reading has no place here
            self._reading = self.world.reading
            self._decided = None
            self._excluded = set()
        return self._decided

    def equals(self, text: str) -> bool:
        """Whether it is that text in this world; the default decides which way is read first."""
        return self.world.question(("equals", self.key, text), lambda: self._equals(text))

    def _equals(self, text: str) -> bool:
        if self.decided is not None:
            return self._decided == text
        if text in self._excluded:
            return False
        options = (True, False) if self.default == text else (False, True)
        other = f"{self.name} is not {text!r}"
        same = self.world.choose(
            ("is", self.key, text), options, told=lambda equal: f"{self.name} = {text!r}" if equal else other
        )
        if same:
            self._decided = text
        else:
            self._excluded.add(text)
        return same

    def value(self) -> str | None:
        """The text in this reading; None when it is not known."""
        world = self.world
        if not self.in_conditions and not self.default:
            world.defaults_read += 1
            return None  # nothing can decide it
        return world.question(("value", self.key), self._value)

    def _value(self) -> str | None:
        world, default = self.world, self.default
        if world.defaults_stand and self.decided is None and default and default not in self._excluded:
            # Where a condition may compare it, the other way is read too; else the default alone stands for it.
            stands = world.choose(
                (_DEFAULT, self.key),
                (True, False) if self.in_conditions else (True,),
                told=lambda taken: f"{self.name} = {default!r} (default)" if taken else f"{self.name} not at default",
            )
            if stands:
                self._decided = default
            else:
                self._excluded.add(default)
        world.defaults_read += 1
        return self.decided or None


@dataclass(frozen=True, slots=True)
class Declaration:
    """A parameter as the template declares it; what is written wrongly counts as not written."""

    default: object
    text: str | None
    is_list: bool
    is_looked_up: bool
    allowed: tuple[str, ...]
    options: tuple[str, ...]
    symbol: tuple[object, ...]


def declared(template: TemplateModel, name: str) -> Declaration:
    """The declaration of a parameter."""
    found: Declaration | None = template.declared.get(name)
    if found is None:
        found = template.declared[name] = _read(template, name)
    return found


def _read(template: TemplateModel, name: str) -> Declaration:
    body = template.section("Parameters").get(name)
    body = body if isinstance(body, dict) else {}
    kind, listed = body.get("Type"), body.get("AllowedValues")
    kind = kind if isinstance(kind, str) else ""
    default = as_text(body.get("Default"))
    texts = [as_text(entry) for entry in listed] if isinstance(listed, list) else []
    allowed = tuple(dict.fromkeys(text for text in texts if text is not None))
    return Declaration(
        default=body.get("Default"),
        text=default,
        is_list=kind == "CommaDelimitedList" or kind.startswith("List<"),
        is_looked_up=kind.startswith("AWS::SSM::Parameter::Value"),
        allowed=allowed,
        options=(default, *(text for text in allowed if text != default)) if default in allowed else allowed,
        symbol=("parameter", id(template), name),
    )


def parameter_value(world: World, template: TemplateModel, name: str) -> object:
    """Its value: a text, a list of texts, or `Unknown`. Parameters of nested stacks are read by `resolve`."""
    found = declared(template, name)
    if found.is_looked_up:
        return Unknown(f"parameter {name} is read from Systems Manager at deployment", found.symbol)
    is_one_of = found.allowed and not found.is_list
    text = _one_of(world, found, name) if is_one_of else free_parameter(world, template, name).value()
    if not text:
        return Unknown(_why_unknown(found.default, name), found.symbol)
    return [part.strip() for part in text.split(",")] if found.is_list else text


def _why_unknown(default: object, name: str) -> str:
    if default is None:
        return f"parameter {name} has no default"
    return f"parameter {name} is to be filled in" if default == "" else f"parameter {name} is not at its default"


def _one_of(world: World, found: Declaration, name: str) -> str:
    default = found.text
    return world.choose(
        found.symbol,
        found.options,
        told=lambda text: f"{name} = {text!r}{' (default)' if text == default else ''}",
        kind=ChoiceKind.ALLOWED_VALUE,
        has_default=default in found.allowed,
    )


def compared_value(world: World, template: TemplateModel, name: str) -> str | FreeParameter:
    """A parameter as an operand of a comparison: a decided text, or what is decided by comparing."""
    found = declared(template, name)
    return _one_of(world, found, name) if found.allowed else free_parameter(world, template, name)


def free_parameter(world: World, template: TemplateModel, name: str) -> FreeParameter:
    """The state of a parameter without AllowedValues in this world."""
    declaration = declared(template, name)
    found = world.free.get(declaration.symbol)
    if found is None:
        key, in_conditions = declaration.symbol, name in template.condition_names
        found = world.free[key] = FreeParameter(world, name, declaration.text, key, in_conditions=in_conditions)
    return found


def pseudo_parameter(world: World, template: TemplateModel, name: str) -> str | FreeParameter:
    """A pseudo parameter: known when the environment is, else decided by comparisons."""
    environment = template.environment
    region = environment.region
    known = {"AWS::Region": region, "AWS::AccountId": environment.account, "AWS::StackName": environment.stack_name}
    if region is not None:
        partition, suffix = next(
            ((name, suffix) for start, name, suffix in _PARTITIONS if region.startswith(start)),
            ("aws", "amazonaws.com"),
        )
        known |= {"AWS::Partition": partition, "AWS::URLSuffix": suffix}
    value = known.get(name)
    if value is not None:
        return value
    key = ("pseudo", name) if name != "AWS::StackName" else ("pseudo", id(template), name)
    found = world.free.get(key)
    if found is None:
        in_conditions = any(name in each.condition_names for each in world.assembly.templates)
        found = world.free[key] = FreeParameter(world, name, None, key, in_conditions=in_conditions)
    return found


def pseudo_state(world: World, template: TemplateModel, name: str) -> object:
    """A pseudo parameter as a value."""
    found = pseudo_parameter(world, template, name)
    value = found if isinstance(found, str) else found.value()
    return value or Unknown(f"{name} is known at deployment only", ("pseudo", name))


def bound_node(template: TemplateModel, name: str) -> Node | None:
    """What the parent stack passes for a parameter of a nested one; None when it passes nothing."""
    parent = template.parent
    properties = parent.raw.get("Properties") if parent is not None else None
    passed = properties.get("Parameters") if isinstance(properties, dict) else None
    if parent is None or not isinstance(passed, dict) or name not in passed:
        return None
    return Node(passed[name], parent.template, (*parent.path, "Properties", "Parameters", name))


def decided_value(world: World, template: TemplateModel, name: str) -> str | None:
    """What a world has decided about a parameter or pseudo parameter so far; decides nothing."""
    key: tuple[object, ...]
    key = ("pseudo", name) if name.startswith("AWS::") else ("parameter", id(template), name)
    free = world.free.get(key)
    if free is not None:
        return free.decided
    choice = world.trace.get(key)
    return str(choice.options[choice.taken]) if choice is not None else None
