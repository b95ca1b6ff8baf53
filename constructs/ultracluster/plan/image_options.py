"""The images that a fleet can boot, as small classes."""

from __future__ import annotations

from typing import Literal, Protocol, cast

from ultracluster.values import dataclass

__all__ = ["Al2023", "Ami", "Dlami", "Image", "ImageSource", "OperatingSystem", "SsmImage", "Ubuntu", "image_from"]

OperatingSystem = Literal["al2023", "ubuntu-22.04", "ubuntu-24.04"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dlami:
    """The Deep Learning Base AMI of the accelerator's vendor: GPU for NVIDIA types, Neuron for Trainium and Inferentia.

    Attributes:
        os: Amazon Linux 2023 by default, because its Lustre client follows its kernel; on Ubuntu the two must match
            exactly, and the image's kernel is often newer than the client.
    """

    os: OperatingSystem = "al2023"


@dataclass(frozen=True, slots=True, kw_only=True)
class Al2023:
    """Plain Amazon Linux 2023, without accelerator software."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ubuntu:
    """Plain Ubuntu server, without accelerator software.

    Attributes:
        version: `22.04` or `24.04` (the default, the newer one).
    """

    version: Literal["22.04", "24.04"] = "24.04"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ami:
    """An image by its id.

    Attributes:
        ami_id: `ami-` and 17 (or 8) hexadecimal digits.
        os: its operating system; boot scripts depend on it.
        root_device_name: RootDeviceName of the image, as `aws ec2 describe-images` prints it. It cannot be told from
            the id, so there is no default.
    """

    ami_id: str
    os: OperatingSystem
    root_device_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SsmImage:
    """An image by the name of the SSM parameter that holds its id.

    Attributes:
        parameter: name of the parameter; `:3` behind it pins a version.
        os: its operating system; boot scripts depend on it.
        root_device_name: RootDeviceName of the image; may be left out for public parameters of AWS and Canonical.
    """

    parameter: str
    os: OperatingSystem
    root_device_name: str | None = None


Image = Dlami | Al2023 | Ubuntu | Ami | SsmImage


class ImageSource(Protocol):
    """What builds images, such as `TunedImage`."""

    @property
    def image(self) -> SsmImage:
        """The newest of them."""


def image_from(given: Image | ImageSource | None) -> Image:
    """The image that a fleet boots: the one that was named, the newest of what builds some, or the Deep Learning AMI.

    Args:
        given: what was handed to the fleet.
    """
    if given is None:
        return Dlami()
    if isinstance(given, Image):
        return given
    # What is neither goes on as it is: the rules on images tell what would be one.
    return cast("Image", getattr(given, "image", given))
