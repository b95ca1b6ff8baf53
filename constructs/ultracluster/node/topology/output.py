"""Labels for Kubernetes, the order of ranks, and the topology as JSON."""

from __future__ import annotations

import json
import re
import shlex

from .records import TopologyError
from .slurm import block_conf, tree_conf, yaml_file
from .tree import Topology

__all__ = ["FORMATS", "document", "hostfile", "labels", "render"]

FORMATS = ("tree", "block", "yaml", "labels", "hostfile", "json")
# As AWS names them: 1 is the top of the network, the last one is what the instance hangs on.
LAYER = "topology.k8s.aws/network-node-layer-"
ULTRASERVER = "topology.k8s.aws/ultraserver-id"
_VALUE = re.compile(r"(?=.{1,63}$)[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")


def labels(topology: Topology) -> dict[str, dict[str, str]]:
    """Node name to its labels; nodes whose place is unknown have none.

    Raises:
        TopologyError: an id is no label value.
    """
    found = {}
    for name in topology.hosts:
        instance = topology.instances[name]
        own = {f"{LAYER}{layer}": node for layer, node in enumerate(instance.path, 1)}
        if instance.block:
            own[ULTRASERVER] = instance.block
        for value in own.values():
            if not _VALUE.fullmatch(value):
                raise TopologyError(f"{value!r} cannot be the value of a label; at most 63 letters, digits, `-_.`")
        if own:
            found[name] = own
    return found


def hostfile(topology: Topology, *, slots: int | None = None) -> str:
    """Host names in the order that ranks should have, one a line, with the slots of each when they are given."""
    ending = f" slots={slots}" if slots else ""
    return "".join(f"{name}{ending}\n" for name in topology.hosts)


def document(topology: Topology) -> dict[str, object]:
    """The topology as plain JSON."""
    return {
        "schema": 1,
        "hosts": [
            {"rank": rank, "name": name, "instance": each.id, "path": list(each.path), "block": each.block or None}
            for rank, name in enumerate(topology.hosts)
            for each in (topology.instances[name],)
        ],
        "blocks": {name: list(hosts) for name, hosts in topology.blocks.items()},
        "unplaced": list(topology.unplaced),
    }


def render(topology: Topology, form: str, *, base: int | None = None, slots: int | None = None) -> str:
    """The topology in one of `FORMATS`.

    Args:
        topology: of the instances.
        form: which.
        base: planning size of blocks.
        slots: of each host in the host file.
    """
    if form == "labels":
        commands = []
        for name, own in labels(topology).items():
            pairs = " ".join(shlex.quote(f"{key}={value}") for key, value in own.items())
            commands.append(f"kubectl label node {shlex.quote(name)} --overwrite {pairs}\n")
        return "".join(commands)
    if form == "json":
        return json.dumps(document(topology), indent=2) + "\n"
    writers = {
        "tree": lambda: tree_conf(topology),
        "block": lambda: block_conf(topology, base=base),
        "yaml": lambda: yaml_file(topology, base=base),
        "hostfile": lambda: hostfile(topology, slots=slots),
    }
    return writers[form]()
