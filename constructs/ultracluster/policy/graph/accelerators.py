"""Accelerators of an instance type, also of sizes that the catalogue does not list."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ultracluster.facts.eks import eks_facts
from ultracluster.facts.instances import catalog

__all__ = ["Accelerators", "accelerators_of", "is_accelerated"]


@dataclass(frozen=True, slots=True)
class Accelerators:
    """What decides about an image.

    Attributes:
        vendor: `nvidia` or `aws`.
        architecture: of the processor.
    """

    vendor: str
    architecture: str


@cache
def _families() -> Mapping[str, Accelerators]:
    return {facts.family: Accelerators(facts.vendor, facts.architecture) for facts in catalog().values()}


def accelerators_of(instance_type: str) -> Accelerators | None:
    """Vendor and architecture of a type or family (`p5`); all sizes of a family share them.

    Returns:
        None for a family that is not in the catalogue, with accelerators or without.
    """
    return _families().get(instance_type.split(".", 1)[0])


def is_accelerated(instance_type: str) -> bool:
    """Whether a type has accelerators, by the letters of its family; also for types outside the catalogue."""
    letters = re.split(r"[^a-z]", instance_type, maxsplit=1)[0]
    return letters in eks_facts().accelerated_families
