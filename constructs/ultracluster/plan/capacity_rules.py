"""Rules on reservations, Capacity Blocks and the size of the fleet that draws on them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from ultracluster.facts.compute_limits import limit, limit_list
from ultracluster.findings import Finding, finding
from ultracluster.plan.capacity_options import CapacityBlock, OnDemand, Reservation, Spot
from ultracluster.plan.references import RESERVATION_ID, RESOURCE_GROUP_ARN, well_formed
from ultracluster.plan.zones import region_of_zone

if TYPE_CHECKING:
    from ultracluster.facts.instances import InstanceType
    from ultracluster.plan.capacity import CapacityRequest

__all__ = ["capacity_findings", "check_block_reference", "scale_in_lead"]

# EC2 starts to end the instances of a block 30 minutes before its end; five more let the group drain before that.
_BLOCK_MARGIN = timedelta(minutes=5)
# An UltraServer is reclaimed 60 minutes before the end and warned of ten minutes earlier: act when it is warned.
_ULTRASERVER_MARGIN = timedelta(minutes=10)


def scale_in_lead(instance_types: tuple[InstanceType, ...]) -> timedelta:
    """How long before the end of a Capacity Block the fleet is scaled in: 35 minutes, 70 for UltraServers."""
    alone = limit_list("ultraserver_instance_types")
    if any(facts.ultraservers or facts.name in alone for facts in instance_types):
        return timedelta(minutes=limit("ultraserver_reclaim_minutes")) + _ULTRASERVER_MARGIN
    return timedelta(minutes=limit("capacity_block_reclaim_minutes")) + _BLOCK_MARGIN


def capacity_findings(request: CapacityRequest, subject: str) -> tuple[Finding, ...]:
    """All faults of a capacity request; `subject` is the fleet's path."""
    # Whoever calls without types may hand over a bare id: it is told so, instead of failing on an attribute.
    capacity: object = request.capacity
    match capacity:
        case CapacityBlock() as block:
            return (
                *check_block_reference(block, subject),
                *_check_block_types(request, subject),
                *_check_block_size(request, block, subject),
                *_check_block_end(request, block, subject),
            )
        case Reservation() as reservation:
            return (
                *_check_reservation_reference(reservation, subject),
                *_check_one_type(request, "a reservation", subject),
                *_check_reservation_size(request, reservation, subject),
            )
        case OnDemand():
            return (*_check_one_type(request, "On-Demand capacity", subject), *_check_sold_on_demand(request, subject))
        case Spot():
            return ()
        case _:
            return (_kind_unknown(capacity, subject),)


def _kind_unknown(capacity: object, subject: str) -> Finding:
    message = f"{capacity!r} does not say what kind of capacity it is, and ids of reservations and blocks look alike"
    fix = "state the kind: reservation, capacity-block, on-demand or spot"
    return finding("UC-CAP-001", f"{subject}.capacity", message, fix)


def check_block_reference(block: CapacityBlock, subject: str) -> tuple[Finding, ...]:
    """UC-CAP-002 and UC-API-103: the block is named, and in the form of an id; `subject` is the fleet's path."""
    place = f"{subject}.capacity.reservation_id"
    if not block.reservation_id:
        message = "a Capacity Block without its id has a market type and nothing to draw on"
        return (finding("UC-CAP-002", place, message, "name the block, cr- and 17 hexadecimal digits"),)
    return _check_id(block.reservation_id, place)


def _check_id(reservation_id: str, place: str) -> tuple[Finding, ...]:
    if well_formed(reservation_id, RESERVATION_ID):
        return ()
    fix = "write cr- and 17 hexadecimal digits, for example cr-0123456789abcdef0"
    return (finding("UC-API-103", place, f"{reservation_id!r} is no capacity reservation id", fix),)


def _check_block_types(request: CapacityRequest, subject: str) -> tuple[Finding, ...]:
    place = f"{subject}.capacity"
    if len(request.instance_types) > 1:
        names = ", ".join(facts.name for facts in request.instance_types)
        message = f"a Capacity Block holds one instance type, {names} would need a mixed instances policy"
        return (finding("UC-CAP-009", place, message, "name the type of the block alone"),)
    return _check_block_sold(request, request.instance_types[0], place)


def _check_block_sold(request: CapacityRequest, facts: InstanceType, place: str) -> tuple[Finding, ...]:
    if "capacity-block" not in facts.purchase_options:
        message = f"{facts.name} is not sold as a Capacity Block"
        return (finding("UC-CAP-006", place, message, "take another purchase option or another type"),)
    regions, local_zones = facts.capacity_block_regions, facts.capacity_block_local_zones
    if not regions and not local_zones:
        return ()
    where = [zone for zone in request.availability_zones if not _sold_in_zone(zone, facts)]
    if not request.availability_zones and request.region is not None and request.region not in regions:
        where = [request.region]
    if not where:
        return ()
    message = f"{facts.name} is not listed as a Capacity Block in {', '.join(where)}"
    fix = f"use one of {', '.join((*regions, *local_zones))}, or a block that the preflight has seen"
    return (finding("UC-CAP-006", place, message, fix),)


def _sold_in_zone(zone: str, facts: InstanceType) -> bool:
    """A Local Zone has its own list; any other zone follows its Region. A name of another form is not judged here."""
    region = region_of_zone(zone)
    if region is None:
        return True
    is_local = len(zone) > len(region) + 1
    return zone in facts.capacity_block_local_zones if is_local else region in facts.capacity_block_regions


def _check_block_size(request: CapacityRequest, block: CapacityBlock, subject: str) -> tuple[Finding, ...]:
    most = limit("capacity_block_max_instances")
    size_place = f"{subject}.capacity.size"
    if block.size is not None and not 1 <= block.size <= most:
        message = f"{block.size} is no size of a Capacity Block (1 to {most} instances)"
        return (finding("UC-CAP-007", size_place, message, "give the number of instances that the block holds"),)
    sizes = sorted({server.instances for facts in request.instance_types for server in facts.ultraservers})
    if block.size is not None and sizes and block.size not in sizes:
        message = f"{block.size} is no UltraServer of {request.instance_types[0].name}"
        fix = f"a block holds {' or '.join(map(str, sizes))} instances"
        return (finding("UC-CAP-015", size_place, message, fix),)
    found: list[Finding] = []
    if request.min_count != request.max_count:
        message = f"{request.min_count} to {request.max_count} instances, a block has one size until it ends"
        fix = f"set count to one number, for example {min(request.max_count, block.size or most)}"
        found.append(finding("UC-CAP-007", f"{subject}.count", message, fix))
    room = most if block.size is None else block.size
    if request.max_count > room:
        found.append(_too_many(request, block, room, subject))
    return tuple(found)


def _too_many(request: CapacityRequest, block: CapacityBlock, room: int, subject: str) -> Finding:
    name = request.instance_types[0].name
    where = f"capacity block {block.reservation_id} ({room} instances)"
    if block.size is None:
        where = f"one capacity block (at most {room} instances)"
    message = f"{request.max_count} x {name} do not fit {where}"
    fix = f"set count to {room} or less, or add a fleet on a second block"
    return finding("UC-CAP-007", f"{subject}.count", message, fix)


def _check_block_end(request: CapacityRequest, block: CapacityBlock, subject: str) -> tuple[Finding, ...]:
    place = f"{subject}.capacity.end"
    if block.end is None:
        message = "the end of the block is not given, so nothing stops the jobs before EC2 takes the instances away"
        fix = "give the end that EC2 shows for the block, for example 2027-03-01T11:30:00+00:00"
        return (finding("UC-CAP-011", place, message, fix),)
    if block.end.tzinfo is None or block.end.utcoffset() is None:
        message = f"{block.end.isoformat()} has no time zone"
        return (finding("UC-API-115", place, message, f"write {block.end.isoformat()}+00:00 for UTC"),)
    if request.now is not None and block.end - scale_in_lead(request.instance_types) <= request.now:
        message = f"the block ends at {block.end.isoformat()}, which leaves no time to run"
        return (finding("UC-CAP-018", place, message, "name a block that is active or scheduled, or remove the fleet"),)
    return ()


def _check_reservation_reference(reservation: Reservation, subject: str) -> tuple[Finding, ...]:
    place = f"{subject}.capacity"
    by_id, by_group = reservation.reservation_id, reservation.resource_group_arn
    if (by_id is None) == (by_group is None):
        message = "a reservation is named by its id or by a resource group, " + (
            "not by both" if by_id else "one of them"
        )
        return (finding("UC-API-103", place, message, "give reservation_id or resource_group_arn"),)
    if by_id is not None:
        return _check_id(by_id, f"{place}.reservation_id")
    if by_group is not None and not well_formed(by_group, RESOURCE_GROUP_ARN):
        message = f"{by_group!r} is no ARN of a resource group"
        fix = "write arn:aws:resource-groups:REGION:ACCOUNT:group/NAME"
        return (finding("UC-API-103", f"{place}.resource_group_arn", message, fix),)
    return ()


def _check_reservation_size(request: CapacityRequest, reservation: Reservation, subject: str) -> tuple[Finding, ...]:
    if reservation.size is not None and reservation.size < 1:
        message = f"{reservation.size} is no size of a reservation"
        fix = "give the number of instances reserved, or leave it out"
        return (finding("UC-CAP-012", f"{subject}.capacity.size", message, fix),)
    overflows = reservation.resource_group_arn is not None and not reservation.strict
    if reservation.size is None or overflows or request.max_count <= reservation.size:
        return ()
    message = f"{request.max_count} instances at most, the reservation holds {reservation.size}"
    fix = f"set the maximum to {reservation.size} or reserve more"
    return (finding("UC-CAP-012", f"{subject}.max_count", message, fix),)


def _check_one_type(request: CapacityRequest, what: str, subject: str) -> tuple[Finding, ...]:
    if len(request.instance_types) <= 1:
        return ()
    names = ", ".join(facts.name for facts in request.instance_types)
    message = f"{names} on {what}, which takes one instance type per fleet"
    fix = "make one fleet per type, or use Spot for several types"
    return (finding("UC-API-102", f"{subject}.instance_types", message, fix),)


def _check_sold_on_demand(request: CapacityRequest, subject: str) -> tuple[Finding, ...]:
    return tuple(
        finding(
            "UC-CAP-019",
            f"{subject}.capacity",
            f"{facts.name} is not listed as On-Demand ({', '.join(facts.purchase_options)})",
            "use one of these, or confirm with AWS",
        )
        for facts in request.instance_types
        if facts.purchase_options and "on-demand" not in facts.purchase_options
    )
