"""What can be wrong with user data before a node ever boots."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ultracluster.facts.node_packages import node_packages
from ultracluster.findings import Finding, finding
from ultracluster.plan.mime import plain
from ultracluster.plan.node_limits import check_locked_memory, locked_memory_limits
from ultracluster.plan.node_variables import check_variables, without_comments
from ultracluster.plan.paths import SYSTEM_PATHS
from ultracluster.plan.user_data_parts import part_length

if TYPE_CHECKING:
    from ultracluster.plan.node_files import NodeFile
    from ultracluster.plan.user_data import UserDataRequest

__all__ = ["calls_extras", "check_document", "check_fields", "check_script"]

# What needs no escape in JSON and none in a shell, and what can stand between two spaces in a line of fstab.
_WORD = re.compile(r"[A-Za-z0-9._:/#+@=-]+")
_MOUNT_PATH = re.compile(r"/[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")
_OPTION = re.compile(r"[A-Za-z0-9._:/=-]+")
_EXTRAS = re.compile(r"\bamazon-linux-extras\b|\byum\S*\s.*--enable(?:repo)?[= ]\S*extras?\b")
_ASKED = re.compile(r"(?:command -v|which|type|hash|-x|-f)\s+\S*amazon-linux-extras")
_PLACEHOLDER = "${Token["  # how CDK writes a value that it fills in later


def check_fields(request: UserDataRequest, *, subject: str) -> Iterator[Finding]:
    """Values that cannot be written into the settings."""
    names = {
        "auto_scaling_group_name": request.auto_scaling_group_name,
        "lifecycle_hook_name": request.lifecycle_hook_name or "none",
        "terminate_hook_name": request.terminate_hook_name or "none",
        "log_group_name": request.log_group_name,
        "metrics_namespace": request.metrics_namespace,
    }
    for field, value in names.items():
        if not _WORD.fullmatch(value):
            yield finding("UC-NOD-023", f"{subject}.{field}", f"{value!r} cannot stand in the settings of a node")
    if not request.node_types:
        yield finding("UC-NOD-023", f"{subject}.node_types", "no instance type is named")
    yield from _mounts(request, subject=subject)


def _mounts(request: UserDataRequest, *, subject: str) -> Iterator[Finding]:
    paths = Counter(mount.mount_path.rstrip("/") for mount in request.mounts)
    for index, mount in enumerate(request.mounts):
        where, path = f"{subject}.mounts[{index}]", mount.mount_path
        if not _MOUNT_PATH.fullmatch(path) or ".." in path.split("/"):
            yield finding("UC-NOD-022", where, f"{path!r} is no absolute path of plain names")
        elif path in SYSTEM_PATHS:
            yield finding("UC-NOD-022", where, f"{path} belongs to the system")
        if paths[path.rstrip("/")] > 1:
            yield finding("UC-NOD-022", where, f"{path} is the mount path of {paths[path.rstrip('/')]} file systems")
        if not mount.options or not all(map(_OPTION.fullmatch, mount.options)):
            yield finding("UC-NOD-022", where, f"the mount options {list(mount.options)} are no list of plain words")
        if mount.kind == "efs" and request.os.startswith("ubuntu") and not node_packages().efs_in_ubuntu:
            yield finding("UC-NOD-024", where, f"{request.os} has no package of the EFS mount helper")


def check_script(request: UserDataRequest, *, subject: str) -> Iterator[Finding]:
    """Faults in the user's own script that would only show on a node."""
    script, where = request.user_script, f"{subject}.user_data"
    if script is None:
        return
    yield from _first_line(script, where)
    if "\x00" in script:
        yield finding("UC-NOD-021", where, "the script holds a zero byte")
    if _PLACEHOLDER in script and not plain(script):
        yield finding(
            "UC-NOD-021", where, "the script holds a value of the deployment beside characters other than ASCII"
        )
    if request.os == "al2023" and calls_extras(script):
        yield finding(
            "UC-NOD-007", where, "the script calls amazon-linux-extras, which Amazon Linux 2023 does not have"
        )
    yield from check_variables(script, os=request.os, subject=where)
    for written, size in locked_memory_limits(without_comments(script)):
        if size is not None:
            yield from check_locked_memory(written, size, subject=where)


def _first_line(script: str, where: str) -> Iterator[Finding]:
    if not re.match(r"#![ \t]*/", script):
        yield finding("UC-NOD-021", where, f"the script begins with {script[:20]!r}")
    elif script.partition("\n")[0].endswith("\r"):
        message = "the first line ends in a carriage return, and no interpreter has such a name"
        yield finding("UC-NOD-021", where, message, "save the script with line ends of Unix (LF)")


def calls_extras(script: str) -> bool:
    """Whether a script installs from the extras of Amazon Linux 2, its comments and its own tests for them aside."""
    return any(_EXTRAS.search(line) and not _ASKED.search(line) for line in without_comments(script).splitlines())


def check_document(files: tuple[NodeFile, ...], size: int, *, limit: int, subject: str) -> Iterator[Finding]:
    """Whether the document fits."""
    if size > limit:
        sizes = {file.path: sum(map(part_length, file.parts)) for file in files}
        largest = sorted(sizes.items(), key=lambda item: -item[1])
        named = ", ".join(f"{path} {count}" for path, count in largest[:4])
        rest = sum(count for _, count in largest[4:])
        yield finding(
            "UC-TPL-003",
            f"{subject}.user_data",
            f"the document has {size} bytes, EC2 takes {limit}: {named}, the rest {rest}",
        )
