"""Examples of fleets: instance types, zones, ids, and what hypothesis draws from."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from ultracluster.facts.instances import InstanceType, NetworkCard, catalog
from ultracluster.findings import Finding, FindingsError
from ultracluster.plan.fleet import FleetRequest
from ultracluster.plan.network_interfaces import InterfaceLayout, check_network_interfaces, plan_network_interfaces

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


def fleet(**changes: object) -> FleetRequest:
    """Two p5.48xlarge in one zone, with changes."""
    request = FleetRequest(
        name="train", instance_types=("p5.48xlarge",), availability_zones=("us-east-1a",), count=2
    )
    if "max_count" in changes:
        changes = {"count": None, **changes}
    return replace(request, **changes)
