"""Rules between a Lustre file system and the fleets that mount it: zone, EFA, connections, throughput."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from ipaddress import ip_network
from typing import TYPE_CHECKING

from ultracluster.facts.lustre import lustre_facts
from ultracluster.findings import Finding, finding

if TYPE_CHECKING:
    from ultracluster.plan.lustre_request import LustrePlan
    from ultracluster.plan.storage_client import StorageClient

__all__ = ["check_lustre_clients", "efa_connections", "shares_block"]

_OS = re.compile(r"([a-z]+)[-_ ]?(\d+(?:\.\d+)?)?.*", re.IGNORECASE)


def check_lustre_clients(
    lustre: LustrePlan, clients: Sequence[StorageClient], *, subject: str, cidr: str | None = None
) -> tuple[Finding, ...]:
    """Every fault between the file system and the fleets that mount it; never raises.

    Args:
        lustre: the plan of the file system.
        clients: the fleets that mount it.
        subject: path of the file system in the user's terms.
        cidr: address block of its subnet, when known.
    """
    return tuple(_check(lustre, clients, subject, cidr))


def efa_connections(clients: Sequence[StorageClient]) -> int:
    """EFA connections that all nodes together hold to one file system."""
    return sum(client.max_nodes * client.efa_interfaces for client in clients if client.efa_client)


def _check(lustre: LustrePlan, clients: Sequence[StorageClient], subject: str, cidr: str | None) -> Iterator[Finding]:
    for client in clients:
        yield from _check_zone(lustre, client, subject)
        if lustre.efa:
            yield from _check_efa_client(lustre, client)
            yield from _check_addresses(lustre, client, cidr)
    facts = lustre_facts()
    connections = efa_connections(clients)
    if lustre.efa and connections > facts.efa_connections:
        each = ", ".join(f"{client.name} {client.max_nodes} x {client.efa_interfaces}" for client in clients)
        yield finding(
            "UC-LUS-013",
            f"{subject}.efa",
            f"{connections} EFA connections ({each}), a file system holds {facts.efa_connections}",
            "use fewer EFA interfaces per client for Lustre, or more file systems",
        )
    speed, limit = lustre.throughput.baseline_mbps, facts.efa_worth_it_above_mbps
    able = [client.name for client in clients if client.efa_client and client.efa_interfaces]
    if not lustre.efa and speed > limit and able:
        yield finding(
            "UC-LUS-026",
            f"{subject}.efa",
            f"{speed} MB/s without EFA: above {limit} MB/s TCP is the limit, and {', '.join(able)} could use EFA",
            "set efa; it cannot be added later",
        )


def _check_zone(lustre: LustrePlan, client: StorageClient, subject: str) -> Iterator[Finding]:
    zone = lustre.availability_zone
    elsewhere = [each for each in client.availability_zones if each != zone]
    if zone is None or not elsewhere:
        return
    if lustre.efa and client.efa_interfaces:
        yield finding(
            "UC-LUS-011",
            f"{subject}.availability_zone",
            f"{zone} is not the zone of {client.name} ({', '.join(elsewhere)}); EFA does not leave its zone",
            f"place the file system in {elsewhere[0]}, or keep the fleet in {zone}",
        )
    else:
        yield finding(
            "UC-LUS-021",
            f"{subject}.availability_zone",
            f"{client.name} also runs in {', '.join(elsewhere)}, the file system in {zone}: traffic between zones is "
            "slower and paid for",
            f"place the file system in the zone of its main fleet, or keep the fleet in {zone}",
        )


def _check_efa_client(lustre: LustrePlan, client: StorageClient) -> Iterator[Finding]:
    types = ", ".join(client.instance_types) or client.name
    if not client.efa_client or not client.efa_interfaces:
        why = "cannot be an EFA client of Lustre" if not client.efa_client else "has no EFA interface"
        yield finding(
            "UC-LUS-012",
            f"{client.subject}.mounts",
            f"{types} {why}; it would mount {lustre.name!r} over TCP without saying so",
            "use a file system without efa, or other instance types",
        )
    elif client.os is not None and not _serves(client.os):
        facts = lustre_facts().efa_client_os
        allowed = ", ".join(f"{name} {least:g} or later" if least else name for name, least in facts.items())
        yield finding(
            "UC-LUS-012",
            f"{client.subject}.image",
            f"{client.os} has no EFA client for Lustre ({allowed}); it would mount {lustre.name!r} over TCP silently",
            "use one of these",
        )


def _serves(os: str) -> bool:
    """Whether an operating system has the client; one that is not in the facts at all is not judged."""
    known = lustre_facts().efa_client_os
    if os.lower() in known:
        return True
    match = _OS.fullmatch(os)
    if match is None or match[1].lower() not in known or match[2] is None:
        return True
    least, digits = known[match[1].lower()], match[2]
    # "ubuntu2204" is version 22.04
    version = float(digits) if "." in digits or len(digits) < 4 else float(f"{digits[:2]}.{digits[2:]}")  # noqa: PLR2004 - digits
    return least is None or version >= least


def shares_block(one: str, other: str) -> bool:
    """Whether two address ranges lie in the same block, as large as EFA to Lustre needs it."""
    length = lustre_facts().efa_same_prefix_length
    networks = [ip_network(text, strict=False) for text in (one, other)]
    if any(network.prefixlen < length for network in networks):
        return False
    return networks[0].supernet(new_prefix=length) == networks[1].supernet(new_prefix=length)


def _check_addresses(lustre: LustrePlan, client: StorageClient, cidr: str | None) -> Iterator[Finding]:
    length = lustre_facts().efa_same_prefix_length
    if cidr is None or ip_network(cidr, strict=False).prefixlen < length:
        return
    around = ip_network(cidr, strict=False).supernet(new_prefix=length)
    for each in client.cidrs:
        if not shares_block(cidr, each):
            yield finding(
                "UC-LUS-011",
                f"{client.subject}.subnets",
                f"{each} and {cidr} of {lustre.name!r} do not share a /{length}, which EFA to Lustre needs",
                f"use subnets inside {around}",
            )
