"""Rules on the containers of AWS Batch jobs: devices, memory, accelerators."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ultracluster.facts.batch import batch_facts
from ultracluster.facts.instances import InstanceType, catalog
from ultracluster.policy.graph.batch import (
    JOB_DEFINITION,
    containers_of,
    environment_types,
    is_multi_node,
    node_ranges,
)
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Assembly, Resource

_UNLIMITED = -1


@rule("UC-BAT-006", on=JOB_DEFINITION)
def container_gets_everything(definition: Resource) -> Iterator[Problem]:
    """The containers of a multi-node job with EFA get all devices, locked and shared memory, and accelerators."""
    ranges = node_ranges(definition) if is_multi_node(definition) else []
    if not any(_efa_devices(container) for entry in ranges for container in containers_of(entry)):
        return
    for entry in ranges:
        containers = containers_of(entry)
        for container in containers:
            if len(containers) > 1 and not _efa_devices(container):
                continue  # a helper beside the one that computes
            for check in _CHECKS:
                with container.judged_apart():
                    yield from check(container, entry)


def _devices(container: Value, path: str) -> list[int]:
    """Numbers of the devices of a kind."""
    pattern = re.compile(rf"{re.escape(path)}(\d+)")
    devices = container.get("LinuxParameters", "Devices").items()
    found = (pattern.fullmatch(device["HostPath"].text("")) for device in devices)
    return [int(number.group(1)) for number in found if number]


def _efa_devices(container: Value) -> list[int]:
    return _devices(container, batch_facts().efa_device)


def _type_of(container: Value, node_range: Value) -> InstanceType:
    """The facts of the instance type of a range: its own, else the only one of all environments.

    Raises:
        NotKnown: nobody names it, or it is not in the catalogue.
    """
    own = [
        *node_range["InstanceTypes"].items(),
        *([container["InstanceType"]] if container["InstanceType"].exists else []),
    ]
    names = {kind.text() for kind in own} or environment_types(Assembly(container.world))
    facts = catalog().get(next(iter(names))) if len(names) == 1 else None
    if facts is None:
        raise NotKnown(f"the instance type of the nodes ({', '.join(sorted(names)) or 'none is named'})")
    return facts


def _check_devices(container: Value, node_range: Value) -> Iterator[Problem]:
    if container["Privileged"].boolean(False):
        return  # sees every device of its host
    devices = container.get("LinuxParameters", "Devices")
    facts = _type_of(container, node_range)
    if facts.max_efa_interfaces is None:
        raise NotKnown(f"how many EFA devices {facts.name} has")
    path, most = batch_facts().efa_device, facts.max_efa_interfaces
    given = set(_efa_devices(container))
    missing = sorted(set(range(most)) - given)
    beyond = sorted(number for number in given if number >= most)
    if missing:
        yield Problem(
            devices, f"{most - len(missing)} of the {most} EFA devices of {facts.name}, {path}{missing[0]} is absent"
        )
    elif beyond:
        yield Problem(devices, f"{path}{beyond[0]} does not exist, {facts.name} has {most} EFA devices")


def _check_locked_memory(container: Value, _: Value) -> Iterator[Problem]:
    limits = container["Ulimits"]
    for entry in limits.items():
        if entry["Name"].text("") == "memlock":
            for key in ("SoftLimit", "HardLimit"):
                if entry[key].integer(0) != _UNLIMITED:
                    yield Problem(entry[key], f"{entry[key].shown} for memlock, EFA needs locked memory without limit")
            return
    yield Problem(limits, "no entry for memlock, EFA needs locked memory without limit")


def _check_shared_memory(container: Value, _: Value) -> Iterator[Problem]:
    size = container.get("LinuxParameters", "SharedMemorySize")
    if not size.integer(0):
        yield Problem(size, f"{size.shown}, and processes of a node exchange data through /dev/shm, 64 MiB by default")


def _check_accelerators(container: Value, node_range: Value) -> Iterator[Problem]:
    wanted = container["ResourceRequirements"]
    gpus = [entry["Value"] for entry in wanted.items() if entry["Type"].text("").upper() == "GPU"]
    facts = _type_of(container, node_range)
    if facts.vendor == "nvidia":
        yield from _check_gpus(wanted, gpus, facts)
    elif not container["Privileged"].boolean(False) and not _devices(container, batch_facts().neuron_device):
        devices = container.get("LinuxParameters", "Devices")
        yield Problem(devices, f"no {batch_facts().neuron_device} device of {facts.name}")


def _check_gpus(wanted: Value, gpus: list[Value], facts: InstanceType) -> Iterator[Problem]:
    if not gpus:
        yield Problem(wanted, f"no GPU of the {facts.accelerator_count} of {facts.name}")
    for number in gpus:
        if not 1 <= number.integer() <= facts.accelerator_count:
            yield Problem(number, f"{number.shown} GPU, {facts.name} has {facts.accelerator_count}")


_CHECKS: tuple[Callable[[Value, Value], Iterator[Problem]], ...] = (
    _check_devices,
    _check_locked_memory,
    _check_shared_memory,
    _check_accelerators,
)


@rule("UC-BAT-007", on=JOB_DEFINITION)
def devices_keep_their_place(definition: Resource) -> Iterator[Problem]:
    """EFA devices have the same path inside the container, with all permissions."""
    facts = batch_facts()
    for container in _all_containers(definition):
        for device in container.get("LinuxParameters", "Devices").items():
            with device.judged_apart():
                if device["HostPath"].text("").startswith(facts.efa_device):
                    yield from _check_mapping(device, facts.device_permissions)


def _all_containers(definition: Resource) -> Iterator[Value]:
    if definition.get("ContainerProperties").exists:
        yield definition.get("ContainerProperties")
    for task in definition.get("EcsProperties", "TaskProperties").items():
        yield from task["Containers"].items()
    for entry in node_ranges(definition):
        yield from containers_of(entry)


def _check_mapping(device: Value, permissions: tuple[str, ...]) -> Iterator[Problem]:
    inside, host = device["ContainerPath"], device["HostPath"]
    if inside.exists and inside.text() != host.text():
        yield Problem(inside, f"{inside.shown} for {host.shown}, the EFA provider looks under the path of the host")
    allowed = device["Permissions"]
    if not allowed.exists:
        return  # all of them by default
    given = {entry.text().upper() for entry in allowed.items()}
    missing = [name for name in permissions if name not in given]
    if missing:
        yield Problem(allowed, f"without {', '.join(missing)} for {host.shown}")
