"""Reader of `data/lustre.json`: what FSx for Lustre accepts and delivers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ultracluster.values import dataclass

__all__ = ["DeploymentFacts", "LustreFacts", "TierFacts", "deployment", "deployments", "lustre_facts"]

DATA_FILE = Path(__file__).with_name("data") / "lustre.json"

Rate = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TierFacts:
    """A throughput tier of a deployment.

    Attributes:
        tier: MB/s per TiB; `None` where it cannot be set.
        step_gib: capacity is a multiple of it.
        efa_step_gib: capacity of an EFA-enabled system is a multiple of it; `None` where EFA is not offered.
        disk_mbps_per_tib: baseline and burst.
        network_mbps_per_tib: baseline and burst of data in the servers' memory.
    """

    tier: int | None
    step_gib: int
    efa_step_gib: int | None
    disk_mbps_per_tib: Rate
    network_mbps_per_tib: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentFacts:
    """A pair of deployment type and storage type.

    Attributes:
        deployment_type: as the API spells it.
        storage_type: likewise.
        listed_gib: capacities that are valid beside the multiples of a tier's step; `None` where capacity is not set.
        persistent: whether data is replicated; also customer keys and backups.
        links: whether data repository associations exist.
        versions: server versions, newest last.
        tiers: throughput tiers.
    """

    deployment_type: str
    storage_type: str
    listed_gib: tuple[int, ...] | None
    persistent: bool
    links: bool
    versions: tuple[str, ...]
    tiers: tuple[TierFacts, ...]

    def tier(self, tier: int | None) -> TierFacts | None:
        """The row of one tier."""
        return next((row for row in self.tiers if row.tier == tier), None)

    @property
    def offers_efa(self) -> bool:
        """Whether a file system of this kind can serve EFA clients."""
        return self.storage_type == "INTELLIGENT_TIERING" or any(row.efa_step_gib for row in self.tiers)


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreFacts:
    """Limits that do not depend on the deployment; the data file names the source of each."""

    gib_per_tib: int
    default_version: str
    metadata_version: str
    link_versions: tuple[str, ...]
    compressions: tuple[str, ...]
    drive_caches: tuple[str, ...]
    log_levels: tuple[str, ...]
    log_group_prefix: str
    metadata_values: tuple[int, ...]
    metadata_step: int
    metadata_maximum: int
    metadata_automatic: tuple[tuple[int, int], ...]
    metadata_beyond: tuple[int, int]
    tiering_metadata_values: tuple[int, ...]
    tiering_throughput_values: tuple[int, ...]
    tiering_throughput_step: int
    tiering_throughput_maximum: int
    tiering_cache_modes: tuple[str, ...]
    tiering_cache_gib_per_step: tuple[int, int]
    efa_connections: int
    efa_worth_it_above_mbps: int
    efa_same_prefix_length: int
    efa_client_os: Mapping[str, float | None]
    ports: tuple[tuple[int, int], ...]
    backup_days: tuple[int, int]
    no_squash_nids: int
    no_squash_nid: str
    links_per_file_system: int
    link_chunk_size_mib: tuple[int, int]
    link_default_chunk_size_mib: int
    link_path_length: int
    link_repository_path_length: tuple[int, int]
    link_events: tuple[str, ...]
    link_role: str
    link_key_actions: tuple[str, ...]
    mount_options: tuple[str, ...]
    checkpoint_share: float


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return document


def _tier(row: Mapping[str, Any]) -> TierFacts:
    disk, network = row["disk_mbps_per_tib"], row["network_mbps_per_tib"]
    return TierFacts(
        tier=row["tier"],
        step_gib=row["step_gib"],
        efa_step_gib=row.get("efa_step_gib"),
        disk_mbps_per_tib=(disk[0], disk[1]),
        network_mbps_per_tib=(network[0], network[1]),
    )


@cache
def deployments() -> tuple[DeploymentFacts, ...]:
    """All pairs of deployment type and storage type that exist."""
    return tuple(
        DeploymentFacts(
            deployment_type=row["deployment_type"],
            storage_type=row["storage_type"],
            listed_gib=None if row["listed_gib"] is None else tuple(row["listed_gib"]),
            persistent=row["persistent"],
            links=row["links"],
            versions=tuple(row["versions"]),
            tiers=tuple(_tier(each) for each in row["tiers"]),
        )
        for row in _document()["deployments"]
    )


def deployment(deployment_type: str, storage_type: str) -> DeploymentFacts | None:
    """One pair, or `None` when the service has no such combination."""
    wanted = (deployment_type, storage_type)
    return next((row for row in deployments() if (row.deployment_type, row.storage_type) == wanted), None)


def _pair(row: list[int]) -> tuple[int, int]:
    first, second = row
    return first, second


def _links(links: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "links_per_file_system": links["per_file_system"],
        "link_chunk_size_mib": _pair(links["chunk_size_mib"]),
        "link_default_chunk_size_mib": links["default_chunk_size_mib"],
        "link_path_length": links["file_system_path_length"],
        "link_repository_path_length": _pair(links["repository_path_length"]),
        "link_events": tuple(links["events"]),
        "link_role": links["role"],
        "link_key_actions": tuple(links["key_actions"]),
    }


@cache
def lustre_facts() -> LustreFacts:
    """The limits, read once."""
    document = _document()
    value = {key: row["value"] for key, row in document.items() if isinstance(row, dict) and "value" in row}
    metadata, tiering, efa, links = (document[key] for key in ("metadata", "tiering", "efa", "links"))
    return LustreFacts(
        gib_per_tib=value["gib_per_tib"],
        default_version=value["default_version"],
        metadata_version=value["metadata_version"],
        link_versions=tuple(value["link_versions"]),
        compressions=tuple(value["compressions"]),
        drive_caches=tuple(value["drive_caches"]),
        log_levels=tuple(value["log_levels"]),
        log_group_prefix=value["log_group_prefix"],
        metadata_values=tuple(metadata["ssd_values"]),
        metadata_step=metadata["ssd_step"],
        metadata_maximum=metadata["ssd_maximum"],
        metadata_automatic=tuple(_pair(row) for row in metadata["automatic"]),
        metadata_beyond=(metadata["automatic_beyond"]["gib"], metadata["automatic_beyond"]["iops"]),
        tiering_metadata_values=tuple(metadata["tiering_values"]),
        tiering_throughput_values=tuple(tiering["throughput_values"]),
        tiering_throughput_step=tiering["throughput_step"],
        tiering_throughput_maximum=tiering["throughput_maximum"],
        tiering_cache_modes=tuple(tiering["cache_modes"]),
        tiering_cache_gib_per_step=_pair(tiering["cache_gib_per_step"]),
        efa_connections=efa["connections"],
        efa_worth_it_above_mbps=efa["worth_it_above_mbps"],
        efa_same_prefix_length=efa["same_prefix_length"],
        efa_client_os=efa["client_os"],
        ports=tuple(_pair(row) for row in value["ports"]),
        backup_days=_pair(value["backup_days"]),
        no_squash_nids=value["no_squash_nids"],
        no_squash_nid=value["no_squash_nid"],
        **_links(links),
        mount_options=tuple(value["mount_options"]),
        checkpoint_share=value["checkpoint_share"],
    )
