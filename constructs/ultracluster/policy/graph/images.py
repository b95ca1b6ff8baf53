"""Whether a property that takes an image id holds one."""

from __future__ import annotations

from typing import Any

from ultracluster.policy.states import NotKnown, Opaque, Reference, Text, Unknown
from ultracluster.policy.value import Value

__all__ = ["image_beginning"]

_IMAGE_TYPES = ("AWS::EC2::Image::Id", "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>")
_DYNAMIC = "{{resolve:"


def image_beginning(image: Value) -> str:
    """How the text of an image begins; empty for what CloudFormation turns into an id before anyone reads it.

    Raises:
        NotKnown: it cannot be told.
    """
    state = image.state
    if isinstance(state, Reference):
        return ""  # an image that is built here
    if isinstance(state, Text):
        return _first(state.parts[0])
    if isinstance(state, Unknown) and _parameter_type(image, state.symbol) in _IMAGE_TYPES:
        return ""
    return image.text()


def _first(part: str | Opaque) -> str:
    if isinstance(part, str):
        return part
    if part.name.startswith(_DYNAMIC):
        return ""
    raise NotKnown(part.reason)


def _parameter_type(image: Value, symbol: Any) -> object:  # noqa: ANN401 - whatever marks an unknown value
    """The type of the parameter that a value stands for; None for anything else."""
    match symbol:
        case ("parameter", int() as template_id, str() as name):
            for template in image.world.assembly.templates:
                declaration = template.section("Parameters").get(name) if id(template) == template_id else None
                if isinstance(declaration, dict):
                    return declaration.get("Type")
    return None
