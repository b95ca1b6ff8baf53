"""Reader of `data/image_names.json`: what the name of an image, or of an instance type, tells."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from ultracluster.values import dataclass

__all__ = [
    "ImageSystem",
    "architecture_named",
    "architecture_of_type",
    "follows_newest",
    "image_systems",
    "is_dlami",
    "system_named",
]

DATA_FILE = Path(__file__).with_name("data") / "image_names.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSystem:
    """An operating system that names of images tell.

    Attributes:
        os: as the cluster file spells it, where it knows it.
        title: its full name.
        pattern: what a name of it matches.
        root_device_name: the device name under which its public images map the root volume.
        ended: day on which standard support ended, None while it lasts.
    """

    os: str
    title: str
    pattern: re.Pattern[str]
    root_device_name: str
    ended: str | None


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return document


@cache
def _pattern(group: str, key: str = "pattern") -> re.Pattern[str]:
    return re.compile(_document()[group][key], re.IGNORECASE)


@cache
def image_systems() -> tuple[ImageSystem, ...]:
    """All systems."""
    return tuple(
        ImageSystem(
            os=row["os"],
            title=row["title"],
            pattern=re.compile(row["pattern"], re.IGNORECASE),
            root_device_name=row["root_device_name"],
            ended=row["ended"],
        )
        for row in _document()["systems"]
    )


@cache
def system_named(name: str) -> ImageSystem | None:
    """The system that the name of a parameter, an image or an AMI type tells; None for any other name."""
    return next((system for system in image_systems() if system.pattern.search(name)), None)


def architecture_named(name: str) -> str | None:
    """The architecture that the name of a parameter or image tells; None for any other name."""
    parts = _document()["architectures"]["parts"]
    return next((parts[part] for part in re.split(r"[/-]", name) if part in parts), None)


def architecture_of_type(instance_type: str) -> str | None:
    """The architecture of an instance type, from the catalogue or from its name; None where neither tells."""
    from ultracluster.facts.instances import catalog

    facts = catalog().get(instance_type)
    if facts is not None:
        return facts.architecture
    if not _pattern("graviton", "known_pattern").match(instance_type):
        return None
    return "arm64" if _pattern("graviton").match(instance_type) else "x86_64"


def follows_newest(parameter: str) -> bool:
    """Whether a public parameter without a version holds another image from release to release."""
    return _pattern("newest").search(parameter) is not None


def is_dlami(parameter: str) -> bool:
    """Whether a public parameter holds a Deep Learning AMI."""
    return _pattern("dlami").search(parameter) is not None
