"""Pieces of which user data is joined: own text, text that fleets share, values known only at deployment."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SLOT_LENGTHS", "Part", "Shared", "Slot", "Text", "part_length"]

SLOT_LENGTHS = {"dns_name": 80, "mount_name": 8, "file_system_id": 21, "access_point_id": 22}
"""Longest values in characters: `fs-` and 17 digits with the longest domain; the API's limits for the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Literal text of this fleet."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Literal text that is the same in every fleet of the same kind: written once per stack.

    Attributes:
        key: letters and digits only; the same key always stands for the same text.
        text: the text.
    """

    key: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A value known only when the stack is deployed.

    Attributes:
        name: `lustre_<i>_dns_name`, `lustre_<i>_mount_name`, `efs_<i>_file_system_id` or `efs_<i>_access_point_id`,
            with i the index of the mount in the request.
    """

    name: str


Part = Text | Shared | Slot


def part_length(part: Part) -> int:
    """Bytes of a part, with a slot at its longest."""
    if isinstance(part, Slot):
        return SLOT_LENGTHS[part.name.split("_", 2)[2]]
    return len(part.text.encode("utf-8"))
