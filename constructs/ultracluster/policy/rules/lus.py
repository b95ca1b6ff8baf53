"""Rules on the shape of FSx for Lustre file systems: type, capacity, tier, version, EFA, metadata."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ultracluster.facts.lustre import lustre_facts
from ultracluster.plan.lustre_deployments import DeploymentFields
from ultracluster.plan.lustre_shape import check_shape
from ultracluster.policy.graph.file_systems import FILE_SYSTEM
from ultracluster.policy.graph.lustre import Lustre, judged_as, lustre_of
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.view import Resource

_TIERING = "INTELLIGENT_TIERING"


@rule("UC-LUS-001", on=FILE_SYSTEM)
def capacity_on_the_grid(file_system: Resource) -> Iterator[Problem]:
    """The capacity is given, and one that the deployment has."""
    lustre = lustre_of(file_system)
    if lustre is None or lustre.from_backup or lustre.storage_type == _TIERING:
        return
    # Only on HDD does the step depend on the tier; elsewhere an unknown tier is no obstacle.
    tier = ("throughput_mbps_per_tib",) if lustre.storage_type == "HDD" else ()
    yield from lustre.judged("UC-LUS-001", "capacity_gib", *tier)


@rule("UC-LUS-002", on=FILE_SYSTEM)
def tier_of_the_deployment(file_system: Resource) -> Iterator[Problem]:
    """A persistent file system names a tier that exists, a scratch one names none."""
    lustre = lustre_of(file_system)
    if lustre is None or lustre.storage_type == _TIERING:
        return
    if lustre.from_backup and not lustre.at("throughput_mbps_per_tib").exists:
        return
    yield from lustre.judged("UC-LUS-002", "throughput_mbps_per_tib")


@rule("UC-LUS-003", on=FILE_SYSTEM)
def hdd_where_it_exists(file_system: Resource) -> Iterator[Problem]:
    """HDD stands on PERSISTENT_1 only, with a drive cache that is named."""
    lustre = lustre_of(file_system)
    if lustre is None:
        return
    cache = lustre.at("drive_cache")
    if lustre.storage_type != "HDD":
        if cache.exists:
            raise NotKnown("whether the service takes a drive cache that does not stand before HDD")
        return
    yield from lustre.judged("UC-LUS-003")
    if lustre.facts is not None and cache.text(None) not in lustre_facts().drive_caches:
        choices = " or ".join(lustre_facts().drive_caches)
        yield Problem(cache, f"{cache.shown}; HDD needs a drive cache, {choices}", f"use {choices}")


@rule("UC-LUS-004", on=FILE_SYSTEM)
def no_link_inside_persistent_2(file_system: Resource) -> Iterator[Problem]:
    """PERSISTENT_2 is linked by associations only."""
    lustre = lustre_of(file_system)
    links = lustre.links_inside if lustre is not None else []
    if lustre is None or not links:
        return
    fields = DeploymentFields(deployment_type=lustre.deployment_type, import_path="linked")
    for problem in judged_as("UC-LUS-004", check_shape(fields, "", ""), lustre):
        yield from (replace(problem, where=link) for link in links)


@rule("UC-LUS-005", on=FILE_SYSTEM)
def version_of_the_deployment(file_system: Resource) -> Iterator[Problem]:
    """A version that is written is one that the deployment has."""
    lustre = lustre_of(file_system)
    if lustre is None or not lustre.at("file_system_type_version").exists:
        return
    # Elsewhere a metadata configuration is a fault of its own, whatever the version.
    metadata = ("metadata_iops",) if lustre.deployment_type == "PERSISTENT_2" else ()
    yield from lustre.judged("UC-LUS-005", *metadata, version=lustre.version)


@rule("UC-LUS-006", on=FILE_SYSTEM)
def version_is_written(file_system: Resource) -> Iterator[Problem]:
    """Where the default is the oldest version, a newer one is written."""
    lustre = lustre_of(file_system)
    if lustre is None or (lustre.from_backup and not lustre.at("file_system_type_version").exists):
        return
    left_out = "" if lustre.at("file_system_type_version").exists else "left out, and the default "
    for problem in lustre.judged("UC-LUS-006", version=lustre.version):
        yield replace(problem, message=f"{left_out}{problem.message}")


@rule("UC-LUS-007", on=FILE_SYSTEM)
def efa_where_it_exists(file_system: Resource) -> Iterator[Problem]:
    """EFA needs PERSISTENT_2 and a metadata configuration."""
    lustre = lustre_of(file_system)
    if lustre is None or not lustre.serves_efa:
        return
    newest = lustre_facts().metadata_version
    found = list(lustre.judged("UC-LUS-007", "efa", version=newest))
    yield from found
    if not found and not lustre.metadata.exists and not lustre.from_backup:
        yield Problem(
            lustre.at("efa"),
            "true without MetadataConfiguration, which EFA needs from the creation on",
            "add MetadataConfiguration with Mode AUTOMATIC, or drop EfaEnabled",
        )


@rule("UC-LUS-008", on=FILE_SYSTEM)
def capacity_of_efa(file_system: Resource) -> Iterator[Problem]:
    """The capacity of an EFA-enabled file system is a multiple of the step of its tier."""
    lustre = lustre_of(file_system)
    if lustre is None or not lustre.serves_efa or not lustre.at("capacity_gib").exists:
        return
    yield from lustre.judged("UC-LUS-008", "efa", "capacity_gib", "throughput_mbps_per_tib")


@rule("UC-LUS-014", on=FILE_SYSTEM)
def shape_of_tiering(file_system: Resource) -> Iterator[Problem]:
    """Intelligent-Tiering is bought by throughput and read cache, everything else by capacity."""
    lustre = lustre_of(file_system)
    if lustre is None:
        return
    for names in _decisive(lustre):
        # What one property tells is not lost when another is not known.
        with file_system.properties.judged_apart():
            yield from lustre.judged("UC-LUS-014", *names, about=names[0] if names else "")


def _decisive(lustre: Lustre) -> tuple[tuple[str, ...], ...]:
    """Groups of properties that are judged together, each about its first one."""
    if lustre.facts is None:
        return ((),)
    if lustre.storage_type != _TIERING:
        return ("throughput_capacity_mbps",), ("read_cache",)
    sized = lustre.at("read_cache.size_gib").exists
    cache = ("read_cache", "throughput_capacity_mbps") if sized else ("read_cache",)
    return ("capacity_gib",), ("throughput_mbps_per_tib",), ("throughput_capacity_mbps", "efa"), cache


@rule("UC-LUS-015", on=FILE_SYSTEM)
def metadata_rate(file_system: Resource) -> Iterator[Problem]:
    """The metadata rate is one that the service has, not below the automatic one."""
    lustre = lustre_of(file_system)
    if lustre is None or not lustre.metadata.exists:
        return
    iops = lustre.at("metadata_iops")
    if lustre.metadata["Mode"].text("") == "AUTOMATIC" and iops.exists:
        yield Problem(iops, f"{iops.shown} with Mode AUTOMATIC, which takes no rate", "leave Iops out")
        return
    found = list(lustre.judged("UC-LUS-015", "metadata_iops"))
    # Only a rate that exists has to be compared with the capacity, which may not be known.
    if not found and iops.exists and lustre.storage_type == "SSD":
        found = list(lustre.judged("UC-LUS-015", "metadata_iops", "capacity_gib"))
    yield from found
