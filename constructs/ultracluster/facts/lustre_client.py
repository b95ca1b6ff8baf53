"""Reader of `data/lustre_client.json`: how a node is tuned as a client of Lustre, and for whom each value is meant."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from ultracluster.values import dataclass

__all__ = ["ClientRow", "Layout", "LustreClient", "lustre_client"]

DATA_FILE = Path(__file__).with_name("data") / "lustre_client.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRow:
    """One value.

    Attributes:
        name: `module.option` of a module option, or a parameter of `lctl` with `{fs}` for the file system.
        value: what it is set to, per vCPU when `per_vcpu` is set.
        reason: why.
        per_vcpu: whether the value is multiplied by the number of vCPUs.
        vcpus_over: for nodes with more vCPUs than this; 0 for all.
        memory_gib_over: for nodes with more memory than this; 0 for all.
        transport: the only transport on which it has an effect; empty for all.
        loads_servers: whether it is left out for small file systems and few clients.
        if_present: whether older clients lack it.
        group: opt-in group; empty when it is applied unasked.
    """

    name: str
    value: int
    reason: str
    per_vcpu: bool = False
    vcpus_over: int = 0
    memory_gib_over: int = 0
    transport: str = ""
    loads_servers: bool = False
    if_present: bool = False
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How files of a folder spread over object storage targets.

    Attributes:
        stripe_count: number of targets; -1 for all.
        stripe_size_mib: how much goes to one target at a time; None for the default of the file system.
        reason: why.
    """

    stripe_count: int
    stripe_size_mib: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreClient:
    """All that a client needs to know.

    Attributes:
        module_options: in force from when a module is loaded.
        parameters: set after a mount, in this order.
        skip_osts: file systems with at most so many object storage targets are not loaded further.
        skip_clients: nor those with at most so many clients.
        layouts: by purpose of a folder.
        efa_peer_credits: messages in flight to one server over EFA.
        interface_probe: address whose route names the IP interface of the node.
    """

    module_options: tuple[ClientRow, ...]
    parameters: tuple[ClientRow, ...]
    skip_osts: int
    skip_clients: int
    layouts: dict[str, Layout]
    efa_peer_credits: int
    interface_probe: str

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the opt-in groups."""
        return tuple(sorted({row.group for row in self.parameters if row.group}))


@cache
def lustre_client() -> LustreClient:
    """The facts, read once."""
    document = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return LustreClient(
        module_options=tuple(_row(f"{row['module']}.{row['option']}", row) for row in document["module_options"]),
        parameters=tuple(_row(row["parameter"], row) for row in document["parameters"]),
        skip_osts=document["skip"]["osts_at_most"],
        skip_clients=document["skip"]["clients_at_most"],
        layouts={
            name: Layout(**{key: layout[key] for key in ("stripe_count", "stripe_size_mib", "reason")})
            for name, layout in document["layouts"].items()
        },
        efa_peer_credits=document["efa"]["peer_credits"],
        interface_probe=document["efa"]["interface_probe"],
    )


def _row(name: str, row: dict[str, Any]) -> ClientRow:
    documented = {"module", "option", "parameter", "service_default", "source", "confidence"}
    return ClientRow(name=name, **{key: value for key, value in row.items() if key not in documented})
