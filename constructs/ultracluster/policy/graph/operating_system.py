"""The operating system of what is launched, as far as the templates tell it."""

from __future__ import annotations

from ultracluster.facts.image_names import system_named
from ultracluster.policy.graph.fleets import NODE_GROUP
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, users_of
from ultracluster.policy.states import NotKnown, Opaque, Unknown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = ["AL2023", "image_parameter", "operating_system"]

AL2023 = "al2023"
_BATCH = "AWS::Batch::ComputeEnvironment"
_SSM_TYPE = "AWS::SSM::Parameter::Value"
_RESOLVE = "resolve:ssm:"


@remembered
def operating_system(holder: Resource) -> str:
    """The operating system of a launch template or instance, for example `al2023` or `ubuntu-24.04`.

    Raises:
        NotKnown: nothing tells it.
    """
    keys = ("LaunchTemplateData", "ImageId") if holder.type == LAUNCH_TEMPLATE else ("ImageId",)
    image = holder.get(*keys)
    if image.exists:
        return _of_text(image_parameter(image) or "", f"image {image.shown}")
    users = users_of(holder) if holder.type == LAUNCH_TEMPLATE else []
    found = {_of_consumer(use.consumer) for use in users}
    if len(found) != 1:
        raise NotKnown("which image is launched")
    return found.pop()


def _of_consumer(consumer: Resource) -> str:
    """What the consumer itself says of the image that a service picks for it."""
    if consumer.type == NODE_GROUP:
        return _of_text(consumer.get("AmiType").text(""), f"the image of {consumer}")
    if consumer.type == _BATCH:
        kinds = {entry["ImageType"].text("") for entry in consumer.get("ComputeResources", "Ec2Configuration").items()}
        return _of_text(kinds.pop() if len(kinds) == 1 else "", f"the image of {consumer}")
    raise NotKnown(f"the image of {consumer}")


def _of_text(text: str, what: str) -> str:
    found = system_named(text)
    if found is None:
        raise NotKnown(f"the operating system of {what}")
    return found.os


def image_parameter(image: Value) -> str | None:
    """The name behind an image that is read from Systems Manager, however it is referred to; None for an id.

    Only names tell something; what a parameter holds is known at deployment.
    """
    state = image.state
    if isinstance(state, Unknown):
        return _default_of(image, state.symbol)
    if not image.is_scalar:
        return None
    for part in image.parts():
        text = part.name if isinstance(part, Opaque) else part
        if _RESOLVE in text:
            return text.split(_RESOLVE, 1)[1]
    return None


def _default_of(image: Value, symbol: object) -> str | None:
    match symbol:
        case ("parameter", int() as template_id, str() as name):
            for template in image.world.assembly.templates:
                declaration = template.section("Parameters").get(name) if id(template) == template_id else None
                if isinstance(declaration, dict) and str(declaration.get("Type")).startswith(_SSM_TYPE):
                    return str(declaration.get("Default") or "")
    return None
