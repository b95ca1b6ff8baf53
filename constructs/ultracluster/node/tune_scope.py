"""Which rows of the table count: the node as far as it is known at a stage, against the conditions of a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .files import read_text
from .host import Node

__all__ = ["STAGES", "Scope", "known_opt_ins", "rows_for"]

STAGES = ("image", "boot")
_MACHINES = {"aarch64": "arm64"}


@dataclass(frozen=True)
class Scope:
    """What is known of a node; None or 0 for what is not known at this stage.

    Attributes:
        vendor: make of the accelerators: `nvidia`, `aws` or None.
        os: id of the operating system as in `/etc/os-release`.
        version: its version.
        packages: `dnf` or `apt`.
        architecture: `x86_64` or `arm64`.
        type: record of the instance type; empty while an image is built.
        nodes: largest size of the fleet.
    """

    vendor: str | None
    os: str
    version: str
    packages: str
    architecture: str
    type: Mapping[str, Any]
    nodes: int

    @classmethod
    def of(cls, node: Node, stage: str, vendor: str | None) -> Scope:
        """What this node tells of itself.

        Raises:
            NodeError: the type of a booted node is not known.
        """
        release = _release(node)
        record = node.instance_type() if stage == "boot" else {}
        given = vendor or node.settings.get("vendor") or record.get("vendor")
        return cls(
            vendor=None if given == "none" else given,
            os=release.get("ID", ""),
            version=release.get("VERSION_ID", ""),
            packages="dnf" if node.has("dnf") else "apt",
            architecture=record.get("architecture") or _machine(),
            type=record,
            nodes=int(node.settings.get("nodes", 0)),
        )

    def holds(self, conditions: Mapping[str, Any]) -> bool:
        """Whether all conditions of a row hold."""
        return all(self._holds(name, wanted) for name, wanted in conditions.items())

    def _holds(self, name: str, wanted: object) -> bool:
        if name in ("vendor", "packages", "architecture"):
            return bool(getattr(self, name) == wanted)
        if name == "os":
            return wanted in (self.os, f"{self.os}-{self.version}")
        return self._type_holds(name, wanted)

    def _type_holds(self, name: str, wanted: Any) -> bool:  # noqa: ANN401 - as the table has it
        if name == "families":
            found = str(self.type.get("name", "")).partition(".")[0] in wanted
        elif name == "min_nodes":
            found = self.nodes >= wanted
        elif name in ("min_memory_gib", "min_vcpus"):
            found = self.type.get(name[len("min_") :], 0) >= wanted
        else:
            # An image may serve types with and without EFA: what does no harm is set where the type is not known yet.
            found = (name == "efa" and not self.type) or bool(self.type.get(name)) == wanted
        return bool(found)


def rows_for(
    rows: Iterable[Mapping[str, Any]], stage: str, scope: Scope, opt_ins: Iterable[str]
) -> list[Mapping[str, Any]]:
    """The rows that count, in the order of the table.

    Args:
        rows: the table.
        stage: `image` or `boot`.
        scope: what is known of the node.
        opt_ins: names that were asked for.
    """
    asked = set(opt_ins)
    return [
        row
        for row in rows
        if stage in row["stages"] and scope.holds(row["scope"]) and row.get("opt_in") in {None, *asked}
    ]


def known_opt_ins(node: Node) -> set[str]:
    """Names that can be asked for."""
    return {row["opt_in"] for row in node.facts["tuning"] if row.get("opt_in")}


def _release(node: Node) -> dict[str, str]:
    lines = read_text(node.path("/etc/os-release"), "").splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {key: value.strip().strip("\"'") for key, _, value in pairs}


def _machine() -> str:
    import platform

    return _MACHINES.get(platform.machine(), platform.machine())
