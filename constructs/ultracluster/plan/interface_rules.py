"""Checks over a list of network interfaces, whoever wrote it: the plan, a user, or a template of another team.

The rules are those of EC2 for any instance (one primary interface, unique places, groups inside the entries) and those
that follow from the cards of the type (limits per card, fabric only where a card carries it, all fabric devices used).
One fault gives one finding: an entry that a rule has named is left out of the rules that would repeat it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ultracluster.facts.compute_limits import limit
from ultracluster.findings import Severity, finding
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ultracluster.facts.instances import InstanceType, NetworkCard
    from ultracluster.findings import Finding
    from ultracluster.plan.network_interfaces import InterfaceKind, NetworkInterface

__all__ = [
    "NetworkInterfaceEntry",
    "as_entries",
    "check_interface_addresses",
    "check_interface_groups",
    "check_interface_list",
    "check_interface_places",
    "with_public_ip",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkInterfaceEntry:
    """One entry as somebody wrote it.

    Attributes:
        card: NetworkCardIndex; None when absent, which EC2 reads as card 0.
        device: DeviceIndex.
        kind: InterfaceType; `interface` when absent.
        group_count: security groups of the entry; None when it cannot be told, 0 when it has none.
        allows_efa: whether one of its groups allows all traffic to and from itself; None when it cannot be told.
        associate_public_ip: AssociatePublicIpAddress; None when absent.
        address_properties: names of the address properties that are present, for example `Ipv4PrefixCount`.
    """

    card: int | None
    device: int
    kind: InterfaceKind = "interface"
    group_count: int | None = None
    allows_efa: bool | None = None
    associate_public_ip: bool | None = None
    address_properties: tuple[str, ...] = ()

    @property
    def has_efa(self) -> bool:
        """Whether the entry is a fabric device."""
        return self.kind != "interface"

    @property
    def place(self) -> tuple[int, int]:
        """(card, device) as EC2 reads them."""
        return (self.card or 0, self.device)


def as_entries(interfaces: Iterable[NetworkInterface]) -> tuple[NetworkInterfaceEntry, ...]:
    """Planned interfaces in the form that the checks read; groups and addresses are not told yet."""
    return tuple(NetworkInterfaceEntry(card=item.card, device=item.device, kind=item.kind) for item in interfaces)


def with_public_ip(entries: Iterable[NetworkInterfaceEntry]) -> tuple[NetworkInterfaceEntry, ...]:
    """The same entries with a public address on the primary interface."""
    return tuple(replace(entry, associate_public_ip=True) if entry.place == (0, 0) else entry for entry in entries)


def check_interface_list(
    instance_type: InstanceType | None,
    entries: Sequence[NetworkInterfaceEntry],
    *,
    efa: int | None = None,
    groups_beside_list: bool = False,
    subject: str,
) -> tuple[Finding, ...]:
    """All faults of an interface list.

    Args:
        instance_type: the type that it is for; None judges only what holds for any type.
        entries: the list in its order.
        efa: how many fabric devices are wanted; None for all that the type has.
        groups_beside_list: whether the launch template also names security groups outside the list.
        subject: the path of the list in the user's terms, for example `Train/LaunchTemplate.NetworkInterfaces`.

    Returns:
        Findings out of UC-NIC-001 to 009, UC-EFA-001, 002, 004, 005 and UC-API-116; empty when the list is right.
    """
    return (
        *check_interface_places(instance_type, entries, efa=efa, subject=subject),
        *check_interface_addresses(entries, subject=subject),
        *check_interface_groups(entries, groups_beside_list=groups_beside_list, subject=subject),
    )


def check_interface_places(
    instance_type: InstanceType | None,
    entries: Sequence[NetworkInterfaceEntry],
    *,
    efa: int | None = None,
    is_whole: bool = True,
    subject: str,
) -> tuple[Finding, ...]:
    """Faults of cards, devices and kinds: UC-NIC-001 to 005, UC-EFA-001, 002, 004 and UC-API-116.

    Args:
        instance_type: the type that it is for; None judges only what holds for any type.
        entries: the list in its order.
        efa: how many fabric devices are wanted; None for all that the type has.
        is_whole: whether nothing adds entries at launch; without, the primary interface may come with the launch call.
        subject: the path of the list in the user's terms.
    """
    review = _Review(instance_type, tuple(entries), subject)
    review.card_indexes()
    review.primary(is_whole=is_whole)
    review.unique_places()
    review.device_limits()
    review.fabric_cards()
    review.one_efa_per_card()
    review.efa_number(efa)
    return tuple(review.findings)


def check_interface_addresses(entries: Sequence[NetworkInterfaceEntry], *, subject: str) -> tuple[Finding, ...]:
    """Faults of addresses: UC-NIC-006 and 007.

    Args:
        entries: the list in its order.
        subject: the path of the list in the user's terms.
    """
    review = _Review(None, tuple(entries), subject)
    review.public_addresses()
    return tuple(review.findings)


def check_interface_groups(
    entries: Sequence[NetworkInterfaceEntry], *, groups_beside_list: bool = False, subject: str
) -> tuple[Finding, ...]:
    """Faults of security groups: UC-NIC-008, UC-NIC-009 and UC-EFA-005.

    Args:
        entries: the list in its order.
        groups_beside_list: whether the launch template also names security groups outside the list.
        subject: the path of the list in the user's terms.
    """
    review = _Review(None, tuple(entries), subject)
    review.groups(beside_list=groups_beside_list)
    return tuple(review.findings)


class _Review:
    """One pass over one list. `named` holds the positions that a finding has named already."""

    def __init__(
        self, instance_type: InstanceType | None, entries: tuple[NetworkInterfaceEntry, ...], subject: str
    ) -> None:
        self.type = instance_type
        self.entries = entries
        self.subject = subject
        self.findings: list[Finding] = []
        self.named: set[int] = set()
        cards = () if instance_type is None else instance_type.network_cards
        self.cards: dict[int, NetworkCard] = {card.index: card for card in cards}

    def add(self, rule_id: str, positions: Sequence[int], message: str, fix: str, *, from_cards: bool = False) -> None:
        """Name a fault once, at its first entry, with the number of further ones."""
        more = f" ({len(positions) - 1} more like it)" if len(positions) > 1 else ""
        place = f"{self.subject}[{positions[0]}]" if positions else self.subject
        found = finding(rule_id, place, message + more, fix)
        if from_cards and self._is_disputed() and found.severity is Severity.FATAL:
            # What rests on card data of medium confidence may be acknowledged.
            found = replace(found, severity=Severity.ERROR)
        self.findings.append(found)
        self.named.update(positions)

    def _is_disputed(self) -> bool:
        return self.type is not None and self.type.confidence.get("api", "high") != "high"

    def _left(self) -> list[int]:
        return [position for position in range(len(self.entries)) if position not in self.named]

    def _where(self, test: Iterable[bool]) -> list[int]:
        return [position for position, fails in enumerate(test) if fails and position not in self.named]

    def card_indexes(self) -> None:
        """UC-NIC-005: cards exist, and the index is written where its absence would mean another card."""
        if self.type is None:
            return
        last = max(self.cards)
        unknown = self._where(entry.place[0] not in self.cards for entry in self.entries)
        if unknown:
            message = f"card {self.entries[unknown[0]].card} does not exist on {self.type.name} (cards 0 to {last})"
            self.add("UC-NIC-005", unknown, message, f"use a card between 0 and {last}", from_cards=True)
        missing = self._missing_index()
        if missing:
            message = (
                f"NetworkCardIndex is absent, which means card 0, and card 0 of {self.type.name} "
                "has no room for this entry"
            )
            self.add("UC-NIC-005", missing, message, f"write the index (0 to {last}) on every entry", from_cards=True)

    def _missing_index(self) -> list[int]:
        """Entries without an index that do not fit on card 0 beside those that are there."""
        if len(self.cards) == 1:
            return []
        written = [entry for entry in self.entries if entry.card == 0]
        missing: list[int] = []
        for position, entry in enumerate(self.entries):
            if entry.card is not None:
                continue
            if self._fits_card0(entry, written):
                written.append(entry)
            else:
                missing.append(position)
        return missing

    def _fits_card0(self, entry: NetworkInterfaceEntry, others: list[NetworkInterfaceEntry]) -> bool:
        card = self.cards[0]
        if any(other.device == entry.device for other in others):
            return False
        if card.max_interfaces is not None and entry.device >= card.max_interfaces:
            return False
        return not entry.has_efa or (card.carries_efa and not any(other.has_efa for other in others))

    def primary(self, *, is_whole: bool) -> None:
        """UC-NIC-001: exactly one entry at card 0 device 0, with an address."""
        primaries = [position for position in self._left() if self.entries[position].place == (0, 0)]
        fix = "make one entry `interface` at card 0 device 0; where card 0 has EFA, add `efa-only` at device 1"
        if not primaries and is_whole:
            self.add("UC-NIC-001", [], "no entry at card 0 device 0, so there is no primary interface", fix)
        elif len(primaries) > 1:
            message = f"{len(primaries)} entries at card 0 device 0"
            self.add("UC-NIC-001", primaries[1:], message, fix)
        efa_only = [position for position in primaries[:1] if self.entries[position].kind == "efa-only"]
        if efa_only:
            message = "efa-only at card 0 device 0 has no address, and the primary interface needs one"
            self.add("UC-NIC-001", efa_only, message, fix)

    def unique_places(self) -> None:
        """UC-NIC-002: no (card, device) pair twice."""
        seen: set[tuple[int, int]] = {(0, 0)}
        twice: list[int] = []
        for position in self._left():
            place = self.entries[position].place
            if place in seen and place != (0, 0):
                twice.append(position)
            seen.add(place)
        if twice:
            card, device = self.entries[twice[0]].place
            message = f"card {card} device {device} is taken by an earlier entry"
            self.add("UC-NIC-002", twice, message, "give every entry its own card and device")

    def device_limits(self) -> None:
        """UC-NIC-004: the device index is below the limit of its card."""
        over = self._where(entry.device >= self._limit(entry) for entry in self.entries)
        if over and self.type is not None:
            card, device = self.entries[over[0]].place
            limit = int(self._limit(self.entries[over[0]]))
            allowed = "use device 0" if limit == 1 else f"use a device between 0 and {limit - 1}"
            holds = "1 interface" if limit == 1 else f"{limit} interfaces"
            message = f"device {device} does not exist on card {card} of {self.type.name}, which holds {holds}"
            self.add("UC-NIC-004", over, message, allowed, from_cards=True)
        if self.type is not None and len(self.entries) > self.type.max_network_interfaces:
            most = self.type.max_network_interfaces
            message = f"{len(self.entries)} interfaces, {self.type.name} takes {most} in all"
            self.add("UC-NIC-004", [], message, f"name at most {most}", from_cards=True)

    def _limit(self, entry: NetworkInterfaceEntry) -> float:
        card = self.cards.get(entry.place[0])
        return float("inf") if card is None or card.max_interfaces is None else card.max_interfaces

    def fabric_cards(self) -> None:
        """UC-EFA-001, UC-EFA-004, UC-API-116: every kind of interface only where its card takes it."""
        if self.type is None:
            return
        bare = self._where(not entry.has_efa and not self._carries(entry) for entry in self.entries)
        if bare:
            entry = self.entries[bare[0]]
            kinds = " or ".join(self.cards[entry.place[0]].interface_types)
            message = f"interface on card {entry.place[0]} of {self.type.name}, which takes {kinds} only"
            fix = f"use {kinds} there, or move the entry to a card that takes `interface`"
            self.add("UC-API-116", bare, message, fix, from_cards=True)
        wrong = self._where(entry.has_efa and not self._carries(entry) for entry in self.entries)
        if not wrong:
            return
        entry = self.entries[wrong[0]]
        if not self.type.supports_efa:
            message = f"{entry.kind} on {self.type.name}, which has no EFA"
            self.add("UC-EFA-001", wrong, message, "make the entry `interface` or take a type with EFA")
            return
        card = entry.place[0]
        kinds = " or ".join(self.cards[card].interface_types)
        message = f"{entry.kind} on card {card} of {self.type.name}, which takes {kinds} only"
        first = self.type.efa_cards[0].index
        fix = f"use {kinds} there; EFA starts at card {first}"
        self.add("UC-EFA-004", wrong, message, fix, from_cards=True)

    def _carries(self, entry: NetworkInterfaceEntry) -> bool:
        card = self.cards.get(entry.place[0])
        return card is None or entry.kind in card.interface_types

    def one_efa_per_card(self) -> None:
        """UC-NIC-003: at most one fabric device per card."""
        fabric = [position for position in self._left() if self.entries[position].has_efa]
        counts = Counter(self.entries[position].place[0] for position in fabric)
        seen: set[int] = set()
        second: list[int] = []
        for position in fabric:
            card = self.entries[position].place[0]
            if card in seen:
                second.append(position)
            seen.add(card)
        if second:
            card = self.entries[second[0]].place[0]
            message = f"{counts[card]} EFA devices on card {card}, a card takes one"
            self.add("UC-NIC-003", second, message, "keep one EFA device per card; make the other `interface`")

    def efa_number(self, wanted: int | None) -> None:
        """UC-EFA-002: as many fabric devices as the type has, or as were asked for."""
        if self.type is None:
            return
        expected = self.type.max_efa_interfaces if wanted is None else wanted
        right = sum(self.entries[position].has_efa for position in self._left())
        named = sum(self.entries[position].has_efa for position in self.named)
        # Entries that another finding names may be meant either way: they never cause a second finding.
        if expected is None or right <= expected <= right + named:
            return
        count = right if right > expected else right + named
        message = f"{count} EFA device{'' if count == 1 else 's'} on {self.type.name}, {expected} are expected"
        fix = "take the list that the catalogue computes" if wanted is None else f"make it {expected}"
        self.findings.append(finding("UC-EFA-002", self.subject, message, fix))

    def public_addresses(self) -> None:
        """UC-NIC-006 and UC-NIC-007: no public address beside others, no address at all on `efa-only`."""
        public = [position for position, entry in enumerate(self.entries) if entry.associate_public_ip]
        if public and len(self.entries) > 1:
            message = f"AssociatePublicIpAddress in a list of {len(self.entries)} interfaces, EC2 allows it for one"
            fix = "use a private subnet with a NAT gateway, or attach an Elastic IP to card 0 device 0"
            self.add("UC-NIC-006", public, message, fix)
        bare = [
            position
            for position, entry in enumerate(self.entries)
            if entry.kind == "efa-only" and entry.address_properties and position not in public
        ]
        if bare:
            names = ", ".join(self.entries[bare[0]].address_properties)
            self.add("UC-NIC-007", bare, f"{names} on efa-only, which has no address", "remove it")

    def groups(self, *, beside_list: bool) -> None:
        """UC-NIC-008, UC-NIC-009, UC-EFA-005: groups inside every entry, and one that lets EFA talk to itself."""
        if beside_list and self.entries:
            message = "security groups beside the interface list, EC2 refuses the two together"
            self.add("UC-NIC-008", [], message, "move the groups into every entry")
        without = [at for at, entry in enumerate(self.entries) if entry.group_count == 0]
        if without:
            message = "no security group, so EC2 takes the default group of the VPC"
            self.add("UC-NIC-009", without, message, "list at least the EFA group of the fleet")
        most = limit("security_groups_per_interface")
        many = [at for at, entry in enumerate(self.entries) if (entry.group_count or 0) > most]
        if many:
            count = self.entries[many[0]].group_count
            message = f"{count} security groups, the default quota is {most} per interface"
            self.add("UC-NIC-009", many, message, f"name at most {most}")
        closed = [
            at
            for at, entry in enumerate(self.entries)
            if entry.has_efa and entry.allows_efa is False and entry.group_count != 0
        ]
        if closed:
            message = "no group of the entry allows all traffic to and from itself, so EFA cannot connect"
            fix = "attach a group with self ingress and self egress of protocol -1"
            self.add("UC-EFA-005", closed, message, fix)
