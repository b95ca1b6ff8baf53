"""Names of Availability Zones and Local Zones, and how they belong to a Region."""

from __future__ import annotations

import re

from ultracluster.findings import Finding, finding
from ultracluster.plan.references import is_unresolved

__all__ = ["check_availability_zones", "is_spelt_out", "local_zone_group", "region_of_zone"]

_REGION = r"[a-z]{2,4}(?:-[a-z]+)+-[0-9]+"
# `us-east-1a` is an Availability Zone, `us-east-1-atl-2a` a Local Zone.
_ZONE = re.compile(rf"({_REGION})(?:-[a-z]{{3}}-[0-9]+)?[a-z]")
_ZONE_ID = re.compile(r"[a-z]{3,5}[0-9]+-(?:[a-z]{3}[0-9]+-)?az[0-9]+")


def region_of_zone(zone: str) -> str | None:
    """The Region of an Availability Zone or Local Zone; None when the name has another form."""
    match = _ZONE.fullmatch(zone)
    return None if match is None else match.group(1)


def is_spelt_out(names: tuple[str, ...]) -> bool:
    """Whether a list is a text that Python took for one: nothing but single characters."""
    return len(names) > 1 and all(len(name) == 1 for name in names)


def local_zone_group(zone: str) -> str | None:
    """The group of a Local Zone, for example `us-east-1-atl-2`; None for an Availability Zone.

    Interface endpoints stand in Availability Zones only, and public addresses of a Local Zone come from its own group.
    """
    return None if zone[:-1] == region_of_zone(zone) else zone[:-1]


def check_availability_zones(zones: tuple[str, ...], *, region: str | None, subject: str) -> tuple[Finding, ...]:
    """All faults of a list of zone names.

    Args:
        zones: the names, for example `us-east-1a` or the Local Zone `us-east-1-atl-2a`.
        region: the Region they must lie in; None when it is not known, then they only have to share one.
        subject: the path of the list in the user's terms.

    Returns:
        UC-NET-005 for made-up zones, UC-API-105 for anything else that no Region has.
    """
    if not zones:
        message = "no availability zone given"
        return (finding("UC-API-105", subject, message, "name at least one, for example us-east-1a"),)
    if is_spelt_out(zones):
        text = "".join(zones)
        message = f"{text!r} is one text, a list of zones is needed"
        return (finding("UC-API-105", subject, message, f"write [{text!r}]"),)
    findings = [found for at, zone in enumerate(zones) for found in _check_zone(zone, region, f"{subject}[{at}]")]
    twice = sorted({zone for zone in zones if zones.count(zone) > 1})
    if twice:
        findings.append(finding("UC-API-105", subject, f"{', '.join(twice)} named twice", "name every zone once"))
    regions = sorted({known for known in map(region_of_zone, zones) if known is not None})
    if region is None and len(regions) > 1:
        message = f"the zones lie in {' and '.join(regions)}"
        findings.append(finding("UC-API-105", subject, message, "take zones of one Region"))
    return tuple(findings)


def _check_zone(zone: str, region: str | None, subject: str) -> tuple[Finding, ...]:
    if is_unresolved(zone):
        message = "the zone is known only at deployment, so nothing can be planned in it"
        return (finding("UC-API-105", subject, message, "name the zone, for example us-east-1a"),)
    if zone.startswith("dummy"):
        message = f"{zone} is what the CDK makes up when it looks zones up without an account"
        return (finding("UC-NET-005", subject, message, "pass the zone names explicitly"),)
    of_zone = region_of_zone(zone)
    if of_zone is None:
        kind = "a zone id, which differs from the name in every account" if _ZONE_ID.fullmatch(zone) else "no zone name"
        fix = "write a name such as us-east-1a or, for a Local Zone, us-east-1-atl-2a"
        return (finding("UC-API-105", subject, f"{zone!r} is {kind}", fix),)
    if region is not None and of_zone != region:
        return (
            finding("UC-API-105", subject, f"{zone} lies in {of_zone}, not in {region}", f"name a zone of {region}"),
        )
    return ()
