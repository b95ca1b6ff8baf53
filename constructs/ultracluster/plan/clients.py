"""Fleets as storage sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ultracluster.plan.storage_client import StorageClient

if TYPE_CHECKING:
    from ultracluster.plan.fleet import FleetPlan
    from ultracluster.plan.spot import LayoutGroup

__all__ = ["storage_client"]


def storage_client(fleet: FleetPlan, *, subject: str, cidrs: tuple[str, ...] = ()) -> StorageClient:
    """What the checks between storage and fleets need to know of a fleet.

    Args:
        fleet: the plan of the fleet.
        subject: its path in the user's terms.
        cidrs: address blocks of its subnets, when known.
    """
    return StorageClient(
        name=fleet.name,
        subject=subject,
        availability_zones=fleet.availability_zones,
        max_nodes=fleet.max_count,
        efa_client=all(facts.fsx_lustre_efa_client for facts in fleet.instance_types),
        efa_interfaces=max(_lustre_interfaces(group) for group in fleet.layouts),
        os=fleet.image.os,
        instance_types=tuple(facts.name for facts in fleet.instance_types),
        cidrs=cidrs,
    )


def _lustre_interfaces(group: LayoutGroup) -> int:
    """EFA interfaces that the client set-up takes of one node: its default, or all where it has fewer."""
    have = group.interfaces.efa_count
    defaults = [facts.fsx_lustre_default_efa_interfaces for facts in group.instance_types]
    return max(have if default is None else min(have, default) for default in defaults)
