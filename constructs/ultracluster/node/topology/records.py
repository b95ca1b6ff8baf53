"""Records of DescribeInstanceTopology, and the names that Slurm, Kubernetes or MPI know the instances by."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .. import NodeError

__all__ = ["Instance", "TopologyError", "natural", "parse_names", "parse_records", "with_names"]

_SCONTROL = re.compile(r"\bNodeName=(\S+)(?:.*?)\bInstanceId=(i-[0-9a-f]+)", re.DOTALL)
_PAIR = re.compile(r"^(\S+)[\s,=]+(\S+)$")
_INSTANCE_ID = re.compile(r"^i-[0-9a-f]+$")


class TopologyError(NodeError):
    """Records from which no topology can be made."""


@dataclass(frozen=True)
class Instance:
    """One instance.

    Attributes:
        id: its instance id.
        name: what the scheduler calls it; the id unless names were given.
        path: network nodes from the top of the network to the one that the instance hangs on; empty when unknown.
        block: NVLink domain (UltraServer) that it is part of; empty when none.
        type: its instance type; empty when unknown.
    """

    id: str
    name: str
    path: tuple[str, ...] = ()
    block: str = ""
    type: str = ""


def parse_records(text: str) -> tuple[Instance, ...]:
    """Read records: an answer of the API, several of them in a list, or a bare list of instances.

    Raises:
        TopologyError: it is no JSON, or nothing in it is an instance.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise TopologyError(f"the records are no JSON ({error}); save an answer of DescribeInstanceTopology") from error
    found: dict[str, Instance] = {}
    for record in _records(document):
        instance = _instance(record)
        # An instance that two pages name counts once; the record that knows its place is kept.
        if instance.id not in found or not found[instance.id].path:
            found[instance.id] = instance
    if not found:
        raise TopologyError("the records name no instance; save an answer of DescribeInstanceTopology")
    return tuple(found.values())


def _records(document: Any) -> Iterable[Any]:  # noqa: ANN401 - any JSON
    if isinstance(document, Mapping) and "Instances" in document:
        yield from document["Instances"] if isinstance(document["Instances"], list) else ()
    elif isinstance(document, Mapping):
        yield document
    elif isinstance(document, list):
        for entry in document:
            yield from _records(entry)


def _instance(record: Any) -> Instance:  # noqa: ANN401 - any JSON
    known = record if isinstance(record, Mapping) else {}
    name = known.get("InstanceId")
    if not isinstance(name, str) or not name:
        raise TopologyError(f"{json.dumps(record)[:80]} has no InstanceId; give records of DescribeInstanceTopology")
    nodes = known.get("NetworkNodes") or []
    if not isinstance(nodes, list) or not all(isinstance(node, str) and node for node in nodes):
        raise TopologyError(f"{name}: NetworkNodes is no list of names; give records of DescribeInstanceTopology")
    block, kind = known.get("CapacityBlockId"), known.get("InstanceType")
    return Instance(
        id=name,
        name=name,
        path=tuple(nodes),
        block=block if isinstance(block, str) else "",
        type=kind if isinstance(kind, str) else "",
    )


def parse_names(text: str) -> dict[str, str]:
    """Instance id to name.

    Takes an answer of DescribeInstances (the first label of the private DNS name), a JSON object, the output of
    `scontrol show nodes` (Slurm 23.11 and later print InstanceId), or lines `instance-id name`.

    Raises:
        TopologyError: none of these, or two instances with one name.
    """
    names = _json_names(text) if text.lstrip()[:1] in {"{", "["} else _line_names(text)
    taken: dict[str, str] = {}
    for instance, name in names.items():
        if taken.setdefault(name, instance) != instance:
            raise TopologyError(f"{taken[name]} and {instance} are both called {name}; names have to differ")
    return names


def _json_names(text: str) -> dict[str, str]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise TopologyError(f"the names are no JSON ({error}); give an object of instance id to name") from error
    if isinstance(document, dict) and "Reservations" in document:
        named = ((each.get("InstanceId"), each.get("PrivateDnsName")) for each in _described(document["Reservations"]))
        return {
            key: name.split(".")[0] for key, name in named if isinstance(key, str) and isinstance(name, str) and name
        }
    if isinstance(document, dict) and all(map(_is_name, document.values())):
        return dict(document)
    raise TopologyError("the names are no object of texts; give instance id to name")


def _described(groups: Any) -> Iterable[Mapping[str, Any]]:  # noqa: ANN401 - any JSON
    for group in groups if isinstance(groups, list) else ():
        instances = group.get("Instances") if isinstance(group, dict) else None
        yield from (each for each in (instances if isinstance(instances, list) else ()) if isinstance(each, dict))


def _is_name(name: Any) -> bool:  # noqa: ANN401 - any JSON
    return isinstance(name, str) and bool(name)


def _line_names(text: str) -> dict[str, str]:
    if "NodeName=" in text:
        blocks = re.split(r"(?=\bNodeName=)", text)
        return {found[2]: found[1] for found in map(_SCONTROL.search, blocks) if found}
    names = {}
    for line in text.splitlines():
        bare = line.split("#")[0].strip()
        pair = _PAIR.match(bare)
        if pair is None or not _INSTANCE_ID.match(pair[1]):
            if bare:
                raise TopologyError(f"{bare[:80]!r} names no instance; write lines of instance id and name")
            continue
        names[pair[1]] = pair[2]
    return names


def with_names(instances: Iterable[Instance], names: Mapping[str, str]) -> tuple[Instance, ...]:
    """The same instances under their names, and those that have a name and no record, with an empty path.

    An instance without a name keeps its id, unless names were given at all: then it is none of the cluster's.
    """
    known = {instance.id: instance for instance in instances}
    if not names:
        return tuple(known.values())
    return tuple(
        Instance(
            id=instance,
            name=name,
            path=known[instance].path if instance in known else (),
            block=known[instance].block if instance in known else "",
            type=known[instance].type if instance in known else "",
        )
        for instance, name in names.items()
    )


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts `node-9` before `node-10`, and differs for names that differ."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return tuple((0, int(part), part) if part.isascii() and part.isdigit() else (1, 0, part) for part in parts)
