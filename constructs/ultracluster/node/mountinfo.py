"""What is mounted where, out of `/proc/self/mountinfo`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .files import read_text
from .host import Node

_OCTAL = re.compile(r"\\([0-7]{3})")
_FIELDS_BEFORE, _FIELDS_AFTER = 6, 3


@dataclass(frozen=True)
class Mount:
    """One mount.

    Attributes:
        source: device, server or what the file system calls itself.
        path: where it is mounted.
        kind: type of the file system.
        options: of this mount.
    """

    source: str
    path: str
    kind: str
    options: tuple[str, ...]


def parse(text: str) -> list[Mount]:
    """The mounts of a `mountinfo` file, in their order; lines of another shape are left out."""
    return [mount for line in text.splitlines() if (mount := _parsed(line))]


def mounts(node: Node) -> list[Mount]:
    """What is mounted now."""
    return parse(read_text(node.path("/proc/self/mountinfo"), ""))


def mounted_at(node: Node, path: str) -> Mount | None:
    """What is seen at a path when something is mounted exactly there: the last mount covers those before it."""
    return next((mount for mount in reversed(mounts(node)) if mount.path == path), None)


def _parsed(line: str) -> Mount | None:
    before, separator, after = line.partition(" - ")
    left, right = before.split(" "), after.split(" ")
    if not separator or len(left) < _FIELDS_BEFORE or len(right) < _FIELDS_AFTER:
        return None
    return Mount(_plain(right[1]), _plain(left[4]), right[0], tuple(left[5].split(",")))


def _plain(text: str) -> str:
    """Spaces, tabs, line breaks and backslashes are written as octal numbers."""
    return _OCTAL.sub(lambda found: chr(int(found.group(1), 8)), text)
