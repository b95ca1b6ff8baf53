"""Turns errors of the models into findings, and adds the file and line to what any stage found in a cluster file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ultracluster.findings import Finding, finding
from ultracluster.spec.paths import Place, path_place, path_text

if TYPE_CHECKING:
    from pydantic import ValidationError

    from ultracluster.spec.source import ClusterSource

__all__ = ["located", "model_findings", "unknown_keys"]


def model_findings(error: ValidationError, data: object, *, prefix: Place = ()) -> tuple[Finding, ...]:
    """The errors of a model as findings, each once, in the order of the file's models.

    Args:
        error: what the model raised.
        data: the data that it was given; the paths follow it.
        prefix: the place of that data in the file.
    """
    findings = []
    for found in error.errors(include_url=False, include_input=False):
        place = (*prefix, *_place(found["loc"], data))
        fix = found["ctx"]["fix"]
        if found["type"] == "UC-SPC-003":
            fix = _misplaced(place) or fix
        findings.append(finding(found["type"], path_text(place), found["ctx"]["message"], fix))
    return tuple(dict.fromkeys(findings))


def unknown_keys(error: ValidationError, data: object) -> dict[Place, str | None]:
    """The places of unknown keys, each with the key that it probably stands for.

    Args:
        error: what a model raised.
        data: the data that it was given.
    """
    return {
        _place(found["loc"], data): found["ctx"]["near"]
        for found in error.errors(include_url=False, include_input=False)
        if found["type"] == "UC-SPC-003"
    }


def _misplaced(place: Place) -> str | None:
    from ultracluster.spec.places import other_place

    right = other_place(place)
    return None if right is None else f"did you mean it under {right}?"


def _place(loc: Place, data: object) -> Place:
    """The place of an error: its location without the names that pydantic adds for the member of a union.

    What is no key and no index of the data is such a name, but for the last step: a missing key.
    """
    place: list[int | str] = []
    value = data
    for position, step in enumerate(loc):
        if isinstance(value, Mapping) and step in value:
            value = value[str(step)]
        elif isinstance(value, list | tuple) and isinstance(step, int) and step < len(value):
            value = value[step]
        elif position < len(loc) - 1 or not isinstance(value, Mapping) or _is_member(step, value):
            continue
        place.append(step)
    return tuple(place)


def _is_member(step: int | str, value: Mapping[str, object]) -> bool:
    return step == value.get("kind") or str(step).startswith(("{", "["))


def located(findings: Iterable[Finding], source: ClusterSource) -> tuple[Finding, ...]:
    """The same findings with file and line in their messages, in the order of the lines."""
    lines = [(source.line(path_place(found.subject)), found) for found in findings]
    ordered = sorted(lines, key=lambda pair: pair[0] or 0)
    return tuple(_with_line(found, source.name, line) for line, found in ordered)


def _with_line(found: Finding, name: str, line: int | None) -> Finding:
    if f"({name}" in found.message:
        return found
    where = name if line is None else f"{name}:{line}"
    return replace(found, message=f"{found.message} ({where})")
