"""Storage in a cluster plan: file systems, the shared home, buckets, and the rules between them and the fleets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ultracluster.findings import finding
from ultracluster.plan.buckets import check_bucket_links, plan_bucket
from ultracluster.plan.clients import storage_client
from ultracluster.plan.cluster_rules import HOME
from ultracluster.plan.fleet import check_fleets_together
from ultracluster.plan.home import check_home_clients, plan_home
from ultracluster.plan.lustre import plan_lustre
from ultracluster.plan.lustre_clients import check_lustre_clients
from ultracluster.plan.requests import bucket_request, fleet_zones, home_request, lustre_request

if TYPE_CHECKING:
    from ultracluster.plan.cluster_draft import ClusterDraft
    from ultracluster.plan.storage_client import StorageClient

__all__ = ["check_between", "plan_storage"]


def plan_storage(draft: ClusterDraft) -> None:
    """File systems and buckets."""
    for index in draft.parts.lustre:
        _plan_lustre(draft, index)
    for index in draft.parts.buckets:
        _plan_bucket(draft, index)
    home, zones = draft.parts.home, _home_zones(draft)
    if home is not None and zones:
        request = home_request(home, availability_zones=zones)
        draft.home = draft.attempt(lambda: plan_home(request, subject="storage.home"))


def _plan_lustre(draft: ClusterDraft, index: int) -> None:
    lustre, subject = draft.parts.lustre[index], f"storage.lustre[{index}]"
    zone = lustre.availability_zone or _zone_of(draft, lustre.name, subject)
    request = lustre_request(lustre, availability_zone=zone)
    plan = draft.attempt(lambda: plan_lustre(request, subject=subject, region=draft.parts.region))
    if plan is not None:
        draft.lustre[index] = plan


def _plan_bucket(draft: ClusterDraft, index: int) -> None:
    bucket = draft.parts.buckets[index]
    if bucket.bucket_name is None:
        request = bucket_request(bucket)
        plan = draft.attempt(lambda: plan_bucket(request, subject=f"storage.buckets[{index}]"))
        draft.buckets.update({} if plan is None else {index: plan})


def _zone_of(draft: ClusterDraft, name: str, subject: str) -> str | None:
    """The zone that the fleets of a file system share, or the only one of the network."""
    users = [fleet_zones(draft.parts.fleets[index], draft.network_zones) for index in draft.mounting(name)]
    zones = list(dict.fromkeys(zone for each in users for zone in each))
    if not zones:
        zones = list(draft.network_zones)
    if len(zones) > 1:
        message = f"no zone is named, and it could stand in {', '.join(zones)}"
        draft.findings.append(finding("UC-SPC-015", subject, message, f"add availability_zone: {zones[0]}, or another"))
    return zones[0] if len(zones) == 1 else None


def _home_zones(draft: ClusterDraft) -> tuple[str, ...]:
    """Zones of the fleets that mount the shared home, else all zones of the network."""
    users = [draft.fleets[index].availability_zones for index in draft.mounting(HOME) if index in draft.fleets]
    zones = tuple(dict.fromkeys(zone for each in users for zone in each))
    return zones or draft.network_zones


def _clients_of(draft: ClusterDraft, name: str) -> list[StorageClient]:
    """The planned fleets that mount a file system, but for those whose zone is still open."""
    blocks = {zone.name: zone.fleet_cidr for zone in (draft.network.zones if draft.network is not None else ())}
    return [
        storage_client(
            fleet,
            subject=f"fleets[{index}]",
            cidrs=tuple(block for zone in fleet.availability_zones if (block := blocks.get(zone)) is not None),
        )
        for index, fleet in draft.fleets.items()
        if index in draft.mounting(name) and fleet_zones(draft.parts.fleets[index], draft.network_zones)
    ]


def check_between(draft: ClusterDraft) -> None:
    """The rules between fleets, file systems and buckets."""
    draft.findings += check_fleets_together({f"fleets[{index}]": plan for index, plan in draft.fleets.items()})
    blocks = {zone.name: zone.storage_cidr for zone in (draft.network.zones if draft.network is not None else ())}
    for index, lustre in draft.lustre.items():
        cidr = blocks.get(lustre.availability_zone or "")
        subject = f"storage.lustre[{index}]"
        draft.findings += check_lustre_clients(lustre, _clients_of(draft, lustre.name), subject=subject, cidr=cidr)
    if draft.home is not None:
        draft.findings += check_home_clients(draft.home, _clients_of(draft, HOME), subject="storage.home")
    links = [
        (f"storage.lustre[{index}].data_repositories[{at}]", link)
        for index, entry in draft.parts.lustre.items()
        for at, link in enumerate(lustre_request(entry, availability_zone=None).data_repositories)
    ]
    draft.findings += check_bucket_links({plan.name: plan for plan in draft.buckets.values()}, links)
