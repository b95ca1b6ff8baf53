"""Why a file system is planned as it is: the decisions that `ultracluster plan` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ultracluster.facts.lustre import lustre_facts
from ultracluster.plan.decision import Decision

if TYPE_CHECKING:
    from ultracluster.facts.lustre import DeploymentFacts
    from ultracluster.plan.lustre_deployments import DeploymentFields
    from ultracluster.plan.lustre_request import LustreRequest, LustreThroughput, MetadataPlan

__all__ = ["explain"]


def explain(
    request: LustreRequest,
    fields: DeploymentFields,
    *,
    facts: DeploymentFacts,
    metadata: MetadataPlan | None,
    throughput: LustreThroughput,
    subject: str,
) -> Iterator[Decision]:
    """The decisions of one file system, most important first."""
    yield from _explain_throughput(fields, throughput, subject)
    yield from _explain_metadata(fields, metadata, subject)
    yield from _explain_network(fields, subject)
    yield from _explain_settings(request, facts, subject)
    yield from _explain_links(request, subject)


def _explain_network(fields: DeploymentFields, subject: str) -> Iterator[Decision]:
    yield Decision(
        subject=f"{subject}.security_groups",
        value="all traffic by group" if fields.efa else _ports(),
        because="EFA traffic is let through by group id only"
        if fields.efa
        else "what Lustre uses between clients and servers",
    )
    if fields.efa:
        yield Decision(
            subject=f"{subject}.efa",
            value="yes",
            because=f"fixed at creation; at most {lustre_facts().efa_connections} EFA connections at one time",
        )


def _explain_settings(request: LustreRequest, facts: DeploymentFacts, subject: str) -> Iterator[Decision]:
    yield Decision(
        subject=f"{subject}.file_system_type_version",
        value=request.file_system_type_version,
        because="written down, because the default of the service differs by deployment and is 2.10 on most of them",
    )
    yield Decision(
        subject=f"{subject}.backups",
        value=f"{request.backup_retention_days} days" if request.backup_retention_days else "none",
        because=_why_backups(request, facts),
    )
    yield Decision(
        subject=f"{subject}.compression",
        value=request.compression,
        because="less is written and read for data that compresses" if request.compression == "LZ4" else "asked for",
    )
    if request.root_squash is not None:
        yield Decision(
            subject=f"{subject}.root_squash",
            value=request.root_squash,
            because="set by an API call at deployment: CloudFormation has no property for it",
        )


def _explain_links(request: LustreRequest, subject: str) -> Iterator[Decision]:
    earlier = "the file system"
    for index, link in enumerate(request.data_repositories):
        yield Decision(
            subject=f"{subject}.data_repositories[{index}]",
            value=f"{link.file_system_path}, created after {earlier}",
            because="associations of one file system that are created at the same time end in an error",
        )
        earlier = link.file_system_path


def _explain_throughput(fields: DeploymentFields, throughput: LustreThroughput, subject: str) -> Iterator[Decision]:
    if fields.capacity_gib is None:
        because = "bought as such; independent of what is stored"
    elif fields.throughput_mbps_per_tib is None:
        because = f"{fields.capacity_gib} GiB at the fixed tier of {fields.deployment_type}"
    else:
        because = f"{fields.capacity_gib} GiB at {fields.throughput_mbps_per_tib} MB/s per TiB"
    parts = [f"{throughput.baseline_mbps} MB/s"]
    if throughput.burst_mbps:
        parts.append(f"burst {throughput.burst_mbps} MB/s")
    if throughput.network_baseline_mbps:
        parts.append(f"from memory {throughput.network_baseline_mbps} MB/s")
    if throughput.network_burst_mbps:
        parts.append(f"burst from memory {throughput.network_burst_mbps} MB/s")
    yield Decision(subject=f"{subject}.throughput", value=", ".join(parts), because=because)


def _explain_metadata(fields: DeploymentFields, metadata: MetadataPlan | None, subject: str) -> Iterator[Decision]:
    if metadata is None:
        if fields.deployment_type == "PERSISTENT_2":
            because = (
                f"the server version takes none; {lustre_facts().metadata_version} does, and it cannot be added later"
            )
            yield Decision(subject=f"{subject}.metadata_iops", value="none", because=because)
        return
    value = f"{metadata.mode.lower()}, {metadata.effective_iops or 'a rate that the service chooses'} per second"
    if fields.metadata_iops is not None:
        because = "asked for"
    elif fields.capacity_gib is None:
        because = "the lower of the two rates that the API and the guide agree on for Intelligent-Tiering"
    else:
        because = "follows the capacity at no charge, and a metadata configuration cannot be added later"
        because += "; EFA needs one" if fields.efa else ""
    yield Decision(subject=f"{subject}.metadata_iops", value=value, because=because)


def _ports() -> str:
    ranges = [f"{first}" if first == last else f"{first}-{last}" for first, last in lustre_facts().ports]
    return f"TCP {' and '.join(ranges)}"


def _why_backups(request: LustreRequest, facts: DeploymentFacts) -> str:
    if request.backup_retention_days:
        return "asked for"
    if request.data_repositories:
        return "a file system that is linked to S3 cannot be backed up; what has to last is exported"
    return "not asked for" if facts.persistent else f"{facts.deployment_type} has no backups"
