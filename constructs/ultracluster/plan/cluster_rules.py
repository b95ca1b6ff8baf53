"""Rules between the parts of a cluster file: names, references, zones, mount paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ultracluster.facts.regions import partitions
from ultracluster.findings import Finding, finding
from ultracluster.plan.zones import region_of_zone
from ultracluster.spec.wording import did_you_mean

if TYPE_CHECKING:
    from ultracluster.spec.fleet import FleetSpec
    from ultracluster.spec.parts import ClusterParts

__all__ = ["HOME", "as_written", "check_parts", "mounted_by"]

HOME = "home"
"""The name under which fleets mount `storage.home`."""

_ADDRESS = "s3://"


def check_parts(parts: ClusterParts) -> tuple[Finding, ...]:
    """Every fault between the readable parts of a cluster file; never raises."""
    return (
        *_check_region(parts.region),
        *_check_names(parts),
        *_check_references(parts),
        *_check_zones(parts),
        *_check_mount_paths(parts),
    )


def mounted_by(fleet: FleetSpec, parts: ClusterParts) -> tuple[str, ...]:
    """Names of the file systems that a fleet mounts; all when it names none."""
    return parts.storage_names if fleet.mounts is None else fleet.mounts


def as_written(findings: Iterable[Finding], fleet: FleetSpec, subject: str) -> Iterator[Finding]:
    """The findings of a fleet with the keys that the file uses: a single zone and a range of nodes have their own.

    A zone that the fleet takes from the network is judged there.
    """
    renamed = {}
    if fleet.availability_zone is not None:
        renamed[f"{subject}.availability_zones[0]"] = f"{subject}.availability_zone"
        renamed[f"{subject}.availability_zones"] = f"{subject}.availability_zone"
    if fleet.instance_type is not None:
        renamed[f"{subject}.instance_types[0]"] = f"{subject}.instance_type"
        renamed[f"{subject}.instance_types"] = f"{subject}.instance_type"
    if fleet.count is None:
        renamed[f"{subject}.count"] = f"{subject}.max_count"
    of_network = fleet.availability_zone is None and fleet.availability_zones is None
    for found in findings:
        if not (of_network and found.subject.startswith(f"{subject}.availability_zones")):
            yield replace(found, subject=renamed.get(found.subject, found.subject))


def _check_region(region: str | None) -> Iterator[Finding]:
    if region is None or region in partitions():
        return
    near = did_you_mean(region, partitions())
    fix = f"did you mean {near}?" if near else "check the name"
    yield finding("UC-SPC-017", "region", f'"{region}" is not a Region that this version knows', fix)


def _check_names(parts: ClusterParts) -> Iterator[Finding]:
    yield from _twice((f"fleets[{index}].name", fleet.name) for index, fleet in parts.fleets.items())
    home = [("storage.home", HOME)] if parts.home is not None else []
    lustre = [(f"storage.lustre[{index}].name", entry.name) for index, entry in parts.lustre.items()]
    yield from _twice([*home, *lustre])
    yield from _twice((f"storage.buckets[{index}].name", bucket.name) for index, bucket in parts.buckets.items())


def _twice(names: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for subject, name in names:
        if name in first:
            yield finding("UC-SPC-013", subject, f'"{name}" is the name of {first[name]} too', "give it another name")
        first.setdefault(name, subject.removesuffix(".name"))


def _check_references(parts: ClusterParts) -> Iterator[Finding]:
    for index, fleet in parts.fleets.items():
        for at, name in enumerate(fleet.mounts or ()):
            yield from _unknown(f"fleets[{index}].mounts[{at}]", name, parts.storage_names, "file system")
        yield from _repeated(f"fleets[{index}].mounts", fleet.mounts or ())
        for at, access in enumerate(fleet.bucket_access or ()):
            yield from _unknown_bucket(f"fleets[{index}].bucket_access[{at}].bucket", access.bucket, parts)
    for index, lustre in parts.lustre.items():
        for at, link in enumerate(lustre.data_repositories):
            subject = f"storage.lustre[{index}].data_repositories[{at}].bucket"
            yield from _unknown_bucket(subject, link.bucket, parts)


def _repeated(subject: str, names: tuple[str, ...]) -> Iterator[Finding]:
    for at, name in enumerate(names):
        if name in names[:at]:
            yield finding("UC-SPC-013", f"{subject}[{at}]", f'"{name}" is named twice', "name it once")


def _unknown_bucket(subject: str, name: str, parts: ClusterParts) -> Iterator[Finding]:
    if not name.startswith(_ADDRESS):
        yield from _unknown(subject, name, parts.bucket_names, "bucket")


def _unknown(subject: str, name: str, known: tuple[str, ...], kind: str) -> Iterator[Finding]:
    if name in known:
        return
    near = did_you_mean(name, known)
    declared = f"there are {', '.join(known)}" if known else "none is declared"
    where = "storage.buckets" if kind == "bucket" else "storage"
    fix = f"did you mean {near}?" if near else f"declare it under {where}, or name one that is declared"
    yield finding("UC-SPC-014", subject, f'"{name}" is no {kind} of this cluster ({declared})', fix)


def _check_zones(parts: ClusterParts) -> Iterator[Finding]:
    if parts.network is None:
        return
    zones = parts.network.availability_zones
    for subject, zone in _named_zones(parts):
        # A zone of another Region is told by the plan of the fleet.
        if zone not in zones and (parts.region is None or region_of_zone(zone) == parts.region):
            message = f"{zone} is not a zone of the network ({', '.join(zones)})"
            yield finding(
                "UC-SPC-015", subject, message, "use one of these, or append it to network.availability_zones"
            )
    for index, fleet in parts.fleets.items():
        if len(zones) > 1 and fleet.availability_zone is None and fleet.availability_zones is None:
            message = f"no zone is named and the network has {len(zones)} ({', '.join(zones)})"
            yield finding(
                "UC-SPC-015", f"fleets[{index}]", message, f"add availability_zone: {zones[0]}, or another of them"
            )


def _named_zones(parts: ClusterParts) -> Iterator[tuple[str, str]]:
    for index, fleet in parts.fleets.items():
        if fleet.availability_zone is not None:
            yield f"fleets[{index}].availability_zone", fleet.availability_zone
        for at, zone in enumerate(fleet.availability_zones or ()):
            yield f"fleets[{index}].availability_zones[{at}]", zone
    for index, lustre in parts.lustre.items():
        if lustre.availability_zone is not None:
            yield f"storage.lustre[{index}].availability_zone", lustre.availability_zone


def _check_mount_paths(parts: ClusterParts) -> Iterator[Finding]:
    """Two file systems of one node need two places; one below the other is hidden or depends on the order."""
    paths = _mount_paths(parts)
    told: set[tuple[str, str]] = set()
    for fleet in parts.fleets.values():
        names = dict.fromkeys(mounted_by(fleet, parts))
        mounted = [(subject, path) for name in names for subject, path in paths.get(name, ())]
        for at, (subject, path) in enumerate(mounted):
            for other, other_path in mounted[:at]:
                if _meet(path, other_path) and (subject, other) not in told:
                    told.add((subject, other))
                    message = (
                        f"{path} meets {other_path} of {other.removesuffix('.mount_path')} on the nodes of {fleet.name}"
                    )
                    yield finding("UC-SPC-013", subject, message, "mount it at a path of its own")


def _mount_paths(parts: ClusterParts) -> Mapping[str, list[tuple[str, str]]]:
    paths: dict[str, list[tuple[str, str]]] = {}
    for index, lustre in parts.lustre.items():
        paths.setdefault(lustre.name, []).append((f"storage.lustre[{index}].mount_path", lustre.mount_path))
    if parts.home is not None:
        paths.setdefault(HOME, []).append(("storage.home.mount_path", parts.home.mount_path))
    return paths


def _meet(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
