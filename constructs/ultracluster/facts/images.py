"""Reader of `data/images.json`: public SSM parameters of machine images and the names of their root devices."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ultracluster.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "OperatingSystemFacts",
    "ParameterFamily",
    "PublicImage",
    "operating_systems",
    "parameter_families",
    "public_images",
    "recommended_root_gib",
]

DATA_FILE = Path(__file__).with_name("data") / "images.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatingSystemFacts:
    """One operating system that nodes can run.

    Attributes:
        title: its full name.
        root_device_name: the device name under which its public images map the root volume.
        source: key of the source in the data file.
    """

    title: str
    root_device_name: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicImage:
    """One public image, found through a Systems Manager parameter.

    Attributes:
        kind: `dlami` (driver, EFA and container runtime inside) or `plain`.
        vendor: whose accelerators it serves: `nvidia`, `aws` (Neuron), None for a plain one.
        os: key of `operating_systems()`.
        architecture: `x86_64` or `arm64`.
        ssm_parameter: the parameter that holds the id of the newest image in each Region.
        title: the name of the image.
        source: key of the source in the data file.
    """

    kind: str
    vendor: str | None
    os: str
    architecture: str
    ssm_parameter: str
    title: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterFamily:
    """Public parameters with a common beginning, whose images keep the root name of their operating system.

    Attributes:
        prefix: the beginning of the names.
        vendor: whose accelerators their images serve; None for plain ones.
        source: key of the source in the data file.
    """

    prefix: str
    vendor: str | None
    source: str


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return document


@cache
def operating_systems() -> Mapping[str, OperatingSystemFacts]:
    """Operating systems by the name that the cluster file uses."""
    return {name: OperatingSystemFacts(**row) for name, row in _document()["operating_systems"].items()}


@cache
def public_images() -> tuple[PublicImage, ...]:
    """All public images, in the order of the file."""
    return tuple(PublicImage(**row) for row in _document()["images"])


@cache
def parameter_families() -> tuple[ParameterFamily, ...]:
    """The families of public parameters."""
    return tuple(ParameterFamily(**row) for row in _document()["public_parameter_prefixes"])


def recommended_root_gib(kind: str) -> int | None:
    """The smallest root volume in GiB that nodes with this kind of image were seen to work with; None when unknown."""
    row = _document()["recommended_root_gib"].get(kind)
    return None if row is None else int(row["value"])
