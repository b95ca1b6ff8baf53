"""`fleets[].image` and `fleets[].root_volume`: what a node boots, one model per kind of image."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ultracluster.spec.base import SpecModel
from ultracluster.spec.forms import AmiId, DeviceName, SsmParameter

__all__ = [
    "Al2023Spec",
    "AmiSpec",
    "DlamiSpec",
    "ImageSpec",
    "RootVolumeSpec",
    "SsmImageSpec",
    "TunedImageSpec",
    "UbuntuSpec",
]

OperatingSystem = Literal["al2023", "ubuntu-22.04", "ubuntu-24.04"]

ROOT_DEVICE = (
    "Name of the root device, when it is not the usual one of the operating system. Under a wrong name the size below "
    "makes a second volume and leaves the root small."
)


class DlamiSpec(SpecModel):
    """The Deep Learning Base AMI for the accelerators of the fleet: drivers, EFA and collective libraries included."""

    kind: Literal["dlami"] = Field(default="dlami", description="Kind of image.")
    os: OperatingSystem = Field(
        default="al2023",
        description="Operating system. Amazon Linux 2023 has packages of the EFS mount helper and of a Lustre client "
        "that follows its kernel; Ubuntu lacks the one and lags behind in the other.",
    )


class Al2023Spec(SpecModel):
    """Plain Amazon Linux 2023; accelerator drivers have to come from the user's script."""

    kind: Literal["al2023"] = Field(description="Kind of image.")


class UbuntuSpec(SpecModel):
    """Plain Ubuntu server; accelerator drivers have to come from the user's script."""

    kind: Literal["ubuntu"] = Field(description="Kind of image.")
    version: Literal["22.04", "24.04"] = Field(
        default="24.04", description='Release, in quotes because YAML reads a bare 24.04 as a number: "24.04".'
    )


class AmiSpec(SpecModel):
    """An image by its id."""

    kind: Literal["ami"] = Field(description="Kind of image.")
    ami_id: AmiId = Field(
        description="Id of the image in the Region of the cluster.", examples=["ami-0a1b2c3d4e5f60718"]
    )
    os: OperatingSystem = Field(description="Operating system of the image.", examples=["ubuntu-24.04"])
    root_device_name: DeviceName | None = Field(default=None, description=ROOT_DEVICE, examples=["/dev/sda1"])


class SsmImageSpec(SpecModel):
    """An image by the name of the SSM parameter that holds its id, read when the stack is deployed."""

    kind: Literal["ssm"] = Field(description="Kind of image.")
    parameter: SsmParameter = Field(description="Name of the parameter.", examples=["/images/training/latest"])
    os: OperatingSystem = Field(description="Operating system of the image.", examples=["ubuntu-24.04"])
    root_device_name: DeviceName | None = Field(default=None, description=ROOT_DEVICE, examples=["/dev/sda1"])


class TunedImageSpec(SpecModel):
    """The newest tested image of a `TunedImage`, read when the stack is deployed."""

    kind: Literal["tuned"] = Field(description="Kind of image.")
    parameter: SsmParameter = Field(
        description="Name of the image's parameter; `:3` behind it keeps to its third image.",
        examples=["/imagebuilder/training-images/gpu"],
    )
    os: OperatingSystem = Field(default="al2023", description="Operating system that the image was built on.")


ImageSpec = Annotated[
    DlamiSpec | Al2023Spec | UbuntuSpec | AmiSpec | SsmImageSpec | TunedImageSpec, Field(discriminator="kind")
]
"""One of the kinds, chosen by `kind`."""


class RootVolumeSpec(SpecModel):
    """The gp3 root volume of a node: encrypted, and deleted with the node."""

    size_gib: int = Field(
        default=500,
        ge=1,
        description="Size in GiB. Images with drivers and frameworks take more than 75 GiB, and containers fill the "
        "rest; data belongs on the local disks or on shared storage.",
    )
    iops: int | None = Field(
        default=None, ge=1, description="Operations per second; default: 3000, or what the throughput needs."
    )
    throughput_mibps: int | None = Field(
        default=None, ge=1, description="MiB/s; default: what the volume type gives without extra cost."
    )
