"""Cases C14-C17 over synthesized templates: placement groups and reserved capacity."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from support.compute import data_of, group_of, imported_network, p5
from support.templates import resource_types, resources
from ultracluster.findings import FindingsError
from ultracluster.plan.capacity import CapacityBlock, OnDemand, Reservation
from ultracluster.plan.placement import ExistingPlacementGroup

RESERVATION = "cr-0123456789abcdef0"


def test_c14_a_reservation_outside_a_group_gets_no_placement_group(stack, synth):
    p5(stack, capacity=Reservation(reservation_id=RESERVATION))
    template = synth(stack)
    assert resource_types(template)["AWS::EC2::PlacementGroup"] == 0
    assert "Placement" not in data_of(template)


def test_c14_an_existing_group_is_used_as_it_is(stack, synth):
    p5(stack, capacity=Reservation(reservation_id=RESERVATION), placement=ExistingPlacementGroup(name="rack-7"))
    template = synth(stack)
    assert resource_types(template)["AWS::EC2::PlacementGroup"] == 0
    assert data_of(template)["Placement"] == {"GroupName": "rack-7"}


def test_c14_on_demand_fleets_in_one_zone_get_a_group_of_their_own(stack, synth):
    p5(stack, capacity=OnDemand())
    template = synth(stack)
    (name,) = resources(template, "AWS::EC2::PlacementGroup")
    assert data_of(template)["Placement"] == {"GroupName": {"Ref": name}}


def test_c15_a_targeted_reservation_has_no_market_type(stack, synth):
    p5(stack, capacity=Reservation(reservation_id=RESERVATION))
    data = data_of(synth(stack))
    assert data["CapacityReservationSpecification"]["CapacityReservationTarget"] == {
        "CapacityReservationId": RESERVATION
    }
    assert "InstanceMarketOptions" not in data


def test_c15_a_capacity_block_has_market_type_and_target_and_no_group(stack, synth):
    p5(stack, capacity=CapacityBlock(reservation_id=RESERVATION))
    template = synth(stack)
    data = data_of(template)
    assert data["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
    assert data["CapacityReservationSpecification"]["CapacityReservationTarget"] == {
        "CapacityReservationId": RESERVATION
    }
    assert "Placement" not in data
    assert resource_types(template)["AWS::EC2::PlacementGroup"] == 0


def test_c15_an_id_alone_does_not_say_what_it_reserves(stack):
    with pytest.raises((FindingsError, TypeError), match=r"Reservation|CapacityBlock|capacity"):
        p5(stack, capacity=RESERVATION)


def test_c16_market_type_and_target_come_together_and_without_spot_options(stack, synth):
    end = datetime(2027, 3, 1, 11, 30, tzinfo=UTC)
    p5(stack, capacity=CapacityBlock(reservation_id=RESERVATION, end=end), now=datetime(2027, 2, 1, tzinfo=UTC))
    template = synth(stack)
    data = data_of(template)
    assert data["InstanceMarketOptions"]["MarketType"] == "capacity-block"
    assert data["CapacityReservationSpecification"]["CapacityReservationTarget"]
    assert "SpotOptions" not in data["InstanceMarketOptions"]
    group = group_of(template)
    assert "MixedInstancesPolicy" not in group
    assert group["MinSize"] == group["MaxSize"] == "4"


@pytest.mark.parametrize("reservation_id", ["", "cr-", "block-7"])
def test_c16_a_block_without_a_reservation_is_refused(stack, reservation_id):
    with pytest.raises(FindingsError, match="reservation_id"):
        p5(stack, capacity=CapacityBlock(reservation_id=reservation_id))


ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")


def test_c17_a_cluster_group_over_three_zones_is_refused(stack):
    with pytest.raises(FindingsError, match=r"UC-EFA-007|UC-PLC-001"):
        p5(stack, network=imported_network(stack, *ZONES), availability_zones=ZONES)


def test_c17_without_efa_a_group_over_three_zones_is_refused_all_the_same(stack):
    with pytest.raises(FindingsError, match="UC-PLC-001"):
        p5(
            stack,
            network=imported_network(stack, *ZONES),
            availability_zones=ZONES,
            efa=0,
            placement=ExistingPlacementGroup(name="rack-7"),
        )


def test_c17_a_network_over_three_zones_asks_for_the_zone(stack):
    with pytest.raises(FindingsError, match=r"availability_zone: .*us-east-1a, us-east-1b, us-east-1c.*UC-API-005"):
        p5(stack, network=imported_network(stack, *ZONES))


def test_c17_the_named_zone_is_the_only_one_of_the_group(stack, synth):
    p5(stack, network=imported_network(stack, *ZONES), availability_zone="us-east-1c")
    assert group_of(synth(stack))["VPCZoneIdentifier"] == ["subnet-us-east-1c"]
