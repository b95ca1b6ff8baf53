"""Rules on a fleet as a whole, and the requests that it makes to the plan of every subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ultracluster.facts.compute_limits import limit
from ultracluster.facts.images import recommended_root_gib
from ultracluster.facts.instances import UnknownInstanceType, instance_type
from ultracluster.facts.lustre_client import lustre_client
from ultracluster.facts.node_tuning import boot_opt_ins, opt_ins
from ultracluster.findings import Finding, finding
from ultracluster.plan.capacity import CapacityRequest, check_capacity
from ultracluster.plan.capacity_options import Spot
from ultracluster.plan.image_options import Dlami
from ultracluster.plan.images import check_image
from ultracluster.plan.interface_rules import as_entries, check_interface_list, with_public_ip
from ultracluster.plan.network_interfaces import check_network_interfaces, plan_network_interfaces
from ultracluster.plan.numbers import no_whole_number
from ultracluster.plan.placement import PlacementRequest, check_placement
from ultracluster.plan.spot import SpotRequest, check_spot, effective_efa, group_by_cards
from ultracluster.plan.volumes import check_root_volume
from ultracluster.plan.zones import check_availability_zones, is_spelt_out, region_of_zone
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ultracluster.facts.instances import InstanceType
    from ultracluster.plan.fleet import FleetPlan, FleetRequest

__all__ = ["Counts", "RequestParts", "check_fleets_together", "fleet_findings", "split_request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Size of a fleet.

    Attributes:
        fewest: fewest instances.
        most: most instances.
    """

    fewest: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestParts:
    """A fleet request, split into what each subject is asked.

    Attributes:
        types: facts of the types.
        counts: size of the fleet.
        spot: for the mixed instances policy; None unless the fleet is Spot.
        capacity: for the purchase option.
        placement: for the placement group.
    """

    types: tuple[InstanceType, ...]
    counts: Counts
    spot: SpotRequest | None
    capacity: CapacityRequest
    placement: PlacementRequest


def fleet_findings(request: FleetRequest, subject: str) -> tuple[Finding, ...]:
    """All faults of a fleet request; what depends on unknown types or on a missing size is left out."""
    found = [
        *_check_counts(request, subject),
        *check_availability_zones(
            request.availability_zones, region=request.region, subject=f"{subject}.availability_zones"
        ),
        *_check_hop_limit(request, subject),
        *_check_tuning(request, subject),
    ]
    types, unknown = _resolve_types(request, subject)
    found.extend(unknown)
    if unknown or _counts(request) is None:
        return tuple(found)
    parts = split_request(request, subject)
    found.extend(_check_interfaces(request, parts, subject))
    found.extend(check_capacity(parts.capacity, subject=subject))
    found.extend(check_placement(parts.placement, subject=subject))
    found.extend(check_image(request.image, instance_types=types, subject=subject))
    found.extend(_check_root_volume(request, subject))
    return tuple(found)


def split_request(request: FleetRequest, subject: str) -> RequestParts:
    """What each subject is asked; only for a request with known types and a size."""
    types, _ = _resolve_types(request, subject)
    counts = _counts(request) or Counts(fewest=0, most=0)
    zones = request.availability_zones
    spot = None
    if isinstance(request.capacity, Spot):
        spot = SpotRequest(
            spot=request.capacity,
            instance_types=types,
            availability_zones=zones,
            efa=request.efa,
            layout=request.layout,
            max_count=counts.most,
        )
    return RequestParts(
        types=types,
        counts=counts,
        spot=spot,
        capacity=CapacityRequest(
            capacity=request.capacity,
            instance_types=types,
            min_count=counts.fewest,
            max_count=counts.most,
            region=request.region or (region_of_zone(zones[0]) if zones else None),
            availability_zones=zones,
            now=request.now,
        ),
        placement=PlacementRequest(
            placement=request.placement,
            capacity=request.capacity,
            instance_types=types,
            availability_zones=zones,
            efa_count=_efa_count(request, types, spot, subject),
            max_count=counts.most,
        ),
    )


def _resolve_types(request: FleetRequest, subject: str) -> tuple[tuple[InstanceType, ...], tuple[Finding, ...]]:
    place = f"{subject}.instance_types"
    names = request.instance_types
    if not names:
        return (), (finding("UC-API-111", place, "no instance type given", "name one, for example p5.48xlarge"),)
    if is_spelt_out(names):
        text = "".join(names)
        message = f"{text!r} is one text, a list of types is needed"
        return (), (finding("UC-API-111", place, message, f"write [{text!r}]"),)
    types: list[InstanceType] = []
    found: list[Finding] = []
    for at, name in enumerate(names):
        where = f"{subject}.instance_type" if len(names) == 1 else f"{place}[{at}]"
        try:
            types.append(instance_type(name, catalog=request.catalog, subject=where))
        except UnknownInstanceType as error:
            found.extend(error.findings)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        found.append(finding("UC-API-111", place, f"{', '.join(twice)} named twice", "name every type once"))
    return tuple(types), tuple(found)


def _counts(request: FleetRequest) -> Counts | None:
    """The size, when the request gives one in one of the two ways."""
    if any(_size_faults(request)):
        return None
    if request.count is not None:
        return Counts(fewest=request.count, most=request.count)
    if request.max_count is None:
        return None
    return Counts(fewest=request.min_count or 0, most=request.max_count)


def _size_faults(request: FleetRequest) -> Iterable[tuple[str, str]]:
    """Names of the sizes that are no whole numbers, and why."""
    sizes = {"count": request.count, "min_count": request.min_count, "max_count": request.max_count}
    for name, value in sizes.items():
        fault = None if value is None else no_whole_number(value)
        if fault is not None:
            yield name, fault


def _check_counts(request: FleetRequest, subject: str) -> Iterable[Finding]:
    place = f"{subject}.count"
    for name, fault in _size_faults(request):
        yield finding("UC-API-104", f"{subject}.{name}", fault, "give a number of instances, for example 4")
    if any(_size_faults(request)):
        return
    bounds = (request.min_count, request.max_count)
    if request.count is not None and bounds != (None, None):
        yield finding("UC-API-104", place, "count beside min_count or max_count", "give count, or the two bounds")
        return
    counts = _counts(request)
    if counts is None:
        yield finding("UC-API-104", place, "no size given", "give count, or min_count and max_count")
    elif counts.most < 1 or counts.fewest < 0:
        message = f"{counts.fewest} to {counts.most} instances is no size of a fleet"
        yield finding("UC-API-104", place, message, "use a maximum of at least 1 and a minimum of at least 0")
    elif counts.fewest > counts.most:
        message = f"min_count {counts.fewest} is above max_count {counts.most}"
        yield finding("UC-API-104", f"{subject}.min_count", message, f"lower it to {counts.most} or less")


def _check_tuning(request: FleetRequest, subject: str) -> Iterable[Finding]:
    known = (*boot_opt_ins(), *lustre_client().groups)
    for name in request.tuning:
        if name not in known:
            of_images = name in opt_ins()
            message = f"{name!r} takes a reboot, so it belongs into an image" if of_images else f"{name!r} is not known"
            fix = "ask for it in a TunedImage" if of_images else f"use {', '.join(known)}"
            yield finding("UC-API-130", f"{subject}.tuning", message, fix)


def _check_hop_limit(request: FleetRequest, subject: str) -> Iterable[Finding]:
    most = limit("metadata_hop_limit_max")
    if not 1 <= request.metadata_hop_limit <= most:
        message = f"{request.metadata_hop_limit} is not between 1 and {most}"
        fix = "use 1 on hosts, 2 where containers behind a bridge read the metadata service"
        yield finding("UC-API-110", f"{subject}.metadata_hop_limit", message, fix)


def _efa_count(request: FleetRequest, types: tuple[InstanceType, ...], spot: SpotRequest | None, subject: str) -> int:
    """Fabric devices per node as far as the request is right; 0 where it is not, so that no fault is told twice."""
    if request.network_interfaces is not None:
        return sum(item.has_efa for item in request.network_interfaces)
    if spot is not None and len(spot.availability_zones) > 1:
        return 0
    efa = request.efa if spot is None else effective_efa(spot)
    counts = [
        plan_network_interfaces(facts, efa=efa, layout=request.layout, subject=subject).efa_count
        for facts in types
        if not check_network_interfaces(facts, efa=efa, layout=request.layout, subject=subject)
    ]
    return max(counts, default=0)


def _check_interfaces(request: FleetRequest, parts: RequestParts, subject: str) -> Iterable[Finding]:
    if parts.spot is not None:
        yield from check_spot(parts.spot, subject=subject)
    if request.network_interfaces is not None:
        yield from _check_own_list(request, parts, subject)
        return
    if parts.spot is None:
        # Several types without Spot are a fault of the capacity; their interfaces are judged by the first.
        facts = parts.types[0]
        yield from check_network_interfaces(facts, efa=request.efa, layout=request.layout, subject=subject)
    yield from _check_public_ip(request, parts, subject)


def _check_own_list(request: FleetRequest, parts: RequestParts, subject: str) -> Iterable[Finding]:
    place = f"{subject}.network_interfaces"
    groups = group_by_cards(parts.types)
    if len(groups) > 1:
        names = " and ".join(group[0].name for group in groups)
        message = f"one list for {names}, which have different network cards"
        yield finding("UC-EFA-009", place, message, "leave the list out; every card layout gets its own")
        return
    entries = as_entries(request.network_interfaces or ())
    if request.associate_public_ip:
        entries = with_public_ip(entries)
    yield from check_interface_list(parts.types[0], entries, efa=request.efa, subject=place)


def _check_public_ip(request: FleetRequest, parts: RequestParts, subject: str) -> Iterable[Finding]:
    if not request.associate_public_ip:
        return
    efa = request.efa if parts.spot is None else effective_efa(parts.spot)
    for group in group_by_cards(parts.types):
        facts = group[0]
        if check_network_interfaces(facts, efa=efa, layout=request.layout, subject=subject):
            continue
        count = len(plan_network_interfaces(facts, efa=efa, layout=request.layout, subject=subject).interfaces)
        if count > 1:
            message = f"{facts.name} gets {count} interfaces, and EC2 gives public addresses to nodes with one only"
            fix = "use a private subnet with a NAT gateway, or turn EFA off with efa 0"
            yield finding("UC-NIC-006", f"{subject}.associate_public_ip", message, fix)


def _check_root_volume(request: FleetRequest, subject: str) -> tuple[Finding, ...]:
    recommended = recommended_root_gib("dlami") if isinstance(request.image, Dlami) else None
    return check_root_volume(request.root_volume, recommended_size_gib=recommended, subject=subject)


def check_fleets_together(fleets: Mapping[str, FleetPlan]) -> tuple[Finding, ...]:
    """Faults that only show between fleets.

    Args:
        fleets: the plans by subject (`fleets[0]`, ...).

    Returns:
        UC-CAP-012 when fleets ask one reservation or block for more than it holds, UC-PLC-006 when they share a
        placement group.
    """
    return (*_check_shared_reservations(fleets), *_check_shared_groups(fleets))


def _check_shared_reservations(fleets: Mapping[str, FleetPlan]) -> Iterable[Finding]:
    users: dict[str, list[str]] = {}
    for subject, plan in fleets.items():
        if plan.capacity.reservation_id is not None:
            users.setdefault(plan.capacity.reservation_id, []).append(subject)
    for reservation, subjects in users.items():
        plans = [fleets[subject] for subject in subjects]
        room = _room(plans)
        wanted = sum(plan.max_count for plan in plans)
        if len(plans) > 1 and room is not None and wanted > room:
            message = f"{' and '.join(subjects)} ask {reservation} for {wanted} instances, it holds {room}"
            fix = f"lower the maxima until their sum is {room} or less, or reserve more"
            yield finding("UC-CAP-012", f"{subjects[-1]}.count", message, fix)


def _room(plans: list[FleetPlan]) -> int | None:
    sizes = [plan.capacity.size for plan in plans if plan.capacity.size is not None]
    if sizes:
        return min(sizes)
    blocks = any(plan.capacity.kind == "capacity-block" for plan in plans)
    return limit("capacity_block_max_instances") if blocks else None


def _check_shared_groups(fleets: Mapping[str, FleetPlan]) -> Iterable[Finding]:
    users: dict[str, list[str]] = {}
    for subject, plan in fleets.items():
        if plan.placement.existing_name is not None:
            users.setdefault(plan.placement.existing_name, []).append(subject)
    for name, subjects in users.items():
        if len(subjects) > 1:
            message = f"{' and '.join(subjects)} share placement group {name}"
            fix = "give every fleet a group of its own, or accept it with a reason"
            yield finding("UC-PLC-006", f"{subjects[-1]}.placement_group", message, fix)
