"""Which image is booted, as far as its name tells, and the volumes that are mapped for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ultracluster.facts.image_names import ImageSystem, system_named
from ultracluster.policy.graph.attached_groups import INSTANCE
from ultracluster.policy.graph.fleets import NODE_GROUP, PCS_NODE_GROUP
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, users_of
from ultracluster.policy.graph.operating_system import image_parameter
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = ["LAUNCHED", "RECIPE", "ImageName", "image_name", "launched_images", "mappings", "root_system"]

RECIPE = "AWS::ImageBuilder::ImageRecipe"
LAUNCHED = (LAUNCH_TEMPLATE, INSTANCE)
"""What boots an image that it names, or that its consumers name."""

_PARAMETER = re.compile(r"^(?:ssm:)?(/?[A-Za-z0-9_.\-/]+)(?::([0-9]+))?$")
# arn:aws:imagebuilder:us-east-1:aws:image/ubuntu-server-22-lts-x86/x.x.x
_BUILT = re.compile(r":image/([a-z0-9-_]+)/")


@dataclass(frozen=True, slots=True)
class ImageName:
    """What names an image.

    Attributes:
        where: the property.
        name: name of the parameter or Image Builder image, or the AMI type of a node group.
        is_parameter: whether it is a parameter.
        version: version of the parameter; None for whatever is newest.
    """

    where: Value
    name: str
    is_parameter: bool
    version: str | None = None

    @property
    def system(self) -> ImageSystem:
        """The operating system.

        Raises:
            NotKnown: the name does not tell it.
        """
        found = system_named(self.name)
        if found is None:
            raise NotKnown(f"the operating system of {self.name}")
        return found


def image_name(value: Value) -> ImageName:
    """What names the image of a property that takes an id, a parameter, or the ARN of an Image Builder image.

    Raises:
        NotKnown: only an id does, or it is not known.
    """
    parameter = image_parameter(value)
    text = (parameter if parameter is not None else value.known_text()).strip("{}")
    found = _PARAMETER.match(text) if "/" in text and not text.startswith("arn:") else None
    if found is not None:
        return ImageName(value, found.group(1), is_parameter=True, version=found.group(2))
    built = _BUILT.search(text)
    if built is None:
        raise NotKnown(f"what image {value.shown} is")
    return ImageName(value, built.group(1), is_parameter=False)


@remembered
def launched_images(launched: Resource) -> list[ImageName]:
    """What names the images that a launch template or instance boots: its own image, else that of its consumers.

    Raises:
        NotKnown: nothing names one, or only an id does.
    """
    value = launched.get(*_data(launched), "ImageId")
    if value.exists:
        return [image_name(value)]
    users = users_of(launched) if launched.type == LAUNCH_TEMPLATE else []
    found = [name for use in users if (name := _of_consumer(use.consumer)) is not None]
    if not found:
        raise NotKnown("which image is booted")
    return found


def _of_consumer(consumer: Resource) -> ImageName | None:
    if consumer.type == NODE_GROUP and consumer.get("AmiType").exists:
        value = consumer.get("AmiType")
        return ImageName(value, value.text(), is_parameter=False)
    if consumer.type == PCS_NODE_GROUP and consumer.get("AmiId").exists:
        return image_name(consumer.get("AmiId"))
    return None


def _data(resource: Resource) -> tuple[str, ...]:
    return ("LaunchTemplateData",) if resource.type == LAUNCH_TEMPLATE else ()


def mappings(resource: Resource) -> list[Value]:
    """The block device mappings with an EBS volume, of a launch template, an instance or a recipe.

    Raises:
        NotKnown: the list is not known.
    """
    return [entry for entry in resource.get(*_data(resource), "BlockDeviceMappings").items() if entry["Ebs"].exists]


def root_system(resource: Resource) -> ImageSystem:
    """The operating system whose root device name counts for the mappings of a resource.

    Raises:
        NotKnown: it is not known, or its consumers boot images with other root names.
    """
    names = list(_named(resource))
    systems = {name.system.root_device_name: name.system for name in names}
    if len(systems) != 1:
        raise NotKnown(f"which root device name the images of {resource} have")
    return next(iter(systems.values()))


def _named(resource: Resource) -> Iterator[ImageName]:
    if resource.type == RECIPE:
        yield image_name(resource.get("ParentImage"))
    else:
        yield from launched_images(resource)
