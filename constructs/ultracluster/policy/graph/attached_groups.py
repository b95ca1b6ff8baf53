"""Security groups that instances carry, and who the instances are that mount a file system."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, users_of
from ultracluster.policy.graph.zones import subnets_of
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = ["INSTANCE", "attached_groups", "carriers_of", "clients_of", "consumers_of", "subnets_around"]

INSTANCE = "AWS::EC2::Instance"


@remembered
def attached_groups(carrier: Resource) -> list[Value]:
    """The groups of the instances that a resource launches; none when it names none.

    Raises:
        NotKnown: a list is not known.
    """
    reader = _READERS.get(carrier.type)
    return list(reader(carrier)) if reader is not None else []


@remembered
def carriers_of(group: Resource) -> list[Resource]:
    """What launches instances that carry a group."""
    return [carrier for carrier in group.referrers(*_READERS) if _carries(carrier, group)]


def _carries(carrier: Resource, group: Resource) -> bool:
    for value in _known(carrier):
        try:
            if value.resource() == group:
                return True
        except NotKnown:
            continue  # another group: one that is named by reference is always known
    return False


def _known(carrier: Resource) -> list[Value]:
    try:
        return attached_groups(carrier)
    except NotKnown:
        return []


@remembered
def clients_of(file_system: Resource) -> list[Resource]:
    """Launch templates and instances that name a file system, which they do to mount it."""
    return file_system.referrers(LAUNCH_TEMPLATE, INSTANCE)


@remembered
def consumers_of(client: Resource) -> list[Resource]:
    """What launches the instances of a client: the instance itself, or the users of the launch template."""
    if client.type == INSTANCE:
        return [client]
    return list(dict.fromkeys(use.consumer for use in users_of(client)))


@remembered
def subnets_around(client: Resource) -> list[Value]:
    """Every subnet that instances of a client are launched into.

    Raises:
        NotKnown: a list is not known.
    """
    return [subnet for consumer in consumers_of(client) for subnet in subnets_of(consumer)]


def _launch_template(launch_template: Resource) -> Iterator[Value]:
    data = launch_template.get("LaunchTemplateData")
    yield from data["SecurityGroupIds"].items()
    read: list[object] = []
    for entry in data["NetworkInterfaces"].items():
        groups = entry["Groups"]
        if groups.written not in read:  # most of dozens of entries carry the same
            read.append(groups.written)
            yield from groups.items()


def _instance(instance: Resource) -> Iterator[Value]:
    yield from instance.get("SecurityGroupIds").items()
    for entry in instance.get("NetworkInterfaces").items():
        yield from entry["GroupSet"].items()


def _cluster(cluster: Resource) -> Iterator[Value]:
    yield from cluster.get("VpcConfig", "SecurityGroupIds").items()
    for entry in cluster.get("InstanceGroups").items():
        yield from entry.get("OverrideVpcConfig", "SecurityGroupIds").items()


def _listed(*keys: str) -> Callable[[Resource], Iterator[Value]]:
    return lambda resource: iter(resource.get(*keys).items())


_READERS: dict[str, Callable[[Resource], Iterator[Value]]] = {
    LAUNCH_TEMPLATE: _launch_template,
    INSTANCE: _instance,
    "AWS::AutoScaling::LaunchConfiguration": _listed("SecurityGroups"),
    "AWS::Batch::ComputeEnvironment": _listed("ComputeResources", "SecurityGroupIds"),
    "AWS::SageMaker::Cluster": _cluster,
}
