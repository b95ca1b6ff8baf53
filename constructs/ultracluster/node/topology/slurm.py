"""Files for Slurm: `topology.conf` of the tree and of the block plugin, `topology.yaml` of Slurm 25.05 and later."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from .records import TopologyError, natural
from .tree import Switch, Topology

__all__ = ["block_conf", "block_sizes", "hostlist", "tree_conf", "yaml_file"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_NUMBERED = re.compile(r"(.*?)(0|[1-9][0-9]{0,8})")


def hostlist(names: Iterable[str]) -> str:
    """Slurm's short form of names: `node[1-3,7],login`. Numbers with leading zeros are left as they are."""
    groups: dict[str, list[int] | None] = {}
    for name in names:
        found = _NUMBERED.fullmatch(name)
        # A zero before the number belongs to it: node01 and node1 are two names.
        if found is None or found[1].endswith("0") or not found[1]:
            groups.setdefault(name + "\n", None)
        else:
            numbers = groups.setdefault(found[1], [])
            if numbers is not None:
                numbers.append(int(found[2]))
    return ",".join(key[:-1] if numbers is None else _short(key, numbers) for key, numbers in groups.items())


def _short(prefix: str, numbers: list[int]) -> str:
    spans = list(_spans(sorted(set(numbers))))
    if spans[0][0] == spans[-1][1]:
        return f"{prefix}{spans[0][0]}"
    listed = ",".join(f"{first}-{last}" if last > first else str(first) for first, last in spans)
    return f"{prefix}[{listed}]"


def _spans(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    first = last = numbers[0]
    for number in numbers[1:]:
        if number != last + 1:
            yield first, last
            first = number
        last = number
    yield first, last


def tree_conf(topology: Topology) -> str:
    """`topology.conf` for `TopologyPlugin=topology/tree`, the hosts that hang on each switch included."""
    lines = []
    for switch in _checked(topology):
        below = f"Nodes={hostlist(switch.hosts)}" if switch.hosts else f"Switches={_names(switch.children)}"
        lines.append(f"SwitchName={switch.name} {below}")
    return "".join(f"{line}\n" for line in lines)


def block_conf(topology: Topology, *, base: int | None = None) -> str:
    """`topology.conf` for `TopologyPlugin=topology/block` (Slurm 23.11 and later).

    Args:
        topology: of the instances.
        base: hosts of the smallest unit that Slurm plans with; the smallest block by default.
    """
    blocks = _blocks(topology)
    lines = [f"BlockName={name} Nodes={hostlist(hosts)}" for name, hosts in blocks.items()]
    lines.append(f"BlockSizes={','.join(map(str, block_sizes(blocks, base)))}")
    return "".join(f"{line}\n" for line in lines)


def block_sizes(blocks: dict[str, tuple[str, ...]], base: int | None = None) -> list[int]:
    """The planning size, and its doublings as far as there are blocks for them.

    Raises:
        TopologyError: a block has fewer hosts than the planning size.
    """
    smallest = min(blocks, key=lambda name: len(blocks[name]))
    size = base or len(blocks[smallest])
    if not 0 < size <= len(blocks[smallest]):
        raise TopologyError(f"{size} hosts per unit, and {smallest} has {len(blocks[smallest])}; ask for fewer")
    return [size * 2**step for step in range(len(blocks).bit_length())]


def yaml_file(topology: Topology, *, base: int | None = None) -> str:
    """`topology.yaml`: the tree as the default of the cluster, and the blocks for partitions that ask for them."""
    lines = ["- topology: tree", "  cluster_default: true", "  tree:", "    switches:"]
    for switch in _checked(topology):
        below = f"nodes: {_text(hostlist(switch.hosts))}" if switch.hosts else f"children: {_below(switch)}"
        lines += [f"      - switch: {_text(switch.name)}", f"        {below}"]
    if any(each.path or each.block for each in topology.instances.values()):
        blocks = _blocks(topology)
        lines += ["- topology: block", "  cluster_default: false", "  block:", "    block_sizes:"]
        lines += [f"      - {size}" for size in block_sizes(blocks, base)]
        lines.append("    blocks:")
        for name, hosts in blocks.items():
            lines += [f"      - block: {_text(name)}", f"        nodes: {_text(hostlist(hosts))}"]
    return "".join(f"{line}\n" for line in lines)


def _below(switch: Switch) -> str:
    return _text(_names(switch.children))


def _text(text: str) -> str:
    """A YAML scalar that is a text whatever it looks like: JSON's strings are YAML's."""
    return json.dumps(text)


def _names(switches: Iterable[Switch]) -> str:
    # Ids are no numbers that follow each other: a range over hexadecimal digits would name others.
    return ",".join(switch.name for switch in switches)


def _blocks(topology: Topology) -> dict[str, tuple[str, ...]]:
    _checked(topology)
    if not topology.blocks:
        raise TopologyError("no instance tells its place, so there are no blocks; ask again when they run")
    for name in topology.blocks:
        _valid(name, "block")
    return {name: tuple(sorted(hosts, key=natural)) for name, hosts in topology.blocks.items()}


def _checked(topology: Topology) -> tuple[Switch, ...]:
    for switch in topology.switches:
        _valid(switch.name, "switch")
    for name in topology.hosts:
        _valid(name, "host")
    return topology.switches


def _valid(name: str, what: str) -> None:
    if not _NAME.fullmatch(name):
        raise TopologyError(f"{name!r} cannot be the name of a {what} in Slurm; letters, digits, `-`, `_`, `.` only")
