"""The EFA devices that the kernel shows."""

from __future__ import annotations

from pathlib import Path

from .host import Node

_FOLDER = "/sys/class/infiniband"


def devices(node: Node) -> list[str]:
    """Names of the RDMA devices that the EFA driver serves, sorted; other RDMA devices are left out."""
    folder = node.path(_FOLDER)
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    return [name for name in names if _driver(folder / name / "device/driver") == "efa"]


def _driver(link: Path) -> str:
    try:
        return link.readlink().name
    except OSError:
        return ""
