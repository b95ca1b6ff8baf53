"""Bad combinations end at construction, with every fault, its value and the way out; existing things are accepted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from aws_cdk import aws_ec2 as ec2

from support.compute import data_of, imported_network, lustre, p5
from support.templates import resource_types
from ultracluster.findings import FindingsError
from ultracluster.fleet.training_fleet import TrainingFleet
from ultracluster.placement.efa_placement_group import EfaPlacementGroup
from ultracluster.plan.capacity import CapacityBlock, Reservation
from ultracluster.plan.placement import NONE, ExistingPlacementGroup
from ultracluster.plan.volumes import RootVolume

BLOCK = CapacityBlock(reservation_id="cr-0123456789abcdef0")


def refused(stack, **arguments):
    """The findings with which a fleet is refused."""
    with pytest.raises(FindingsError) as error:
        p5(stack, **arguments)
    return error.value.findings


def rule_ids(findings):
    return {found.rule_id for found in findings}


def test_everything_wrong_is_said_at_once(stack):
    findings = refused(
        stack,
        instance_type="p5.48xlarge",
        count=2,
        availability_zone="us-east-1f",
        efa=64,
        root_volume=RootVolume(throughput_mibps=1000, iops=3000),
        security_groups=[
            ec2.SecurityGroup.from_security_group_id(stack, f"Group{place}", f"sg-{place}") for place in range(6)
        ],
        auto_scaling_group_name="team/llama",
        tags={"aws:project": "llama"},
    )
    assert {"UC-API-001", "UC-API-003", "UC-API-004", "UC-EFA-002", "UC-IMG-008", "UC-NIC-009"} <= rule_ids(findings)
    assert all(found.subject.startswith("Test/Train") for found in findings)
    assert all(found.fix for found in findings)


@pytest.mark.parametrize(
    ("arguments", "rule_id"),
    [
        ({"capacity": BLOCK, "placement": ExistingPlacementGroup(name="rack-7")}, "UC-PLC-002"),
        ({"count": 8, "capacity": CapacityBlock(reservation_id=BLOCK.reservation_id, size=4)}, "UC-CAP-007"),
        ({"min_count": 1, "max_count": 4, "capacity": BLOCK}, "UC-CAP-007"),
        ({"capacity": Reservation()}, "UC-API-103"),
        ({"instance_type": "p5.49xlarge"}, "UC-SPC-010"),
        ({"associate_public_ip": True}, "UC-NIC-006"),
        ({"metadata_hop_limit": 0}, "UC-API-110"),
        ({"availability_zones": []}, "UC-API-105"),
        ({"auto_scaling_group_name": "x" * 71}, "UC-API-003"),
        ({"log_retention_days": 91}, "UC-API-007"),
        ({"tags": {f"key{place}": "" for place in range(46)}}, "UC-API-004"),
        ({"tags": {"k" * 129: "v"}}, "UC-API-004"),
        ({"tags": {"team": "v" * 257}}, "UC-API-004"),
    ],
)
def test_what_is_refused(stack, arguments, rule_id):
    assert rule_id in rule_ids(refused(stack, **arguments))


def test_a_block_that_is_over_is_refused(stack):
    findings = refused(
        stack,
        capacity=CapacityBlock(reservation_id=BLOCK.reservation_id, end=datetime(2027, 3, 1, 11, 30, tzinfo=UTC)),
        now=datetime(2027, 3, 2, tzinfo=UTC),
    )
    assert any(found.rule_id.startswith("UC-CAP") for found in findings)


def test_no_zone_is_picked_at_random(stack):
    findings = refused(stack, network=imported_network(stack, "us-east-1a", "us-east-1b"))
    (found,) = [found for found in findings if found.rule_id == "UC-API-005"]
    assert "us-east-1a, us-east-1b" in found.message
    assert found.subject == "Test/Train.availability_zone"


def test_two_ways_to_name_the_zone_are_one_too_many(stack):
    findings = refused(stack, availability_zone="us-east-1a", availability_zones=["us-east-1a"])
    assert "UC-API-002" in rule_ids(findings)


def test_two_ways_to_name_the_placement_are_one_too_many(stack):
    network = imported_network(stack)
    efa = EfaPlacementGroup(stack, "Efa", vpc=network.vpc)
    findings = refused(stack, network=network, efa_placement_group=efa, placement=NONE)
    assert "UC-API-002" in rule_ids(findings)


def test_a_given_placement_group_is_no_way_round_the_rules_of_a_block(stack):
    network = imported_network(stack)
    efa = EfaPlacementGroup(stack, "Efa", vpc=network.vpc)
    assert "UC-PLC-002" in rule_ids(refused(stack, network=network, efa_placement_group=efa, capacity=BLOCK))


def test_two_storages_at_one_path_are_refused(stack):
    with pytest.raises(FindingsError, match=r"Test/Train.*/fsx"):
        p5(stack, storage=[lustre(stack, "One"), lustre(stack, "Two")])


def test_warnings_of_the_plan_are_shown_and_do_not_stop(stack, synth):
    fleet = p5(stack, root_volume=RootVolume(size_gib=60))
    shown = [str(entry.data) for entry in fleet.node.metadata if entry.type == "aws:cdk:warning"]
    assert fleet.plan.warnings
    assert all(any(found.rule_id in text for text in shown) for found in fleet.plan.warnings)
    synth(stack)


def test_fleets_may_share_a_fabric_made_before(stack, synth):
    network = imported_network(stack)
    efa = EfaPlacementGroup(stack, "Efa", vpc=network.vpc)
    one = p5(stack, network=network, efa_placement_group=efa)
    assert one.security_group is efa.security_group
    template = synth(stack)
    assert resource_types(template)["AWS::EC2::SecurityGroup"] == 1
    assert "GroupName" in data_of(template)["Placement"]


def test_an_existing_group_with_self_rules_can_be_the_fabric(stack, synth):
    network = imported_network(stack)
    group = ec2.SecurityGroup.from_security_group_id(stack, "Given", "sg-fabric")
    efa = EfaPlacementGroup(stack, "Efa", vpc=network.vpc, security_group=group, has_self_rules=True, placement=NONE)
    TrainingFleet(stack, "Train", network=network, instance_type="p5.48xlarge", count=2, efa_placement_group=efa)
    template = synth(stack)
    data = data_of(template)
    assert all(entry["Groups"] == ["sg-fabric"] for entry in data["NetworkInterfaces"])
    assert "Placement" not in data
    assert not {"AWS::EC2::SecurityGroup", "AWS::EC2::PlacementGroup"} & set(resource_types(template))


def test_a_block_that_ended_is_held_against_the_clock_when_no_time_is_given(stack):
    ended = CapacityBlock(reservation_id=BLOCK.reservation_id, end=datetime(2024, 1, 1, 11, 30, tzinfo=UTC))
    assert "UC-CAP-018" in rule_ids(refused(stack, capacity=ended))


def test_more_file_systems_than_groups_fit_says_how_they_share_one(stack):
    storage = [lustre(stack, f"Lustre{place}", path=f"/fsx{place}") for place in range(5)]
    (found,) = refused(stack, storage=storage)
    assert found.rule_id == "UC-NIC-009"
    assert "client_security_group" in found.fix
