"""The interface list of a launch template, in the form in which the plan judges one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ultracluster.plan.interface_rules import NetworkInterfaceEntry
from ultracluster.policy.graph.launch_templates import served_types, users_of
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

if TYPE_CHECKING:
    from ultracluster.facts.instances import InstanceType
    from ultracluster.plan.network_interfaces import InterfaceKind

__all__ = [
    "InterfaceList",
    "catalogued_types",
    "has_fabric",
    "held_in",
    "integer_in",
    "interface_list",
    "is_launched",
    "requested_efa",
]

_KINDS = ("interface", "efa", "efa-only")
# What an entry without an InterfaceType is.
_DEFAULT_KIND = "interface"
# Launches one instance at a time: its own call may add to, or replace, what the launch template says.
_SINGLE = "AWS::EC2::Instance"


@dataclass(frozen=True, slots=True)
class InterfaceList:
    """The entries of LaunchTemplateData.NetworkInterfaces.

    Attributes:
        launch_template: whose list it is.
        value: the property.
        values: its entries.
    """

    launch_template: Resource
    value: Value
    values: list[Value]

    @property
    def kinds(self) -> list[str]:
        """InterfaceType of every entry.

        Raises:
            NotKnown: one of them is not known, also where an interface that exists already is attached.
        """
        return _kinds(self.launch_template)

    @property
    def fabric(self) -> list[Value]:
        """The entries that are a fabric device.

        Raises:
            NotKnown: as `kinds`.
        """
        return [entry for entry, kind in zip(self.values, self.kinds, strict=True) if kind != _DEFAULT_KIND]

    @property
    def entries(self) -> tuple[NetworkInterfaceEntry, ...]:
        """Card, device and kind of every entry.

        Raises:
            NotKnown: one of them is not known.
        """
        return _entries(self.launch_template)

    @property
    def is_plain(self) -> bool:
        """Whether it is a single interface without fabric, which every type takes.

        Raises:
            NotKnown: as `kinds`.
        """
        return len(self.values) == 1 and not self.fabric

    def at(self, subject: str, key: str = "") -> Value:
        """The value that a finding of the plan names: the list, an entry (`[3]`), or the property of an entry."""
        if not subject.endswith("]"):
            return self.value
        entry = self.values[int(subject[subject.rindex("[") + 1 : -1])]
        return entry[key] if key and entry[key].exists else entry


def held_in(entry: Value, names: Sequence[str]) -> list[str]:
    """Those properties that an entry may have: asking each of thirty entries for ten that are not there is not free."""
    raw = entry.state
    if not isinstance(raw, dict) or any(key.startswith("Fn::") for key in raw):
        return list(names)
    return [name for name in names if name in raw]


def integer_in(entry: Value, key: str, default: int | None = None) -> int | None:
    """A whole number of an entry, without detour where it is written as one.

    Raises:
        NotKnown: it is not known.
    """
    raw = entry.state
    written = raw.get(key) if isinstance(raw, dict) else None
    if type(written) is int:
        return written
    return entry[key].integer(default)


def _kind(entry: Value) -> str:
    raw = entry.state
    written = raw.get("InterfaceType") if isinstance(raw, dict) else None
    if isinstance(written, str) and written in _KINDS:
        return written
    kind = entry["InterfaceType"]
    if not kind.exists and entry["NetworkInterfaceId"].exists:
        raise NotKnown("the kind of an interface that exists already")
    text = kind.text(_DEFAULT_KIND)
    if text not in _KINDS:
        raise NotKnown(f"interface type {kind.shown}")
    return text


@remembered
def _kinds(launch_template: Resource) -> list[str]:
    found = interface_list(launch_template)
    return [_kind(entry) for entry in found.values] if found else []


@remembered
def _entries(launch_template: Resource) -> tuple[NetworkInterfaceEntry, ...]:
    found = interface_list(launch_template)
    values = found.values if found else []
    kinds = _kinds(launch_template)
    return tuple(_placed(entry, kind) for entry, kind in zip(values, kinds, strict=True))


def _placed(entry: Value, kind: str) -> NetworkInterfaceEntry:
    device = integer_in(entry, "DeviceIndex")
    if device is None:
        raise NotKnown("DeviceIndex is absent")
    card = integer_in(entry, "NetworkCardIndex")
    return NetworkInterfaceEntry(card=card, device=device, kind=cast("InterfaceKind", kind))


@remembered
def interface_list(launch_template: Resource) -> InterfaceList | None:
    """The interface list of a launch template; None when it has none.

    Raises:
        NotKnown: it is no list, or not known.
    """
    value = launch_template.get("LaunchTemplateData", "NetworkInterfaces")
    values = value.items()
    return InterfaceList(launch_template, value, values) if values else None


@remembered
def has_fabric(launch_template: Resource) -> bool:
    """Whether any entry of its interface list is a fabric device.

    Raises:
        NotKnown: no entry is known to be one, and one of them is not known.
    """
    found = interface_list(launch_template)
    doubt: NotKnown | None = None
    for entry in found.values if found else ():
        try:
            if _kind(entry) != _DEFAULT_KIND:
                return True
        except NotKnown as unknown:
            doubt = unknown
    if doubt is not None:
        raise doubt
    return False


@remembered
def is_launched(launch_template: Resource) -> bool:
    """Whether a fleet of the assembly launches it as it is."""
    return any(use.consumer.type != _SINGLE for use in users_of(launch_template))


@remembered
def catalogued_types(launch_template: Resource) -> list[InstanceType]:
    """Facts of the types that a launch template serves; types outside the catalogue are noted as not judged.

    Raises:
        NotKnown: no type is known.
    """
    served = served_types(launch_template)
    unknown = [value for value, facts in served if facts is None]
    known = [facts for _, facts in served if facts is not None]
    why = f"{unknown[0].shown} is not in the catalogue" if unknown else "no instance type is named"
    if not known:
        raise NotKnown(why)
    if unknown:
        launch_template.world.doubts.append(why)
    return known


def requested_efa(launch_template: Resource) -> int | None:
    """How many fabric devices are meant; None for all that the type has.

    A construct of this library that was asked for fewer notes the number in the metadata of the launch template.
    """
    return launch_template.attribute("Metadata").get("ultracluster", "efa_interfaces").integer(None)
