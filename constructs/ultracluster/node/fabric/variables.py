"""Variables of jobs on this host: the few that every node gets, and those that cost the fabric."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .. import NodeError
from ..files import read_text

if TYPE_CHECKING:
    from ..host import Node

__all__ = ["harmful", "in_text", "write"]

_FILES = ("/etc/environment", "/etc/nccl.conf", "/etc/ultracluster/environment", "/etc/security/pam_env.conf")
_FOLDERS = ("/etc/profile.d", "/etc/environment.d", "/etc/systemd/system.conf.d")
_VALUE = r"""=(?!=)["']?(?P<value>[^\s"';)]+)"""
_COMMENT = re.compile(r"(?m)^[ \t]*#.*$")


def write(node: Node) -> list[str]:
    """Write `/etc/ultracluster/environment` and what carries it into login shells, as the table of settings has it.

    Returns:
        A line for each file that was not right before.

    Raises:
        NodeError: a file cannot be written, or the type of the node is not known.
    """
    from ..tune_scope import Scope, rows_for
    from ..tune_steps import steps_for

    scope = Scope.of(node, "boot", None)
    rows = [row for row in rows_for(node.facts["tuning"], "boot", scope, ()) if row["kind"] == "variable"]
    names = {row["id"] for row in rows}
    changed = []
    for step in steps_for(node, rows, scope):
        found = step.drift() if names & set(step.rows) else None
        if found is not None:
            step.apply()
            changed.append(f"{step.title}: {found}")
    return changed


def harmful(node: Node) -> list[str]:
    """Settings on this host that cost the fabric or do nothing, each with its file and why."""
    rows = node.facts["fabric"]["never"]
    found = []
    for path, text in _texts(node):
        found += [f"{name}={value} in {path}: {why}" for name, value, why in in_text(text, rows)]
    return found


def _texts(node: Node) -> Iterator[tuple[str, str]]:
    for path in _FILES:
        yield path, _read(node, path)
    for folder in _FOLDERS:
        inside = node.path(folder)
        for file in sorted(inside.iterdir()) if inside.is_dir() else ():
            if file.is_file():
                yield f"{folder}/{file.name}", _read(node, f"{folder}/{file.name}")


def _read(node: Node, path: str) -> str:
    try:
        return read_text(node.path(path), "")
    except OSError as error:
        raise NodeError(f"{path} cannot be read ({error})") from error


def in_text(text: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Name, value and reason of every harmful assignment in a text, each name once."""
    bare = _COMMENT.sub("", text)
    for row in rows:
        name = row["name"]
        pattern = re.escape(name[:-1]) + r"\w*" if name.endswith("*") else re.escape(name)
        seen = set()
        for found in re.finditer(rf"(?<![\w$/^])(?P<name>{pattern}){_VALUE}", bare):
            if found["name"] not in seen and _matches(row, found["value"]):
                seen.add(found["name"])
                yield found["name"], found["value"], row["reason"]


def _matches(row: Mapping[str, Any], value: str) -> bool:
    if row.get("value") is not None:
        return bool(value == row["value"])
    return row.get("value_like") is None or re.search(row["value_like"], value) is not None
