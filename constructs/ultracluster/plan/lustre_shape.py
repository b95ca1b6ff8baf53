"""Rules on the shape of an FSx for Lustre file system: type, capacity, tier, version, EFA, metadata, read cache.

They read the flat form only, so that the same rules judge a request, a cluster file and a template.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ultracluster.facts.lustre import DeploymentFacts, TierFacts, deployment, deployments, lustre_facts
from ultracluster.findings import Finding, finding
from ultracluster.plan.lustre_grid import automatic_metadata_iops, metadata_values, nearest_on_grid, on_grid
from ultracluster.plan.lustre_tiering import check_tiering, check_without_tiering
from ultracluster.plan.numbers import no_whole_number
from ultracluster.plan.paths import check_choice

if TYPE_CHECKING:
    from ultracluster.plan.lustre_deployments import DeploymentFields

__all__ = ["check_shape"]


def check_shape(fields: DeploymentFields, version: str, subject: str) -> Iterator[Finding]:
    """Every fault of the shape.

    Args:
        fields: the flat form, as `fields_of` gives it.
        version: server version.
        subject: path of the file system in the user's terms.
    """
    storage_type = fields.storage_type or "SSD"
    types = tuple(dict.fromkeys(row.deployment_type for row in deployments()))
    unknown = [
        *check_choice(fields.deployment_type, types, subject=f"{subject}.deployment_type"),
        *check_choice(
            storage_type,
            tuple(dict.fromkeys(row.storage_type for row in deployments())),
            subject=f"{subject}.storage_type",
        ),
    ]
    if unknown:
        yield from unknown
        return
    yield from _check_links_inside(fields, subject)
    facts = deployment(fields.deployment_type, storage_type)
    if facts is None:
        yield from _check_pair(fields, storage_type, subject)
        return
    yield from _check_drive_cache(fields, storage_type, subject)
    yield from _check_version(fields, facts, version, subject)
    yield from _check_efa(fields, facts, version, subject)
    if storage_type == "INTELLIGENT_TIERING":
        yield from check_tiering(fields, subject)
    else:
        yield from check_without_tiering(fields, subject)
        yield from _check_size(fields, facts, subject)
    yield from _check_metadata(fields, storage_type, subject)


def _check_pair(fields: DeploymentFields, storage_type: str, subject: str) -> Iterator[Finding]:
    if storage_type == "HDD":
        yield finding(
            "UC-LUS-003",
            f"{subject}.storage_type",
            f"HDD does not exist for {fields.deployment_type}, only for PERSISTENT_1",
            "use SSD, or PERSISTENT_1",
        )
    else:
        yield finding(
            "UC-LUS-014",
            f"{subject}.deployment_type",
            f"{storage_type} does not exist for {fields.deployment_type}, only for PERSISTENT_2",
            "use PERSISTENT_2",
        )


def _check_links_inside(fields: DeploymentFields, subject: str) -> Iterator[Finding]:
    for name in ("import_path", "export_path"):
        if getattr(fields, name) is None:
            continue
        newer = fields.deployment_type == "PERSISTENT_2"
        yield finding(
            "UC-LUS-004" if newer else "UC-DRA-007",
            f"{subject}.{name}",
            "PERSISTENT_2 has no S3 link inside the file system"
            if newer
            else "a link inside the file system excludes associations and export of changes",
            "link the bucket with a data repository association (data_repositories)",
        )


def _check_drive_cache(fields: DeploymentFields, storage_type: str, subject: str) -> Iterator[Finding]:
    if fields.drive_cache is None:
        return
    if storage_type == "HDD":
        yield from check_choice(fields.drive_cache, lustre_facts().drive_caches, subject=f"{subject}.drive_cache")
    elif fields.drive_cache != "NONE":
        yield finding(
            "UC-STG-006",
            f"{subject}.drive_cache",
            f"a drive cache stands in front of HDD, not of {storage_type}",
            "leave drive_cache out",
        )


def _check_version(fields: DeploymentFields, facts: DeploymentFacts, version: str, subject: str) -> Iterator[Finding]:
    where = f"{subject}.file_system_type_version"
    limits = lustre_facts()
    known = tuple(dict.fromkeys(each for row in deployments() for each in row.versions))
    if version not in known:
        yield from check_choice(version, known, subject=where)
    elif version not in facts.versions:
        yield finding(
            "UC-LUS-005",
            where,
            f"{version} is none of {', '.join(facts.versions)}, which {facts.deployment_type} {facts.storage_type} has",
            f'use "{facts.versions[-1]}"',
        )
    elif version == limits.default_version:
        yield finding(
            "UC-LUS-006",
            where,
            f"{version} has no data repository associations, and clients of version 2.15 (AL2023) cannot reach it",
            f'use "{facts.versions[-1]}"',
        )
    elif fields.metadata_iops is not None and version != limits.metadata_version and "SSD" in facts.storage_type:
        yield finding(
            "UC-LUS-005",
            where,
            f"{version} does not take a metadata configuration",
            f'use "{limits.metadata_version}", or leave metadata_iops out',
        )


def _check_efa(fields: DeploymentFields, facts: DeploymentFacts, version: str, subject: str) -> Iterator[Finding]:
    if not fields.efa:
        return
    if not facts.offers_efa:
        yield finding(
            "UC-LUS-007",
            f"{subject}.efa",
            f"{facts.deployment_type} with {facts.storage_type} does not serve EFA, it needs PERSISTENT_2 on SSD or "
            "Intelligent-Tiering",
            "use PERSISTENT_2, or drop efa",
        )
    elif version != lustre_facts().metadata_version:
        yield finding(
            "UC-LUS-007",
            f"{subject}.efa",
            f"EFA needs a metadata configuration, which server version {version} does not take",
            f'use file_system_type_version "{lustre_facts().metadata_version}"',
        )


def _check_size(fields: DeploymentFields, facts: DeploymentFacts, subject: str) -> Iterator[Finding]:
    tier = facts.tier(fields.throughput_mbps_per_tib)
    if tier is None:
        yield from _check_tier(fields, facts, subject)
        # Where every tier has the same step, the capacity can be judged without the tier.
        if len({row.step_gib for row in facts.tiers}) == 1 and not fields.efa:
            yield from _check_capacity(fields, facts, facts.tiers[0], subject)
        return
    yield from _check_capacity(fields, facts, tier, subject)


def _check_tier(fields: DeploymentFields, facts: DeploymentFacts, subject: str) -> Iterator[Finding]:
    where, given = f"{subject}.throughput_mbps_per_tib", fields.throughput_mbps_per_tib
    allowed = [str(row.tier) for row in facts.tiers if row.tier is not None]
    what = f"{facts.deployment_type} with {facts.storage_type}"
    if not allowed:
        yield finding("UC-LUS-002", where, f"{given} cannot be set: {what} has a fixed tier", "leave it out")
        return
    choices = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
    found = "is missing, and the service has no default" if given is None else f"{given} is not a tier of {what}"
    yield finding("UC-LUS-002", where, f"{found}; {what} has {choices} MB/s per TiB", f"use {choices}")


def _check_capacity(
    fields: DeploymentFields, facts: DeploymentFacts, tier: TierFacts, subject: str
) -> Iterator[Finding]:
    where, capacity = f"{subject}.capacity_gib", fields.capacity_gib
    efa_step = tier.efa_step_gib if fields.efa else None
    listed, step = ((), efa_step) if efa_step else (facts.listed_gib or (), tier.step_gib)
    what = (
        f"{facts.deployment_type}" if facts.storage_type == "SSD" else f"{facts.deployment_type} {facts.storage_type}"
    )
    grid = " or ".join([*(f"{each}" for each in listed), f"n x {step}"])
    fault = None if capacity is None else no_whole_number(capacity)
    if fault is not None:
        yield finding("UC-LUS-001", where, fault, f"write a number of GiB: {grid}")
    elif capacity is None:
        yield finding(
            "UC-LUS-001", where, f"is missing; {what} takes {grid} GiB", f"use {(*listed, step)[0]} GiB or more"
        )
    elif not on_grid(capacity, listed=listed, step=step):
        nearest = " and ".join(map(str, nearest_on_grid(capacity, listed=listed, step=step)))
        if efa_step:
            message = (
                f"{capacity} is not a multiple of {step}, the step of an EFA-enabled file system at tier {tier.tier}"
            )
            yield finding("UC-LUS-008", where, message, f"nearest: {nearest} GiB; or use another tier, or drop efa")
        else:
            yield finding(
                "UC-LUS-001", where, f"{capacity} is not on the {what} grid ({grid})", f"nearest: {nearest} GiB"
            )


def _check_metadata(fields: DeploymentFields, storage_type: str, subject: str) -> Iterator[Finding]:
    where, wanted = f"{subject}.metadata_iops", fields.metadata_iops
    if wanted is None:
        return
    if fields.deployment_type != "PERSISTENT_2":
        yield finding(
            "UC-LUS-015", where, f"{fields.deployment_type} has no metadata configuration", "leave metadata_iops out"
        )
        return
    if isinstance(wanted, str):
        yield from check_choice(wanted, ("automatic",), subject=where)
        return
    values = metadata_values()
    sized = storage_type == "SSD" and isinstance(fields.capacity_gib, int)
    least = automatic_metadata_iops(fields.capacity_gib or 0) if sized else 0
    if wanted not in values:
        step = lustre_facts().metadata_step
        listed = ", ".join(map(str, values[:4]))
        yield finding(
            "UC-LUS-015",
            where,
            f"{wanted} is none of {listed} or a multiple of {step} up to {values[-1]}",
            f"use {next((each for each in values if each >= max(wanted, least)), values[-1])}",
        )
    elif wanted < least:
        yield finding(
            "UC-LUS-015",
            where,
            f"{wanted} is below {least}, which {fields.capacity_gib} GiB has in automatic mode",
            f'use {least} or more, or "automatic"',
        )
