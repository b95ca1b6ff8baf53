"""Checks of a fleet's arguments that only the construct can make: objects that contradict each other or the network."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ultracluster.facts.compute_limits import limit
from ultracluster.findings import Finding, finding
from ultracluster.fleet.defaults import MAX_GROUPS_PER_INTERFACE

__all__ = ["check_group_count", "check_group_name", "check_tags", "check_zones"]

_GROUP_NAME = re.compile(r"[A-Za-z0-9_.-]{1,70}")
"""Of what is named after the group, queue names are the tightest: 80 characters (SQS quotas), ten of them ours."""
_SHOWN = 20
_MAX_TAGS = 45
"""EC2 takes 50 tags per resource (Tag your Amazon EC2 resources); the library and Auto Scaling add some."""


def check_zones(zones: Sequence[str], known: Sequence[str], *, subject: str) -> Iterator[Finding]:
    """Every zone of the fleet is a zone of its network."""
    unknown = [zone for zone in zones if zone not in known]
    if unknown:
        message = f"the network has no subnet in {', '.join(unknown)}"
        fix = f"use zones of the network ({', '.join(known)}), or append the zone to it"
        yield finding("UC-API-001", f"{subject}.availability_zones", message, fix)


def check_group_count(groups: Sequence[str], *, subject: str) -> Iterator[Finding]:
    """No interface carries more security groups than the default quota."""
    if len(groups) > MAX_GROUPS_PER_INTERFACE:
        message = (
            f"{len(groups)} groups on the primary interface (the fabric's, yours and one per storage); "
            f"the default quota is {MAX_GROUPS_PER_INTERFACE}"
        )
        fix = "give file systems one client_security_group in common, or pass fewer groups"
        yield finding("UC-NIC-009", f"{subject}.security_groups", message, fix)


def check_group_name(name: str, *, subject: str) -> Iterator[Finding]:
    """The name of the Auto Scaling group is usable in ARNs, metric dimensions and log group names."""
    if not _GROUP_NAME.fullmatch(name):
        message = f"{name!r} is not a name of letters, digits, dots, hyphens and underscores (at most 70)"
        yield finding("UC-API-003", f"{subject}.auto_scaling_group_name", message)


def check_tags(tags: Mapping[str, str], *, subject: str) -> Iterator[Finding]:
    """Tags are few enough and none is reserved."""
    reserved = [key for key in tags if key.lower().startswith("aws:")]
    if reserved:
        message = f"{', '.join(reserved)}: keys that begin with aws: are reserved"
        yield finding("UC-API-004", f"{subject}.tags", message, "choose another key")
    if len(tags) > _MAX_TAGS:
        message = f"{len(tags)} tags; at most {_MAX_TAGS} beside those of the library"
        yield finding("UC-API-004", f"{subject}.tags", message, "drop some")
    for key, value in tags.items():
        yield from _check_lengths(key, value, f"{subject}.tags[{key[:_SHOWN]!r}]")


def _check_lengths(key: str, value: str, place: str) -> Iterator[Finding]:
    for what, text, name in (("key", key, "tag_key_length"), ("value", value, "tag_value_length")):
        most = limit(name)
        if len(text) > most:
            message = f"the {what} has {len(text)} characters, EC2 takes {most}"
            yield finding("UC-API-004", place, message, f"shorten the {what} to {most} characters or fewer")
