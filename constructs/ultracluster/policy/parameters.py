"""What a parameter is worth in one world.

With AllowedValues every value is an option. Without, its default stands for it; a condition that compares it with a
text is taken both ways, and what was decided there holds wherever the parameter is read.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ultracluster.policy.states import Node, Unknown
from ultracluster.policy.world import ChoiceKind, World

if TYPE_CHECKING:
    from ultracluster.policy.model import TemplateModel

__all__ = ["FreeParameter", "as_text", "free_parameter", "is_default", "parameter_value", "pseudo_parameter"]

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


@dataclass(slots=True)
class FreeParameter:
    """A parameter without a list of values, or a pseudo parameter that the environment does not tell."""

    world: World
    name: str
    default: str | None
    in_conditions: bool
    key: tuple[object, ...]
    decided: str | None = None
    excluded: set[str] = field(default_factory=set)

    def equals(self, text: str) -> bool:
        """Whether it is that text in this world; the default decides which way is read first."""
        self.world.touches += 1
        if self.decided is not None:
            return self.decided == text
        if text in self.excluded:
            return False
        options = (True, False) if self.default == text else (False, True)
        other = f"{self.name} is not {text!r}"
        same = self.world.choose(
            ("is", self.key, text), options, told=lambda equal: f"{self.name} = {text!r}" if equal else other
        )
        if same:
            self.decided = text
        else:
            self.excluded.add(text)
        return same

    def value(self) -> str | None:
        """The text in this reading; None when it is not known."""
        self.world.touches += self.decided is not None or bool(self.excluded)
        self.world.touches += not self.world.defaults_stand
        if self.world.defaults_stand and self.decided is None and self.default and self.default not in self.excluded:
            default = self.default
            # Where a condition may compare it, the other way is read too; else the default alone stands for it.
            stands = self.world.choose(
                (_DEFAULT, self.key),
                (True, False) if self.in_conditions else (True,),
                told=lambda taken: f"{self.name} = {default!r} (default)" if taken else f"{self.name} not at default",
            )
            if stands:
                self.decided = default
            else:
                self.excluded.add(default)
        self.world.defaults_read += 1
        return self.decided or None


def parameter_value(world: World, template: TemplateModel, name: str) -> object:
    """Its value: a text, a list of texts, or `Unknown`. Parameters of nested stacks are read by `resolve`."""
    declaration = _declaration(template, name)
    kind = declaration.get("Type")
    if isinstance(kind, str) and kind.startswith("AWS::SSM::Parameter::Value"):
        return Unknown(f"parameter {name} is read from Systems Manager at deployment", _symbol(template, name))
    is_list = isinstance(kind, str) and (kind == "CommaDelimitedList" or kind.startswith("List<"))
    allowed = () if is_list else _allowed(declaration)
    text = _one_of(world, template, name, allowed) if allowed else free_parameter(world, template, name).value()
    if not text:
        return Unknown(_why_unknown(declaration, name), _symbol(template, name))
    return [part.strip() for part in text.split(",")] if is_list else text


def _why_unknown(declaration: dict[str, Any], name: str) -> str:
    default = declaration.get("Default")
    if default is None:
        return f"parameter {name} has no default"
    return f"parameter {name} is to be filled in" if default == "" else f"parameter {name} is not at its default"


def _symbol(template: TemplateModel, name: str) -> tuple[object, ...]:
    return ("parameter", id(template), name)


def _declaration(template: TemplateModel, name: str) -> dict[str, Any]:
    declaration = template.section("Parameters").get(name)
    return declaration if isinstance(declaration, dict) else {}


def allowed_values(template: TemplateModel, name: str) -> tuple[str, ...]:
    """The AllowedValues of a parameter; none when it takes any value."""
    return _allowed(_declaration(template, name))


def _allowed(declaration: dict[str, Any]) -> tuple[str, ...]:
    listed = declaration.get("AllowedValues")
    texts = [as_text(entry) for entry in listed] if isinstance(listed, list) else []
    return tuple(dict.fromkeys(text for text in texts if text is not None))


def _one_of(world: World, template: TemplateModel, name: str, allowed: tuple[str, ...]) -> str:
    default = as_text(_declaration(template, name).get("Default"))
    options = (default, *(text for text in allowed if text != default)) if default in allowed else allowed
    return world.choose(
        _symbol(template, name),
        tuple(str(option) for option in options),
        told=lambda text: f"{name} = {text!r}{' (default)' if text == default else ''}",
        kind=ChoiceKind.ALLOWED_VALUE,
        has_default=default in allowed,
    )


def compared_value(world: World, template: TemplateModel, name: str) -> str | FreeParameter:
    """A parameter as an operand of a comparison: a decided text, or what is decided by comparing."""
    allowed = _allowed(_declaration(template, name))
    return _one_of(world, template, name, allowed) if allowed else free_parameter(world, template, name)


def free_parameter(world: World, template: TemplateModel, name: str) -> FreeParameter:
    """The state of a parameter without AllowedValues in this world."""
    key = _symbol(template, name)
    default = as_text(_declaration(template, name).get("Default"))
    return _free(world, FreeParameter(world, name, default, in_conditions=name in template.condition_names, key=key))


def _free(world: World, fresh: FreeParameter) -> FreeParameter:
    # Noted for one reading: what was decided in another has no place here.
    found: FreeParameter = world.facts.setdefault(("free", fresh.key), fresh)
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
    return _free(world, FreeParameter(world, name, None, in_conditions=False, key=key))


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
    key = ("pseudo", name) if name.startswith("AWS::") else _symbol(template, name)
    free = world.facts.get(("free", key))
    if isinstance(free, FreeParameter):
        return free.decided
    choice = world.trace.get(key)
    return str(choice.options[choice.taken]) if choice is not None else None
