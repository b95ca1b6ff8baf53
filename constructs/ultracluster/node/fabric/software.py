"""Versions of what EFA needs on a host, against the least that is documented for the family."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import NodeError
from ..files import read_text

if TYPE_CHECKING:
    from ..host import Node

__all__ = ["TITLES", "found_versions", "least_versions", "older", "plugin_files", "too_old"]

TITLES = {
    "libfabric": "libfabric",
    "plugin": "aws-ofi-nccl",
    "efa_installer": "the EFA installer",
    "driver": "the NVIDIA driver",
    "kernel": "the kernel",
}
_INSTALLER = "/opt/amazon/efa_installed_packages"
_PLUGIN = re.compile(rb"NET/OFI Initializing aws-ofi-nccl (?:GitHub-dev |git-)?v?(\d+(?:\.\d+)+)")
_LIBRARIES = ("libnccl-net.so", "libnccl-net-ofi.so")
# Where installers put it, from the oldest to the newest; what the loader is told comes first.
_FOLDERS = ("/opt/amazon/ofi-nccl", "/opt/aws-ofi-nccl", "/opt/amazon/aws-ofi-nccl")
_LARGEST_BYTES = 64 * 2**20


def least_versions(rows: Iterable[Mapping[str, Any]], family: str) -> dict[str, str]:
    """What a family needs at least; a row for the family goes before the one for all."""
    least: dict[str, str] = {}
    for row in rows:
        if not row["families"] or family in row["families"]:
            least.update({key: row[key] for key in TITLES if key in row})
    return least


def found_versions(node: Node, *, vendor: str) -> dict[str, str]:
    """What is on this host, by the keys of `TITLES`; what cannot be found is left out."""
    release = read_text(node.path("/proc/sys/kernel/osrelease"), "").strip()
    installer = re.search(r"EFA installer version:\s*(\S+)", read_text(node.path(_INSTALLER), ""))
    found = {
        "libfabric": _libfabric(node),
        "efa_installer": installer[1] if installer else "",
        "kernel": release.split("-")[0],
    }
    if vendor == "nvidia":
        driver = re.search(
            r"Kernel Module[^\n]*?\s(\d+(?:\.\d+)+)\s", read_text(node.path("/proc/driver/nvidia/version"), "")
        )
        found["driver"] = driver[1] if driver else ""
        found["plugin"] = next((version for version in map(_plugin_version, plugin_files(node)) if version), "")
    return {key: version for key, version in found.items() if version}


def _libfabric(node: Node) -> str:
    try:
        said = node.run("fi_info", "--version", timeout=30).stdout
    except NodeError:
        return ""
    version = re.search(r"^libfabric:\s*v?(\d+(?:\.\d+)+)", said, re.MULTILINE)
    return version[1] if version else ""


def plugin_files(node: Node) -> tuple[Path, ...]:
    """Libraries of aws-ofi-nccl, each once, in the order in which the loader would meet them."""
    files: dict[Path, None] = {}
    for folder in _plugin_folders(node):
        for name in _LIBRARIES:
            file = node.path(str(folder)) / name
            if file.is_file():
                files.setdefault(file.resolve(), None)
    return tuple(files)


def _plugin_folders(node: Node) -> Sequence[str]:
    told = [part for part in node.environ.get("LD_LIBRARY_PATH", "").split(":") if part.startswith("/")]
    settings = node.path("/etc/ld.so.conf.d")
    for file in sorted(settings.glob("*.conf")) if settings.is_dir() else ():
        told += [line.strip() for line in read_text(file, "").splitlines() if line.strip().startswith("/")]
    below = [
        "/" + str(found.parent.relative_to(node.root))
        for base in _FOLDERS
        for name in _LIBRARIES
        for found in sorted(node.path(base).rglob(name))
    ]
    return list(dict.fromkeys([*told, *below]))


def _plugin_version(file: Path) -> str:
    """The version that the library prints when it starts; its file name tells none."""
    if file.stat().st_size > _LARGEST_BYTES:
        return ""
    found = _PLUGIN.search(file.read_bytes())
    return found[1].decode() if found else ""


def older(version: str, least: str) -> bool:
    """Whether a version is below another; parts that are no numbers end the comparison."""
    return _numbers(version) < _numbers(least)


def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"\d+(?:\.\d+)*", version)
    parts = [int(part) for part in found[0].split(".")] if found else []
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def too_old(found: Mapping[str, str], least: Mapping[str, str]) -> list[str]:
    """What is missing or too old, in words."""
    said = []
    for key, wanted in least.items():
        if key not in found:
            said.append(f"{TITLES[key]} is not found and has to be {wanted} or later")
        elif older(found[key], wanted):
            said.append(f"{TITLES[key]} is {found[key]} and has to be {wanted} or later")
    return said
