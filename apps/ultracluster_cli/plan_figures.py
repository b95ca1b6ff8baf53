"""Figures of a plan as rows of text: what a fleet and a file system can do, in the units that people compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ultracluster.plan.cluster import FleetAttachments
    from ultracluster.plan.fleet import FleetPlan
    from ultracluster.plan.lustre_request import LustrePlan

__all__ = ["Row", "fleet_rows", "fleet_title", "lustre_rows", "lustre_title", "money", "number"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of a section: what, how much, and why."""

    label: str
    value: str
    because: str = ""


def number(value: float) -> str:
    """With separators of thousands, and decimals only where there are any."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def money(low: float | None, high: float | None) -> str:
    """A price, or a range, or that none is known."""
    if low is None or high is None:
        return "no figure"
    return f"{high:,.2f} USD" if low == high else f"{low:,.2f} to {high:,.2f} USD"


def fleet_title(fleet: FleetPlan) -> str:
    """Name, size, types and zones."""
    size = number(fleet.max_count)
    if fleet.min_count != fleet.max_count:
        size = f"{number(fleet.min_count)} to {size}"
    types = " or ".join(facts.name for facts in fleet.instance_types)
    return f"Fleet {fleet.name}: {size} x {types} in {', '.join(fleet.availability_zones)}"


def fleet_rows(fleet: FleetPlan, joined: FleetAttachments, alarms: int) -> Iterator[Row]:
    """What the fleet has at its largest."""
    if fleet.accelerators_max:
        yield _accelerators(fleet)
    yield _fabric(fleet)
    rate = fleet.scale_up_gbytes_per_s_per_accelerator
    if rate is not None:
        names = dict.fromkeys(facts.scale_up_interconnect or "" for facts in fleet.instance_types)
        yield Row(
            label="scale-up",
            value=f"{number(rate)} GB/s per accelerator",
            because=f"{' or '.join(names)}, both directions added",
        )
    per_node = max(len(group.interfaces.interfaces) for group in fleet.layouts)
    yield Row(
        label="addresses",
        value=f"{number(fleet.ip_addresses_max)}, {fleet.ip_addresses_per_node} per node",
        because=f"{number(fleet.network_interfaces_max)} network interfaces in all, {per_node} per node",
    )
    yield Row(label="mounts", value=", ".join(joined.mounts) or "nothing")
    for access in joined.bucket_access:
        where = f"{access.bucket}/{access.prefix}" if access.prefix else access.bucket
        yield Row(label="S3", value=where, because="read and write" if access.write else "read")
    yield Row(label="alarms", value=number(alarms), because=f"on group {joined.auto_scaling_group_name}")


def _accelerators(fleet: FleetPlan) -> Row:
    """Of several types the largest count, and the least memory that it can mean."""
    names = dict.fromkeys(facts.accelerator_name for facts in fleet.instance_types)
    each = sorted({facts.accelerator_count for facts in fleet.instance_types})
    memory = fleet.max_count * min(facts.accelerator_memory_gib_total for facts in fleet.instance_types)
    least = "at least " if len(names) > 1 else ""
    return Row(
        label="accelerators",
        value=f"{number(fleet.accelerators_max)} x {' or '.join(names)}",
        because=f"{' or '.join(map(str, each))} per node; {least}{number(round(memory))} GiB of their memory in all",
    )


def _fabric(fleet: FleetPlan) -> Row:
    if not fleet.efa_count:
        return Row(label="EFA rate", value="none", because="nodes talk over TCP")
    each = fleet.efa_gbytes_per_s_per_node
    return Row(
        label="EFA rate",
        value=f"{number(each)} GB/s per node",
        because=f"{number(each * fleet.max_count)} GB/s in all, {fleet.efa_count} EFA devices per node",
    )


def lustre_title(lustre: LustrePlan) -> str:
    """Name, deployment, size, zone and mount path."""
    size = "" if lustre.capacity_gib is None else f", {number(lustre.capacity_gib)} GiB"
    zone = "" if lustre.availability_zone is None else f" in {lustre.availability_zone}"
    kind = lustre.deployment_type
    if lustre.storage_type != "SSD":
        kind = f"{kind} {lustre.storage_type}"
    return f"Lustre {lustre.name}: {kind}{size}{zone}, at {lustre.mount_path}"


def lustre_rows(lustre: LustrePlan, alarms: int) -> Iterator[Row]:
    """What watches over the file system, and what becomes of it."""
    kept = lustre.removal_policy == "retain"
    yield Row(
        label="on removal",
        value="kept" if kept else "deleted",
        because="the data outlives the stack" if kept else "asked for: the data goes with the stack",
    )
    yield Row(label="alarms", value=number(alarms))
