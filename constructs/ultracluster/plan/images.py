"""Which machine image a fleet boots, and the name of its root device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ultracluster.facts.instances import InstanceType
    from ultracluster.findings import Finding
    from ultracluster.plan.decision import Decision

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

OperatingSystem = Literal["al2023", "ubuntu-22.04", "ubuntu-24.04"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dlami:
    """The Deep Learning Base AMI of the accelerator's vendor (GPU for NVIDIA types, Neuron for Trainium and Inferentia)."""

    os: OperatingSystem = "ubuntu-24.04"


@dataclass(frozen=True, slots=True, kw_only=True)
class Al2023:
    """Plain Amazon Linux 2023, without accelerator software."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ubuntu:
    """Plain Ubuntu server, without accelerator software."""

    version: Literal["22.04", "24.04"] = "24.04"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ami:
    """An image by its id."""

    ami_id: str
    os: OperatingSystem
    root_device_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SsmImage:
    """An image by the name of the SSM parameter that holds its id."""

    parameter: str
    os: OperatingSystem
    root_device_name: str | None = None


Image = Dlami | Al2023 | Ubuntu | Ami | SsmImage


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePlan:
    """Exactly one of `ami_id` and `ssm_parameter` is set."""

    os: OperatingSystem
    ami_id: str | None
    ssm_parameter: str | None
    root_device_name: str
    architecture: Literal["x86_64", "arm64"]
    has_accelerator_software: bool | None
    recommended_root_gib: int | None
    decisions: tuple[Decision, ...]
    warnings: tuple[Finding, ...]

    @property
    def is_ubuntu(self) -> bool:
        """Whether the image is an Ubuntu."""
        return self.os.startswith("ubuntu")


def check_image(image: Image, *, instance_types: tuple[InstanceType, ...], subject: str) -> tuple[Finding, ...]:
    """All faults of an image for these types."""
    raise NotImplementedError


def plan_image(image: Image, *, instance_types: tuple[InstanceType, ...], subject: str) -> ImagePlan:
    """Resolve the image for these types."""
    raise NotImplementedError
