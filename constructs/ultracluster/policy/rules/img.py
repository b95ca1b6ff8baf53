"""Rules on the images that are booted: architecture, version, age."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.image_names import architecture_named, architecture_of_type, follows_newest
from ultracluster.facts.images import public_images
from ultracluster.policy.graph.fleets import NODE_GROUP, PCS_NODE_GROUP
from ultracluster.policy.graph.image_sources import LAUNCHED, RECIPE, ImageName, image_name
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, instance_types
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource


@rule("UC-IMG-005", on=LAUNCHED)
def image_of_the_architecture(launched: Resource) -> Iterator[Problem]:
    """The image has the architecture of every type that boots it."""
    if launched.type == LAUNCH_TEMPLATE:
        image, types = launched.get("LaunchTemplateData", "ImageId"), instance_types(launched)
    else:
        image, types = launched.get("ImageId"), [launched.get("InstanceType")]
    if not image.exists or not types:
        return
    named = image_name(image)
    wanted = next((row.architecture for row in public_images() if row.ssm_parameter == named.name), None)
    wanted = wanted or architecture_named(named.name)
    if wanted is None:
        raise NotKnown(f"the architecture of {named.name}")
    for kind in types:
        with kind.judged_apart():
            found = architecture_of_type(kind.text())
            if found is None:
                raise NotKnown(f"the architecture of {kind.shown}")
            if found != wanted:
                yield Problem(image, f"an {wanted} image on {kind.shown}, which is {found}", f"take the {found} image")
                return


@rule("UC-IMG-010", on=(*LAUNCHED, PCS_NODE_GROUP))
def image_is_pinned(launched: Resource) -> Iterator[Problem]:
    """A public parameter names a version, or a path that is not moved on."""
    image = _own_image(launched)
    if not image.exists:
        return
    named = image_name(image) if not _is_id(image) else None
    if named is not None and named.is_parameter and named.version is None and follows_newest(named.name):
        yield Problem(image, f"{named.name} is another image after the next release, whoever updates the stack")


def _own_image(launched: Resource) -> Value:
    if launched.type == PCS_NODE_GROUP:
        return launched.get("AmiId")
    return (
        launched.get("LaunchTemplateData", "ImageId") if launched.type == LAUNCH_TEMPLATE else launched.get("ImageId")
    )


def _is_id(image: Value) -> bool:
    return image.is_scalar and image.prefix().startswith("ami-")


@rule("UC-IMG-015", on=(*LAUNCHED, NODE_GROUP, PCS_NODE_GROUP, RECIPE))
def base_is_supported(resource: Resource) -> Iterator[Problem]:
    """The operating system of the image is still supported."""
    for named in _images(resource):
        system = named.system
        if system.ended is not None:
            yield Problem(
                named.where, f"{named.name} is {system.title}, whose standard support ended on {system.ended}"
            )


def _images(resource: Resource) -> list[ImageName]:
    if resource.type == NODE_GROUP:
        value = resource.get("AmiType")
        written = value.exists and value.text() != "CUSTOM"
        return [ImageName(value, value.text(), is_parameter=False)] if written else []
    image = resource.get("ParentImage") if resource.type == RECIPE else _own_image(resource)
    # What the consumers of a launch template name is reported where it stands.
    return [image_name(image)] if image.exists else []
