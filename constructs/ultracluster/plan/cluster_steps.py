"""The steps of a cluster plan: fleets and network first, then storage, then what lies between them.

A fault in one part hides no fault of another: what cannot be planned is left out, and the rules between subjects are
judged over what could be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ultracluster.plan.cluster_draft import ClusterDraft
from ultracluster.plan.cluster_files import read_catalog, read_script
from ultracluster.plan.cluster_nodes import plan_alarms, plan_user_data_of_fleets
from ultracluster.plan.cluster_rules import as_written, check_parts
from ultracluster.plan.cluster_storage import check_between, plan_storage
from ultracluster.plan.fleet import FleetPlan, plan_fleet
from ultracluster.plan.network import plan_network
from ultracluster.plan.requests import fleet_request, fleet_zones, network_request

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from ultracluster.spec.fleet import FleetSpec
    from ultracluster.spec.parts import ClusterParts

__all__ = ["draft_cluster"]


def draft_cluster(parts: ClusterParts, *, base_dir: Path, now: datetime | None = None) -> ClusterDraft:
    """Plan what can be planned of a cluster file.

    Args:
        parts: its readable parts.
        base_dir: the folder that paths in it start from.
        now: the time to hold the ends of Capacity Blocks against; None judges no end as past.
    """
    draft = ClusterDraft(parts=parts, base_dir=base_dir, now=now)
    draft.findings += check_parts(parts)
    _plan_fleets(draft)
    _plan_network(draft)
    plan_storage(draft)
    check_between(draft)
    plan_user_data_of_fleets(draft)
    plan_alarms(draft)
    draft.findings = list(dict.fromkeys(draft.findings))
    return draft


def _plan_fleets(draft: ClusterDraft) -> None:
    """Every readable fleet, with its script."""
    draft.catalog, faults = read_catalog(draft.parts.instance_type_records, draft.base_dir)
    draft.findings += faults
    for index, fleet in draft.parts.fleets.items():
        before = len(draft.findings)
        plan = _fleet(draft, index, fleet)
        draft.findings[before:] = as_written(draft.findings[before:], fleet, f"fleets[{index}]")
        if plan is not None:
            draft.fleets[index] = plan
        if fleet.user_data is not None:
            script, faults = read_script(fleet.user_data, draft.base_dir, subject=f"fleets[{index}].user_data")
            draft.findings += faults
            draft.scripts.update({} if script is None else {index: script})


def _fleet(draft: ClusterDraft, index: int, fleet: FleetSpec) -> FleetPlan | None:
    # A fleet without a zone is told of already; any zone will do to find its other faults.
    stand_in = (*draft.network_zones, f"{draft.parts.region or 'us-east-1'}a")[:1]
    request = fleet_request(
        fleet,
        availability_zones=fleet_zones(fleet, draft.network_zones) or stand_in,
        region=draft.parts.region,
        catalog=draft.catalog,
        now=draft.now,
    )
    return draft.attempt(lambda: plan_fleet(request, subject=f"fleets[{index}]"))


def _plan_network(draft: ClusterDraft) -> None:
    """The network, with room for the addresses of the fleets."""
    network = draft.parts.network
    if network is None:
        return
    demand: dict[str, int] = {}
    for fleet in draft.fleets.values():
        for zone in fleet.availability_zones:
            demand[zone] = demand.get(zone, 0) + fleet.ip_addresses_max
    known = {zone: count for zone, count in demand.items() if zone in network.availability_zones}
    request = network_request(network, region=draft.parts.region, addresses_by_zone=known)
    draft.network = draft.attempt(lambda: plan_network(request, subject="network"))
