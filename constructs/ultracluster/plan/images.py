"""Which machine image a fleet boots, and the name of its root device.

The image has to fit the accelerators (NVIDIA driver or Neuron), the processor architecture and the operating system.
The root volume has to be mapped under the image's own root device name: under another one EC2 attaches a second volume
and the small root fills up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

from ultracluster.facts.images import operating_systems, public_images, recommended_root_gib
from ultracluster.findings import raise_if_errors
from ultracluster.plan.decision import Decision
from ultracluster.plan.image_options import Al2023, Ami, Dlami, Image, OperatingSystem, SsmImage, Ubuntu
from ultracluster.plan.image_rules import image_findings, image_os, parameter_family
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.facts.images import PublicImage
    from ultracluster.facts.instances import InstanceType
    from ultracluster.findings import Finding

__all__ = [
    "Al2023",
    "Ami",
    "Dlami",
    "Image",
    "ImagePlan",
    "OperatingSystem",
    "SsmImage",
    "Ubuntu",
    "check_image",
    "plan_image",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePlan:
    """The image of a fleet; exactly one of `ami_id` and `ssm_parameter` is set.

    Attributes:
        os: operating system; decides package manager and boot scripts.
        ami_id: the id of the image.
        ssm_parameter: the parameter whose value is the id, resolved at deployment.
        root_device_name: under which name the root volume is mapped.
        architecture: of the processor.
        has_accelerator_software: whether driver, EFA and container runtime are inside; None when it is not known.
        recommended_root_gib: root volume in GiB below which this kind of image runs out of space; None: unknown.
        decisions: why it is this one.
        warnings: findings that do not stop the plan.
    """

    os: OperatingSystem
    ami_id: str | None
    ssm_parameter: str | None
    root_device_name: str
    architecture: Literal["x86_64", "arm64"]
    has_accelerator_software: bool | None
    recommended_root_gib: int | None
    decisions: tuple[Decision, ...] = ()
    warnings: tuple[Finding, ...] = ()

    @property
    def is_ubuntu(self) -> bool:
        """Whether the image is an Ubuntu."""
        return self.os.startswith("ubuntu")


def check_image(image: Image, *, instance_types: tuple[InstanceType, ...], subject: str) -> tuple[Finding, ...]:
    """All faults of an image for these types; see `plan_image` for the arguments."""
    return image_findings(image, instance_types, f"{subject}.image")


def plan_image(image: Image, *, instance_types: tuple[InstanceType, ...], subject: str) -> ImagePlan:
    """Resolve the image for these types.

    Args:
        image: what was asked for.
        instance_types: facts of the types that boot it; all of one vendor and architecture.
        subject: the fleet's path in the user's terms.

    Raises:
        FindingsError: UC-IMG-005 (architecture), UC-IMG-006 (root device name unknown or wrong), UC-API-107 (no such
            image), UC-API-108 (image of another vendor), UC-API-111 (types that no single image serves).
    """
    warnings = raise_if_errors(check_image(image, instance_types=instance_types, subject=subject))
    facts = instance_types[0]
    plan = _resolve(image, facts)
    value = f"{plan.ami_id or plan.ssm_parameter}, root at {plan.root_device_name}"
    decision = Decision(subject=f"{subject}.image", value=value, because=_because(image, facts))
    return replace(plan, decisions=(decision,), warnings=warnings)


def _resolve(image: Image, facts: InstanceType) -> ImagePlan:
    match image:
        case Ami():
            return _by_id(image, facts)
        case SsmImage():
            return _by_parameter(image, facts)
        case Dlami() | Al2023() | Ubuntu():
            return _public(image, facts)


def _public(image: Dlami | Al2023 | Ubuntu, facts: InstanceType) -> ImagePlan:
    kind = "dlami" if isinstance(image, Dlami) else "plain"
    found = _find(kind, image_os(image), facts)
    return ImagePlan(
        os=cast("OperatingSystem", found.os),
        ami_id=None,
        ssm_parameter=found.ssm_parameter,
        root_device_name=operating_systems()[found.os].root_device_name,
        architecture=cast("Literal['x86_64', 'arm64']", found.architecture),
        has_accelerator_software=kind == "dlami",
        recommended_root_gib=recommended_root_gib(kind),
    )


def _find(kind: str, os: str, facts: InstanceType) -> PublicImage:
    """The public image; the rules made sure that there is one."""
    return next(
        row
        for row in public_images()
        if row.kind == kind
        and row.os == os
        and row.architecture == facts.architecture
        and row.vendor in (None, facts.vendor)
    )


def _by_id(image: Ami, facts: InstanceType) -> ImagePlan:
    return ImagePlan(
        os=image.os,
        ami_id=image.ami_id,
        ssm_parameter=None,
        root_device_name=image.root_device_name or "",
        architecture=cast("Literal['x86_64', 'arm64']", facts.architecture),
        has_accelerator_software=None,
        recommended_root_gib=None,
    )


def _by_parameter(image: SsmImage, facts: InstanceType) -> ImagePlan:
    family = parameter_family(image.parameter)
    inside = None if family is None else family.vendor is not None
    return ImagePlan(
        os=image.os,
        ami_id=None,
        ssm_parameter=image.parameter,
        root_device_name=image.root_device_name or operating_systems()[image.os].root_device_name,
        architecture=cast("Literal['x86_64', 'arm64']", facts.architecture),
        has_accelerator_software=inside,
        recommended_root_gib=recommended_root_gib("dlami") if inside else None,
    )


def _because(image: Image, facts: InstanceType) -> str:
    match image:
        case Dlami():
            stack = "NVIDIA driver, CUDA" if facts.vendor == "nvidia" else "Neuron driver"
            return f"AWS's base image for {facts.name} with {stack}, EFA and a container runtime"
        case Al2023() | Ubuntu():
            return "the plain image that was asked for; whatever the accelerators need comes from the user data"
        case Ami() | SsmImage():
            return "the image that was named"
