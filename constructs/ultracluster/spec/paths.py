"""Places in the cluster file: as tuples inside the program, as `fleets[0].instance_type` in messages."""

from __future__ import annotations

import re

__all__ = ["Place", "path_place", "path_text"]

Place = tuple[int | str, ...]

_PLAIN_KEY = re.compile(r"[A-Za-z_<][\w<-]*", re.ASCII)
_STEP = re.compile(r"\[(\d+)\]|\[\"((?:[^\"\\]|\\.)*)\"\]|\.?([^.\[\]]+)")


def path_text(place: Place) -> str:
    """`("fleets", 0, "tags", "a b")` as `fleets[0].tags["a b"]`; the whole file is `cluster`."""
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            quoted = ascii(step)[1:-1].replace('"', '\\"')
            text += f'["{quoted}"]'
    return text or "cluster"


def path_place(text: str) -> Place:
    """The place that a path in a finding names, as far as it can be read."""
    return tuple(
        int(index) if index else quoted or key
        for index, quoted, key in (match.groups() for match in _STEP.finditer(text))
    )
