"""Examples of fleets: instance types, zones, ids, and what hypothesis draws from."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import strategies as st

from ultracluster.facts.instances import InstanceType, NetworkCard, catalog
from ultracluster.findings import Finding, FindingsError
from ultracluster.plan.capacity_options import Capacity, CapacityBlock, OnDemand, Reservation, Spot
from ultracluster.plan.fleet import FleetRequest
from ultracluster.plan.image_options import Dlami
from ultracluster.plan.network_interfaces import InterfaceLayout, check_network_interfaces, plan_network_interfaces
from ultracluster.plan.placement import AUTO, NONE
from ultracluster.plan.volumes import RootVolume

RESERVATION_ID = "cr-0123456789abcdef0"
GROUP_ARN = "arn:aws:resource-groups:us-east-1:111122223333:group/training"
ALL_TYPES = tuple(catalog().values())
LAYOUTS = tuple(InterfaceLayout)
SUBJECT = "fleets[0]"


def ids(findings: tuple[Finding, ...] | FindingsError) -> list[str]:
    """The rule ids of findings, in their order."""
    return [found.rule_id for found in (findings.findings if isinstance(findings, FindingsError) else findings)]


def has_layout(facts: InstanceType, layout: InterfaceLayout) -> bool:
    """Whether the type can have the layout."""
    return not check_network_interfaces(facts, layout=layout, subject=SUBJECT)


@st.composite
def wishes(
    draw: st.DrawFn, among: tuple[InstanceType, ...] = ALL_TYPES
) -> tuple[InstanceType, int | None, InterfaceLayout]:
    """A type, a number of fabric devices and a layout that go together."""
    facts = draw(st.sampled_from(among))
    layout = draw(st.sampled_from([layout for layout in LAYOUTS if has_layout(facts, layout)]))
    full = plan_network_interfaces(facts, layout=layout, subject=SUBJECT).efa_count
    return facts, draw(st.none() | st.integers(0, full)), layout


@st.composite
def new_types(draw: st.DrawFn) -> InstanceType:
    """A type that no catalogue has: any number of cards, of any kind and size."""
    efa = ("interface", "efa", "efa-only")
    kinds = st.sampled_from([("interface",), efa, ("efa-only",), ("interface", "efa")])
    first = draw(st.sampled_from([("interface",), efa, ("interface", "efa")]))
    rest = draw(st.lists(kinds, max_size=20))
    cards = tuple(
        NetworkCard(
            index=index,
            interface_types=kind,
            max_interfaces=draw(st.none() | st.integers(1 if index else 2, 15)),
            peak_gbps=100.0,
        )
        for index, kind in enumerate([first, *rest])
    )
    carrying = sum(card.carries_efa for card in cards)
    return replace(
        ALL_TYPES[0],
        name="x9.48xlarge",
        network_cards=cards,
        max_network_interfaces=200,
        max_efa_interfaces=draw(st.integers(0, carrying)),
        efa_on_card0=cards[0].carries_efa,
        documented_layouts={},
        confidence={},
    )


_END = datetime(2027, 3, 1, 11, 30, tzinfo=UTC)


@st.composite
def _capacities(draw: st.DrawFn, facts: InstanceType, count: int) -> Capacity:
    """A purchase option under which the type is sold."""
    block = CapacityBlock(reservation_id=RESERVATION_ID, end=draw(st.sampled_from([None, _END])))
    choices: list[Capacity] = [
        OnDemand(),
        Reservation(reservation_id=RESERVATION_ID, size=draw(st.sampled_from([None, count, count + 1]))),
        Reservation(resource_group_arn=GROUP_ARN, strict=draw(st.booleans())),
    ]
    if "capacity-block" in facts.purchase_options:
        choices.append(block)
    if "spot" in facts.purchase_options:
        choices.append(Spot(on_demand_base_count=draw(st.integers(0, count))))
    return draw(st.sampled_from(choices))


def _zone(facts: InstanceType) -> str:
    """A zone in which the type is sold, as a Capacity Block too."""
    if facts.capacity_block_local_zones and not facts.capacity_block_regions:
        return facts.capacity_block_local_zones[0]
    return f"{(*facts.capacity_block_regions, 'us-east-1')[0]}a"


@st.composite
def right_requests(draw: st.DrawFn) -> FleetRequest:
    """A fleet request without a fault."""
    facts, efa, layout = draw(wishes())
    count = draw(st.integers(1, 64))
    system = draw(st.sampled_from(["al2023", "ubuntu-24.04"]))
    throughput = draw(st.none() | st.integers(125, 2000))
    return FleetRequest(
        name="train",
        instance_types=(facts.name,),
        availability_zones=(_zone(facts),),
        count=count,
        capacity=draw(_capacities(facts, count)),
        efa=efa,
        layout=layout,
        placement=draw(st.sampled_from([AUTO, NONE])),
        image=Dlami(os=system),
        root_volume=RootVolume(throughput_mibps=throughput),
    )


def fleet(**changes: object) -> FleetRequest:
    """Two p5.48xlarge in one zone, with changes."""
    request = FleetRequest(name="train", instance_types=("p5.48xlarge",), availability_zones=("us-east-1a",), count=2)
    if "max_count" in changes:
        changes = {"count": None, **changes}
    return replace(request, **changes)
