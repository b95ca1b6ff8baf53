"""Which network interfaces an instance type gets: card, device and kind of each, computed from its per-card data.

Three layouts:

- `min-ip` is AWS's present guidance and the default: one interface with an address at card 0 device 0, and the fabric
  as `efa-only` devices, one per card that carries EFA. A node costs one address, whatever its number of cards.
- `max-bandwidth` adds interfaces with addresses where AWS documents such a list; elsewhere it is refused.
- `all-efa` is the older form, in which every fabric device has an address as well. AWS PCS wants it.

A new instance type needs no change here, only its row in the catalogue.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, cast

from ultracluster.findings import finding, raise_if_errors
from ultracluster.plan.decision import Decision
from ultracluster.plan.numbers import no_whole_number
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ultracluster.facts.instances import InstanceType, NetworkCard
    from ultracluster.findings import Finding

__all__ = [
    "InterfaceKind",
    "InterfaceLayout",
    "NetworkInterface",
    "NetworkInterfacesPlan",
    "check_network_interfaces",
    "plan_network_interfaces",
]

InterfaceKind = Literal["interface", "efa", "efa-only"]


class InterfaceLayout(StrEnum):
    """How the interfaces are laid out on the cards.

    `MIN_IP`: one address per node, the default. `MAX_BANDWIDTH`: further interfaces for IP traffic, only for types for
    which AWS documents the list. `ALL_EFA`: one address per fabric device, the form that AWS PCS needs.
    """

    MIN_IP = "min-ip"
    MAX_BANDWIDTH = "max-bandwidth"
    ALL_EFA = "all-efa"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkInterface:
    """One entry of a launch template's interface list.

    Attributes:
        card: NetworkCardIndex; written on every entry, because EC2 reads an absent one as card 0.
        device: DeviceIndex on that card.
        kind: `interface` (address, no fabric), `efa` (both) or `efa-only` (fabric without an address).
    """

    card: int
    device: int
    kind: InterfaceKind

    @property
    def has_ip(self) -> bool:
        """Whether the entry takes a private address of the subnet."""
        return self.kind != "efa-only"

    @property
    def has_efa(self) -> bool:
        """Whether the entry is a fabric device."""
        return self.kind != "interface"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkInterfacesPlan:
    """The interface list of one instance type.

    Attributes:
        layout: the layout that was asked for.
        interfaces: the entries; the first is the primary interface (card 0, device 0).
        efa_count: fabric devices among them; the node compares it with what it finds at boot.
        efa_available: fabric devices that the layout has when none are left out.
        ip_count: private addresses that one node takes.
        decisions: why it looks like this.
        warnings: findings that do not stop the plan.
    """

    layout: InterfaceLayout
    interfaces: tuple[NetworkInterface, ...]
    efa_count: int
    efa_available: int
    ip_count: int
    decisions: tuple[Decision, ...]
    warnings: tuple[Finding, ...]


def check_network_interfaces(
    instance_type: InstanceType,
    *,
    efa: int | None = None,
    layout: InterfaceLayout = InterfaceLayout.MIN_IP,
    subject: str,
) -> tuple[Finding, ...]:
    """All faults of a wish for interfaces; see `plan_network_interfaces` for the arguments."""
    if layout not in set(InterfaceLayout):
        return (_unknown_layout(layout, subject),)
    wanted = _normalize(efa)
    entries = _layout(instance_type, InterfaceLayout(layout))
    if entries is None:
        return (_undocumented(instance_type, InterfaceLayout(layout), subject),)
    available = sum(entry.has_efa for entry in entries)
    fault = None if wanted is None else no_whole_number(wanted)
    if wanted is None or (fault is None and 0 <= wanted <= available):
        return ()
    if fault is None and available == 0 and wanted > 0:
        return (_without_efa(instance_type, wanted, subject),)
    message = fault or f"{wanted} is not between 0 and the {available} EFA devices of {instance_type.name}"
    fix = f"leave it out for all {available}, set 0 for none, or name a number in between"
    return (finding("UC-EFA-002", f"{subject}.efa", message, fix),)


def plan_network_interfaces(
    instance_type: InstanceType,
    *,
    efa: int | None = None,
    layout: InterfaceLayout = InterfaceLayout.MIN_IP,
    subject: str,
) -> NetworkInterfacesPlan:
    """Lay out the interfaces of one instance type.

    Args:
        instance_type: its facts.
        efa: None for all fabric devices of the type (the default, since a missing one halves the fabric unnoticed), 0
            for none, a number for the first so many cards that carry EFA.
        layout: `min-ip` by default, because one address per node keeps subnets small and leaves one route out.
        subject: the fleet's path in the user's terms.

    Raises:
        FindingsError: UC-EFA-001 (type without EFA), UC-EFA-002 (number out of range) or UC-API-101 (layout that AWS
            does not document for the type).
    """
    warnings = raise_if_errors(check_network_interfaces(instance_type, efa=efa, layout=layout, subject=subject))
    kind = InterfaceLayout(layout)
    full = _layout(instance_type, kind) or ()
    entries = _keep_efa(full, _normalize(efa))
    efa_count = sum(entry.has_efa for entry in entries)
    ip_count = sum(entry.has_ip for entry in entries)
    return NetworkInterfacesPlan(
        layout=kind,
        interfaces=entries,
        efa_count=efa_count,
        efa_available=sum(entry.has_efa for entry in full),
        ip_count=ip_count,
        decisions=_decisions(instance_type, kind, efa, entries, subject),
        warnings=warnings,
    )


def _normalize(efa: int | None) -> int | None:
    """`True` and `False` are numbers in Python, but whoever writes them means all and none."""
    if isinstance(efa, bool):
        return None if efa else 0
    return efa


def _layout(instance_type: InstanceType, layout: InterfaceLayout) -> tuple[NetworkInterface, ...] | None:
    """The full list of a layout, the primary interface first; None where no such list is documented."""
    documented = instance_type.documented_layouts.get(layout.value)
    if documented is not None:
        return _entries(documented)
    if layout is InterfaceLayout.MAX_BANDWIDTH:
        return None
    cards = _fabric_cards(instance_type)
    if layout is InterfaceLayout.MIN_IP:
        return _min_ip(cards)
    if any("efa" not in card.interface_types for card in cards):
        return None
    return _all_efa(instance_type, cards)


def _entries(rows: Iterable[tuple[int, int, str]]) -> tuple[NetworkInterface, ...]:
    return tuple(
        NetworkInterface(card=card, device=device, kind=cast("InterfaceKind", kind)) for card, device, kind in rows
    )


def _fabric_cards(instance_type: InstanceType) -> tuple[NetworkCard, ...]:
    """The cards that get a fabric device: the limit of the type, not its number of cards, is what counts."""
    return instance_type.efa_cards[: instance_type.max_efa_interfaces]


def _min_ip(cards: tuple[NetworkCard, ...]) -> tuple[NetworkInterface, ...]:
    rows: list[tuple[int, int, str]] = [(0, 0, "interface")]
    for card in cards:
        efa_only = "efa-only" in card.interface_types
        if card.index != 0:
            rows.append((card.index, 0, "efa-only" if efa_only else "efa"))
        elif efa_only and card.max_interfaces != 1:
            rows.append((0, 1, "efa-only"))
        else:
            # The primary interface needs an address, so a card 0 that takes one device, or none without an address,
            # combines both.
            rows[0] = (0, 0, "efa")
    return _entries(rows)


def _all_efa(instance_type: InstanceType, cards: tuple[NetworkCard, ...]) -> tuple[NetworkInterface, ...]:
    on_card0 = any(card.index == 0 for card in cards)
    rows = [(0, 0, "efa" if on_card0 else "interface")]
    # Device 1 is AWS's older form; device 0 where the card holds one interface, and on types whose card 0 is ENA only.
    rows.extend(
        (card.index, 1 if instance_type.efa_on_card0 and card.max_interfaces != 1 else 0, "efa")
        for card in cards
        if card.index != 0
    )
    return _entries(rows)


def _keep_efa(entries: tuple[NetworkInterface, ...], count: int | None) -> tuple[NetworkInterface, ...]:
    """Keep the first `count` fabric devices; the primary interface stays, without fabric when it has to."""
    if count is None:
        return entries
    kept: list[NetworkInterface] = []
    for entry in entries:
        if not entry.has_efa or sum(item.has_efa for item in kept) < count:
            kept.append(entry)
        elif entry.card == 0 and entry.device == 0:
            kept.append(replace(entry, kind="interface"))
    return tuple(kept)


def _without_efa(instance_type: InstanceType, wanted: int, subject: str) -> Finding:
    from ultracluster.facts.instances import catalog  # only when something is wrong

    relatives = [
        other for other in catalog().values() if other.family == instance_type.family and other.max_efa_interfaces != 0
    ]
    smallest = min(relatives, key=lambda other: other.vcpus, default=None)
    pick = f"pick {smallest.name}, the smallest {smallest.family} with EFA, or " if smallest else ""
    message = f"{wanted} EFA devices asked for, {instance_type.name} has none"
    return finding("UC-EFA-001", f"{subject}.efa", message, f"{pick}turn EFA off with 0")


def _unknown_layout(layout: str, subject: str) -> Finding:
    known = [one.value for one in InterfaceLayout]
    message = f"{layout!r} is no layout of interfaces"
    return finding("UC-API-101", f"{subject}.interface_layout", message, f"use one of {', '.join(known)}")


def _undocumented(instance_type: InstanceType, layout: InterfaceLayout, subject: str) -> Finding:
    message = f"{layout.value} is not documented for {instance_type.name}"
    if layout is InterfaceLayout.MAX_BANDWIDTH:
        from ultracluster.facts.instances import catalog  # only when something is wrong

        known = [name for name, facts in catalog().items() if layout.value in facts.documented_layouts]
        fix = f"use min-ip; AWS documents {layout.value} for {', '.join(known)}"
    else:
        fix = "use min-ip: some of its cards take efa-only devices alone"
    return finding("UC-API-101", f"{subject}.interface_layout", message, fix)


_REASONS = {
    InterfaceLayout.MIN_IP: "one address per node and the fabric as efa-only devices, as EC2 documents it now",
    InterfaceLayout.MAX_BANDWIDTH: "further interfaces for IP traffic, in the list that EC2 documents for the type",
    InterfaceLayout.ALL_EFA: "the older form asked for: every fabric device has an address too",
}


def _decisions(
    instance_type: InstanceType,
    layout: InterfaceLayout,
    efa: int | None,
    entries: tuple[NetworkInterface, ...],
    subject: str,
) -> tuple[Decision, ...]:
    efa_count = sum(entry.has_efa for entry in entries)
    ip_count = sum(entry.has_ip for entry in entries)
    wanted = _normalize(efa)
    if wanted is not None:
        because = f"{wanted} asked for on {instance_type.name}"
    elif not efa_count:
        because = f"{instance_type.name} has no EFA"
    elif layout.value in instance_type.documented_layouts:
        because = f"the list that EC2 documents for {instance_type.name}"
    else:
        because = f"all that {instance_type.name} has; fewer would cost bandwidth without a message"
    reason = _REASONS[layout] if efa_count else "no EFA, so one interface carries everything"
    value = f"{layout.value}: {_counted(len(entries), 'interface')}, {_counted(ip_count, 'address', 'es')} per node"
    return (
        Decision(subject=f"{subject}.efa", value=_counted(efa_count, "EFA device"), because=because),
        Decision(subject=f"{subject}.interface_layout", value=value, because=reason),
    )


def _counted(count: int, noun: str, plural: str = "s") -> str:
    return f"{count} {noun}{'' if count == 1 else plural}"
