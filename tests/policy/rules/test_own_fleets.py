"""Fleets that this library makes pass the rules on interfaces, placement, capacity and Spot."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from support.compute import imported_network, p5
from support.fabric import of_areas
from support.policy import judged
from ultracluster.facts.instances import catalog
from ultracluster.fleet.training_fleet import TrainingFleet
from ultracluster.plan.capacity import CapacityBlock, OnDemand, Reservation
from ultracluster.plan.images import Al2023
from ultracluster.plan.network_interfaces import InterfaceLayout
from ultracluster.spot.spot_training_fleet import SpotTrainingFleet

CAPACITIES = {
    "on demand": OnDemand(),
    "reservation": Reservation(reservation_id="cr-0123456789abcdef0"),
    "group of reservations": Reservation(
        resource_group_arn="arn:aws:resource-groups:us-east-1:111122223333:group/reserved"
    ),
    "block": CapacityBlock(reservation_id="cr-0123456789abcdef0", end=datetime(2027, 3, 1, 11, 30, tzinfo=UTC)),
}


def test_every_type_of_the_catalogue(stack, synth):
    network = imported_network(stack)
    for name in catalog():
        TrainingFleet(stack, name.replace(".", "-"), network=network, instance_type=name, count=1, image=Al2023())
    outcome = judged(synth(stack), is_app=True)
    assert not of_areas(outcome)
    assert not {rule for rule in outcome.not_judged if rule.startswith(("UC-EFA", "UC-NIC-00", "UC-PLC", "UC-CAP"))}


@pytest.mark.parametrize("capacity", CAPACITIES.values(), ids=CAPACITIES)
def test_every_purchase_option(stack, synth, capacity):
    p5(stack, capacity=capacity)
    assert not of_areas(judged(synth(stack), is_app=True))


@pytest.mark.parametrize("count", [0, 1, 8, 31])
def test_fewer_fabric_devices_on_request(stack, synth, count):
    p5(stack, efa=count)
    assert not of_areas(judged(synth(stack), is_app=True))


@pytest.mark.parametrize(("layout", "ids"), [("max-bandwidth", set()), ("all-efa", {"UC-NIC-013"})])
def test_layouts(stack, synth, layout, ids):
    p5(stack, interface_layout=InterfaceLayout(layout))
    assert of_areas(judged(synth(stack), is_app=True)) == ids


@pytest.mark.parametrize("zones", [("us-east-1a",), ("us-east-1a", "us-east-1b")])
def test_spot_over_several_card_layouts(stack, synth, zones):
    types = ["p5.48xlarge", "p5en.48xlarge", "p4d.24xlarge"] if len(zones) > 1 else ["p5.48xlarge", "p5en.48xlarge"]
    SpotTrainingFleet(
        stack,
        "Spot",
        network=imported_network(stack, *zones),
        instance_types=types,
        availability_zones=zones,
        max_count=8,
    )
    outcome = judged(synth(stack), is_app=True)
    assert of_areas(outcome) <= {"UC-PLC-006"}
    assert not {rule for rule in outcome.not_judged if rule.startswith("UC-SPT")}
