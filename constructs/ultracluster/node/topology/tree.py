"""Network nodes and the hosts that hang on them: a tree of any depth, the same for the same instances in any order."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from .records import Instance, TopologyError, natural

__all__ = ["ROOT", "UNPLACED", "Switch", "Topology", "build"]

# Names that no network node of EC2 has: those begin with `nn-`.
ROOT = "cluster"
UNPLACED = "unplaced"
_HOSTS = "-hosts"


@dataclass
class Switch:
    """A network node: either switches or hosts hang on it, which is what Slurm asks for.

    Attributes:
        name: its id.
        children: network nodes below it, in order.
        hosts: names of the hosts on it, in order.
    """

    name: str
    children: list[Switch] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Topology:
    """Where all hosts are.

    Attributes:
        switches: parents before children, in order.
        hosts: names in rank order: hosts of one leaf stand together, then those of neighbouring leaves.
        blocks: block name to its hosts: NVLink domains, or leaves where there are none.
        unplaced: hosts whose place EC2 does not tell; they hang on a switch of their own.
        instances: by host name.
    """

    switches: tuple[Switch, ...]
    hosts: tuple[str, ...]
    blocks: dict[str, tuple[str, ...]]
    unplaced: tuple[str, ...]
    instances: dict[str, Instance]


def build(instances: Iterable[Instance]) -> Topology:
    """Arrange instances.

    Raises:
        TopologyError: a network node stands at two places, or two instances have one name.
    """
    ordered = sorted(instances, key=lambda each: (not each.path, each.path, natural(each.name)))
    by_name = {each.name: each for each in ordered}
    if len(by_name) != len(ordered):
        twice = next(each.name for each in ordered if by_name[each.name] is not each)
        raise TopologyError(f"two instances are called {twice}; names have to differ")
    unplaced = tuple(each.name for each in ordered if not each.path)
    roots = _roots(ordered)
    taken = {switch.name for switch in _flat(roots)}
    if unplaced:
        roots.append(Switch(_free(UNPLACED, taken), hosts=list(unplaced)))
    # Jobs span hosts of one fabric only, so that several tops are joined.
    top = roots if len(roots) == 1 else [Switch(_free(ROOT, taken), children=roots)]
    return Topology(
        switches=tuple(_flat(top)),
        hosts=tuple(by_name),
        blocks=_blocks(ordered),
        unplaced=unplaced,
        instances=by_name,
    )


def _roots(ordered: Iterable[Instance]) -> list[Switch]:
    made: dict[str, tuple[tuple[str, ...], Switch]] = {}
    roots: list[Switch] = []
    for each in ordered:
        above: list[Switch] = roots
        switch = None
        for depth, name in enumerate(each.path):
            place = each.path[:depth]
            if name not in made:
                made[name] = (place, Switch(name))
                above.append(made[name][1])
            known, switch = made[name]
            if known != place:
                raise TopologyError(f"{name} hangs on {_shown(known)} and on {_shown(place)}; take records of one time")
            above = switch.children
        if switch is not None:
            switch.hosts.append(each.name)
    for _, switch in made.values():
        if switch.children and switch.hosts:
            switch.children.insert(0, Switch(_free(switch.name + _HOSTS, made), hosts=switch.hosts))
            switch.hosts = []
    return roots


def _free(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "-"
    return name


def _shown(path: tuple[str, ...]) -> str:
    return path[-1] if path else "nothing"


def _flat(switches: Iterable[Switch]) -> Iterable[Switch]:
    waiting = list(switches)[::-1]
    while waiting:
        switch = waiting.pop()
        yield switch
        waiting.extend(reversed(switch.children))


def _blocks(ordered: Iterable[Instance]) -> dict[str, tuple[str, ...]]:
    """Blocks in rank order; instances without a place are in none."""
    hosts: dict[str, list[str]] = {}
    for each in ordered:
        if each.block or each.path:
            hosts.setdefault(each.block or each.path[-1], []).append(each.name)
    return {name: tuple(members) for name, members in hosts.items()}
