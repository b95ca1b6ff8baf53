"""Reads a cluster file: its bytes, its text, its plain data, and on which line each value stands.

Errors raised: `FindingsError` with UC-SPC-001 when nothing of the file can be used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ultracluster.findings import Finding
from ultracluster.spec.paths import Place
from ultracluster.spec.wording import shown
from ultracluster.spec.yaml_data import read_yaml, unreadable
from ultracluster.values import dataclass

__all__ = ["ClusterSource", "parse_cluster", "read_cluster"]

MAX_BYTES: Final = 1_000_000
"""A file of a thousand fleets has less than half of it; a larger one is something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSource:
    """The plain data of a cluster file.

    Attributes:
        name: the name of the file as the user gave it, for messages.
        data: what it says.
        lines: line of each value, counted from 1, by its place.
        findings: faults that leave the rest of the file readable (keys that stand twice).
    """

    name: str
    data: Mapping[str, object]
    lines: Mapping[Place, int]
    findings: tuple[Finding, ...] = ()

    def line(self, place: Place) -> int | None:
        """The line of a value, or of the nearest thing around it that has one."""
        for length in range(len(place), 0, -1):
            found = self.lines.get(place[:length])
            if found is not None:
                return found
        return None


def read_cluster(path: Path) -> ClusterSource:
    """Read a cluster file.

    Raises:
        FindingsError: the file cannot be read at all.
    """
    name = str(path)
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise unreadable(name, f"cannot be read: {reason}", "name a cluster file that exists and can be read") from None
    if len(content) > MAX_BYTES:
        raise unreadable(name, f"is larger than {MAX_BYTES:,} bytes", "name a cluster file")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise unreadable(f"{name}:{line}", "is not UTF-8 text", "save the file as UTF-8") from None
    return parse_cluster(text, name=name)


def parse_cluster(text: str, *, name: str = "cluster.yaml") -> ClusterSource:
    """Parse the text of a cluster file.

    Args:
        text: YAML.
        name: what to call the file in messages.

    Raises:
        FindingsError: the text is not one YAML document with a mapping on top.
    """
    reading = read_yaml(text, name=name)
    if reading.data is None:
        raise unreadable(name, "is empty", "begin with `ultracluster init`")
    if not isinstance(reading.data, dict):
        raise unreadable(
            name, f"holds {shown(reading.data)} on top, not keys and values", "begin with name: and region:"
        )
    return ClusterSource(name=name, data=reading.data, lines=reading.lines, findings=reading.findings)
