"""Rules on the images of managed node groups: AMI type, accelerator vendor, own images and user data."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ultracluster.facts.eks import AmiType, eks_facts
from ultracluster.policy.graph.accelerators import Accelerators, accelerators_of, is_accelerated
from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.images import image_beginning
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE
from ultracluster.policy.graph.node_groups import (
    NODE_GROUP,
    has_own_image,
    launch_template_of,
    node_groups_of,
    node_types,
)
from ultracluster.policy.graph.user_data import MARK, UserData, user_data
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_RESOLVED_BY_EC2 = "resolve:ssm:"
# Programs that join a node to its cluster, and the settings of Bottlerocket that do.
_BOOTSTRAPS = ("bootstrap.sh", "nodeadm", "[settings.kubernetes")


@rule("UC-EKS-004", on=NODE_GROUP)
def image_fits_the_accelerator(group: Resource) -> Iterator[Problem]:
    """The AMI type carries the driver of the accelerators, for their architecture."""
    written = group.get("AmiType")
    facts = eks_facts()
    if not written.exists or written.text() == facts.own_image_ami_type or has_own_image(group):
        return
    image = facts.ami_types.get(written.text())
    if image is None:
        raise NotKnown(f"what AMI type {written.shown} carries")
    makers = {known for kind in node_types(group) if (known := _known(kind)) is not None}
    for maker in makers if len(makers) == 1 else ():  # several are a fault of their own
        lacking = _lacking(image, maker)
        if lacking:
            names = ", ".join(dict.fromkeys(kind.shown for kind in node_types(group)))
            wanted = facts.preferred_ami_types.get(f"{maker.vendor} {maker.architecture}")
            yield Problem(written, f"{written.shown} on {names}, {lacking}", f"use {wanted}" if wanted else "")


def _known(kind: Value) -> Accelerators | None:
    """Vendor and architecture of one type; None for a type without accelerators, and, noted, where it is not known."""
    found: Accelerators | None = None
    with kind.judged_apart():
        found = accelerators_of(kind.text())
        if found is None and is_accelerated(kind.text()):
            raise NotKnown(f"{kind.shown} is not in the catalogue")
    return found


def _lacking(image: AmiType, maker: Accelerators) -> str:
    if image.architecture != maker.architecture:
        return f"which is {maker.architecture}"
    brand = "NVIDIA" if maker.vendor == "nvidia" else "Neuron"
    return "" if maker.vendor in image.vendors else f"which needs the {brand} driver"


@rule("UC-EKS-005", on=NODE_GROUP)
def image_is_stated(group: Resource) -> Iterator[Problem]:
    """A group with accelerators says which image it takes."""
    written = group.get("AmiType")
    if written.exists:
        return
    types = node_types(group)
    if any_known(types, lambda kind: is_accelerated(kind.text())) and not has_own_image(group):
        yield Problem(written, f"absent for {', '.join(kind.shown for kind in types)}")


@rule("UC-EKS-006", on=NODE_GROUP)
def one_vendor(group: Resource) -> Iterator[Problem]:
    """All types of a group have accelerators of one vendor and processors of one architecture."""
    types = group.get("InstanceTypes").items()
    seen: dict[Accelerators, Value] = {}
    for kind in types if len(types) > 1 else ():
        found = _known(kind)
        if found is not None:
            seen.setdefault(found, kind)
    if len(seen) > 1:
        first, other = list(seen.values())[:2]
        yield Problem(
            other, f"{other.shown} beside {first.shown}: one group has one image, and they need different ones"
        )


@rule("UC-EKS-007", on=LAUNCH_TEMPLATE)
def image_is_an_id(launch_template: Resource) -> Iterator[Problem]:
    """The image of a node group is an id by the time EKS reads it."""
    image = launch_template.get("LaunchTemplateData", "ImageId")
    groups = node_groups_of(launch_template) if image.exists else []
    if groups and image_beginning(image).startswith(_RESOLVED_BY_EC2):
        yield Problem(image, f"{image.shown} in the launch template of node group {groups[0]}")


@rule("UC-EKS-022", on=NODE_GROUP)
def user_data_can_be_merged(group: Resource) -> Iterator[Problem]:
    """User data has the form in which EKS adds its own: MIME on Amazon Linux, TOML on Bottlerocket."""
    launch_template = launch_template_of(group)
    found = user_data(launch_template) if launch_template is not None else None
    if found is None or has_own_image(group) or not found.is_encoded:
        return  # text that is not base64 is a fault of its own
    written = group.get("AmiType")
    image = eks_facts().ami_types.get(written.text()) if written.exists else None
    if written.exists and image is None:
        raise NotKnown(f"what user data AMI type {written.shown} takes")
    wrapping = image.wrapping if image is not None else "mime"
    first = found.first
    if wrapping == "mime" and first and found.boundary is None:
        message = f"it begins with {_line(first)!r}, EKS merges MIME multipart only"
        yield Problem(found.value, message)
    if wrapping == "toml" and (first.startswith("#!") or found.boundary is not None):
        message = f"it begins with {_line(first)!r}, Bottlerocket takes settings in TOML"
        yield Problem(found.value, message, "write settings in TOML, or use an Amazon Linux AMI type")


def _line(text: str) -> str:
    return text.split("\n", 1)[0][:40]


@rule("UC-EKS-023", on=LAUNCH_TEMPLATE)
def own_image_joins_the_cluster(launch_template: Resource) -> Iterator[Problem]:
    """With an own image EKS merges nothing, so user data has to join the node to its cluster."""
    image = launch_template.get("LaunchTemplateData", "ImageId")
    groups = node_groups_of(launch_template) if image.exists else []
    if not groups:
        return
    found = user_data(launch_template)
    if found is None:
        yield Problem(image, f"{image.shown} without user data, so the nodes of {groups[0]} never join their cluster")
        return
    missing = _missing_settings(found)
    if missing:
        yield Problem(found.value, f"its NodeConfig lacks {', '.join(missing)}, which an own image needs")


def _missing_settings(found: UserData) -> list[str]:
    text = found.text
    if re.search(r"kind:\s*NodeConfig", text):
        missing = [name for name in eks_facts().node_config_fields if not re.search(rf"\b{name}\"?\s*:", text)]
        if missing and MARK in text:
            raise NotKnown("part of the node configuration")
        return missing
    if any(word in text for word in _BOOTSTRAPS):
        return []
    raise NotKnown("how the image joins the cluster: neither a NodeConfig nor a known bootstrap program")
