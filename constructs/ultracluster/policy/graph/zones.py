"""Subnets of whatever launches instances, and the Availability Zones they lie in."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from itertools import combinations

from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

__all__ = ["SUBNET", "Zone", "differ", "picked", "same", "subnets_of", "vpc_of", "zone_of", "zone_of_value"]

SUBNET = "AWS::EC2::Subnet"


@dataclass(frozen=True, slots=True)
class Zone:
    """An Availability Zone, named or only marked.

    Attributes:
        symbol: equal symbols are the same zone.
        name: its name or id when the template tells it.
        pick: (list, index) when it is one entry of a list of zones: other entries of the list are other zones.
    """

    symbol: Hashable
    name: str | None = None
    pick: tuple[str, str] | None = None

    def __str__(self) -> str:
        """The name, or how it is picked."""
        return self.name or (f"zone {self.pick[1]} of the Region" if self.pick else "a zone")


def zone_of(subnet: Value) -> Zone:
    """The zone of a subnet.

    Raises:
        NotKnown: the subnet is not in the assembly, or its zone is left to the service.
    """
    found = subnet.resource(SUBNET)
    if found is None:
        raise NotKnown(f"the zone of subnet {subnet.shown}")
    zone = found.get("AvailabilityZone")
    zone = zone if zone.exists else found.get("AvailabilityZoneId")
    if not zone.exists:
        raise NotKnown(f"the zone of {found}, which is left to the service")
    return zone_of_value(zone)


def zone_of_value(value: Value) -> Zone:
    """The zone that a property names."""
    if value.is_scalar and value.known:
        return Zone(value.symbol(), value.text())
    return Zone(value.symbol(), pick=picked(value.written))


def picked(raw: object) -> tuple[str, str] | None:
    """(list, index) of a value that is written as one zone of those of the Region; None for any other."""
    parts = raw.get("Fn::Select") if isinstance(raw, dict) and len(raw) == 1 else None
    if isinstance(parts, list) and len(parts) == 2 and isinstance(parts[1], dict) and "Fn::GetAZs" in parts[1]:  # noqa: PLR2004 - index and list
        return (str(parts[1]), str(parts[0]))
    return None


def same(one: Zone, other: Zone) -> bool:
    """Whether two zones are the same.

    Raises:
        NotKnown: it cannot be told.
    """
    if one.symbol == other.symbol:
        return True
    if one.name is not None and other.name is not None:
        return one.name == other.name
    if one.pick is not None and other.pick is not None and one.pick[0] == other.pick[0]:
        return one.pick[1] == other.pick[1]
    raise NotKnown("zones that are known at deployment only")


def differ(zones: Iterable[Zone]) -> bool:
    """Whether there is certainly more than one zone among them.

    Raises:
        NotKnown: it cannot be told, and no two are known to differ.
    """
    doubt: NotKnown | None = None
    for one, other in combinations(dict.fromkeys(zones), 2):
        try:
            if not same(one, other):
                return True
        except NotKnown as found:
            doubt = found
    if doubt is not None:
        raise doubt
    return False


def subnets_of(consumer: Resource) -> list[Value]:
    """The subnets that a consumer launches into; none when it names none.

    Raises:
        NotKnown: the list is not known.
    """
    reader = _READERS.get(consumer.type)
    return reader(consumer) if reader is not None else []


def vpc_of(subnet: Value) -> Value:
    """The VpcId of a subnet.

    Raises:
        NotKnown: the subnet is not in the assembly.
    """
    found = subnet.resource(SUBNET)
    if found is None:
        raise NotKnown(f"the VPC of subnet {subnet.shown}")
    return found.get("VpcId")


def _listed(*keys: str) -> Callable[[Resource], list[Value]]:
    return lambda resource: resource.get(*keys).items()


def _single(*keys: str) -> Callable[[Resource], list[Value]]:
    def read(resource: Resource) -> list[Value]:
        value = resource.get(*keys)
        return [value] if value.exists else []

    return read


def _fleet(*keys: str) -> Callable[[Resource], list[Value]]:
    def read(resource: Resource) -> list[Value]:
        overrides = [override for entry in resource.get(*keys).items() for override in entry["Overrides"].items()]
        return [subnet for override in overrides if (subnet := override["SubnetId"]).exists]

    return read


_READERS: dict[str, Callable[[Resource], list[Value]]] = {
    "AWS::AutoScaling::AutoScalingGroup": _listed("VPCZoneIdentifier"),
    "AWS::Batch::ComputeEnvironment": _listed("ComputeResources", "Subnets"),
    "AWS::EC2::EC2Fleet": _fleet("LaunchTemplateConfigs"),
    "AWS::EC2::Instance": _single("SubnetId"),
    "AWS::EC2::SpotFleet": _fleet("SpotFleetRequestConfigData", "LaunchTemplateConfigs"),
    "AWS::EFS::MountTarget": _single("SubnetId"),
    "AWS::EKS::Nodegroup": _listed("Subnets"),
    "AWS::FSx::FileSystem": _listed("SubnetIds"),
    "AWS::PCS::ComputeNodeGroup": _listed("SubnetIds"),
    "AWS::SageMaker::Cluster": _listed("VpcConfig", "Subnets"),
}
