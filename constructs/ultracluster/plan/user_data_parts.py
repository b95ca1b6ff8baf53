"""Pieces of which user data is joined: own text, text that fleets share, values known only at deployment."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from ultracluster.values import dataclass

__all__ = ["SLOT_LENGTHS", "Part", "Shared", "Slot", "Text", "merged", "part_length"]

SLOT_LENGTHS = {
    "dns_name": 80,
    "mount_name": 8,
    "file_system_id": 21,
    "access_point_id": 22,
    "program": 265,
}
"""Longest values in characters: `fs-` and 17 digits with the longest domain; the API's limits for the others. The place
of the programs is a bucket of at most 63 characters, a key with room for a prefix, and the digest."""
_OF_A_MOUNT = re.compile(r"^(?:lustre|efs)_\d+_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Literal text of this fleet."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Literal text that is the same in every fleet of the same kind: written once per stack.

    Attributes:
        label: letters only, for readers of a template.
        text: the text.
    """

    label: str
    text: str

    @property
    def key(self) -> str:
        """Letters and digits; with a digest in it, two texts never meet under one key, and equal ones always do."""
        return f"{self.label}{hashlib.sha256(self.text.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A value known only when the stack is deployed.

    Attributes:
        name: `lustre_<i>_dns_name`, `lustre_<i>_mount_name`, `efs_<i>_file_system_id` or `efs_<i>_access_point_id`,
            with i the index of the mount in the request; `program`, the place of the programs and
            their digest (`s3://bucket/key 0123...`).
    """

    name: str


Part = Text | Shared | Slot


def part_length(part: Part) -> int:
    """Bytes of a part, with a slot at its longest."""
    if isinstance(part, Slot):
        return SLOT_LENGTHS[_OF_A_MOUNT.sub("", part.name)]
    return len(part.text.encode("utf-8"))


def merged(parts: Iterable[Part]) -> Iterator[Part]:
    """Neighbouring own text as one part, neighbouring shared text likewise."""
    for kind, group in groupby(parts, key=type):
        pieces = list(group)
        text = "".join(piece.text for piece in pieces if not isinstance(piece, Slot))
        if kind is Slot:
            yield from pieces
        elif kind is Text:
            yield Text(text=text)
        else:
            yield Shared(label=next(piece.label for piece in pieces if isinstance(piece, Shared)), text=text)
