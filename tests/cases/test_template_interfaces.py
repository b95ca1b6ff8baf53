"""Cases C01-C10 over synthesized templates: network interfaces, public addresses, security groups."""

from __future__ import annotations

import json

import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks as eks

from support.compute import data_of, imported_network, p5
from support.efa_rule import efa_entries, efa_faults, kind, self_rules
from support.templates import launch_template_data, only, resources
from ultracluster.facts.instances import catalog
from ultracluster.findings import FindingsError
from ultracluster.fleet.training_fleet import TrainingFleet
from ultracluster.plan.capacity import CapacityBlock
from ultracluster.plan.images import Al2023, Ami
from ultracluster.plan.network_interfaces import InterfaceLayout, NetworkInterface


def fleet_data(stack, synth, name, **arguments):
    """The launch template of a small fleet of one type."""
    TrainingFleet(
        stack, "Train", network=imported_network(stack), instance_type=name, count=2, image=Al2023(), **arguments
    )
    return data_of(synth(stack))


def places(data):
    return [(entry["NetworkCardIndex"], entry["DeviceIndex"]) for entry in data["NetworkInterfaces"]]


@pytest.mark.parametrize("layout", [InterfaceLayout.MIN_IP, InterfaceLayout.ALL_EFA])
def test_c01_p5_uses_all_cards_and_no_device_above_one(stack, synth, layout):
    data = fleet_data(stack, synth, "p5.48xlarge", interface_layout=layout)
    devices = efa_entries(data["NetworkInterfaces"])
    assert len(devices) == 32
    assert {entry["NetworkCardIndex"] for entry in devices} == set(range(32))
    assert max(device for _, device in places(data)) == 1


def test_c01_a_list_that_counts_devices_upwards_is_refused(stack):
    upwards = [NetworkInterface(card=index, device=index, kind="efa") for index in range(32)]
    with pytest.raises(FindingsError, match=r"UC-NIC-004") as error:
        p5(stack, network_interfaces=upwards)
    assert "device 2" in str(error.value)


def test_c02_p6_b300_has_its_fabric_on_cards_1_to_16(stack, synth):
    data = fleet_data(stack, synth, "p6-b300.48xlarge")
    devices = efa_entries(data["NetworkInterfaces"])
    assert sorted(entry["NetworkCardIndex"] for entry in devices) == list(range(1, 17))
    assert kind(data["NetworkInterfaces"][0]) == "interface"


def test_c02_fabric_on_card_0_of_a_p6_b300_is_refused(stack):
    on_card_0 = [NetworkInterface(card=card, device=0, kind="efa") for card in range(17)]
    with pytest.raises(FindingsError, match=r"UC-EFA-00[24]|UC-EFA-009"):
        p5(stack, instance_type="p6-b300.48xlarge", network_interfaces=on_card_0)


@pytest.mark.parametrize(("name", "count"), [("trn2.48xlarge", 16), ("trn1.32xlarge", 8), ("trn1n.32xlarge", 16)])
def test_c03_trainium_gets_its_whole_fabric(stack, synth, name, count):
    data = fleet_data(stack, synth, name)
    assert len(efa_entries(data["NetworkInterfaces"])) == count
    assert efa_faults(catalog()[name], data) == []


def test_c04_every_entry_of_a_p4d_names_its_card(stack, synth):
    data = fleet_data(stack, synth, "p4d.24xlarge")
    assert all("NetworkCardIndex" in entry for entry in data["NetworkInterfaces"])
    assert sorted(entry["NetworkCardIndex"] for entry in efa_entries(data["NetworkInterfaces"])) == [0, 1, 2, 3]


def test_c05_the_primary_interface_of_a_p5en_has_an_address_and_card_0_its_fabric(stack, synth):
    data = fleet_data(stack, synth, "p5en.48xlarge")
    assert len(efa_entries(data["NetworkInterfaces"])) == 16
    by_place = dict(zip(places(data), data["NetworkInterfaces"], strict=True))
    assert kind(by_place[0, 0]) == "interface"
    assert kind(by_place[0, 1]) == "efa-only"


def test_c05_efa_only_as_primary_interface_is_refused(stack):
    everywhere = [NetworkInterface(card=card, device=0, kind="efa-only") for card in range(16)]
    with pytest.raises(FindingsError, match="UC-NIC-001"):
        p5(stack, instance_type="p5en.48xlarge", network_interfaces=everywhere)


def test_c06_a_public_address_beside_several_interfaces_is_refused(stack):
    with pytest.raises(FindingsError, match=r"UC-NIC-006") as error:
        p5(stack, instance_type="p4d.24xlarge", associate_public_ip=True)
    assert "private subnet" in str(error.value)


@pytest.mark.parametrize("name", ["p4d.24xlarge", "p5.4xlarge", "g6e.48xlarge"])
def test_c06_no_address_property_stands_on_an_efa_only_entry(stack, synth, name):
    entries = fleet_data(stack, synth, name)["NetworkInterfaces"]
    written = {key for entry in entries if kind(entry) == "efa-only" for key in entry}
    assert written == {"DeleteOnTermination", "DeviceIndex", "Groups", "InterfaceType", "NetworkCardIndex"}
    assert not any(entry.get("AssociatePublicIpAddress") for entry in entries)


def test_c07_groups_stand_inside_the_entries_only(stack, synth):
    own = ec2.SecurityGroup.from_security_group_id(stack, "Own", "sg-own")
    data = fleet_data(stack, synth, "p5.48xlarge", security_groups=[own])
    assert not {"SecurityGroupIds", "SecurityGroups"} & set(data)
    assert all(entry["Groups"] for entry in data["NetworkInterfaces"])
    assert "sg-own" in data["NetworkInterfaces"][0]["Groups"]


def test_c08_no_entry_names_a_subnet_so_that_a_node_group_takes_the_template(stack, synth):
    """The launch template of a fleet is usable where the consumer decides on subnets, as EKS does."""
    network = imported_network(stack)
    fleet = TrainingFleet(stack, "Train", network=network, instance_type="p4de.24xlarge", count=2, image=Al2023())
    eks.CfnNodegroup(
        stack,
        "Nodes",
        cluster_name="training",
        node_role="arn:aws:iam::111122223333:role/node",
        subnets=[network.fleet_subnet("us-east-1a").subnet_id],
        launch_template=eks.CfnNodegroup.LaunchTemplateSpecificationProperty(
            id=fleet.launch_template.ref, version=fleet.launch_template.attr_latest_version_number
        ),
    )
    template = synth(stack)
    assert not any("SubnetId" in entry for entry in data_of(template)["NetworkInterfaces"])
    assert only(template, "AWS::EKS::Nodegroup")["Subnets"] == ["subnet-us-east-1a"]


def test_c09_every_fabric_device_carries_the_group_with_the_self_rules(stack, synth):
    cluster = ec2.SecurityGroup.from_security_group_id(stack, "Cluster", "sg-cluster")
    p5(stack, security_groups=[cluster])
    template = synth(stack)
    for entry in efa_entries(data_of(template)["NetworkInterfaces"]):
        rules = [self_rules(template, group) for group in entry["Groups"]]
        assert {"Ingress", "Egress"} in rules


@pytest.mark.parametrize("name", sorted(catalog()))
def test_c09_holds_for_every_type(make_app, synth, name):
    import aws_cdk as cdk

    stack = cdk.Stack(make_app(), "Test")
    TrainingFleet(stack, "Train", network=imported_network(stack), instance_type=name, count=1, image=Al2023())
    template = synth(stack)
    (group,) = resources(template, "AWS::EC2::SecurityGroup")
    assert self_rules(template, {"Ref": group}) == {"Ingress", "Egress"}
    for entry in launch_template_data(template)[0]["NetworkInterfaces"]:
        assert {"Ref": group} in entry["Groups"]


def test_c10_the_self_egress_rule_is_not_swallowed(app, stack, synth):
    """Whatever else is open, both self rules are resources, and CDK has no reason to warn that it drops one."""
    fleet = p5(stack)
    fleet.connections.allow_to_any_ipv4(ec2.Port.all_traffic())
    fleet.connections.allow_internally(ec2.Port.all_traffic())
    template = synth(stack)
    (group,) = resources(template, "AWS::EC2::SecurityGroup")
    assert self_rules(template, {"Ref": group}) == {"Ingress", "Egress"}
    for rule in ("SelfIngress", "SelfEgress"):
        made = next(key for key in template["Resources"] if rule in key)
        assert template["Resources"][made]["Properties"]["IpProtocol"] == "-1"
    metadata = json.dumps([entry.data for node in app.node.find_all() for entry in node.node.metadata], default=str)
    assert "Ignoring Egress rule" not in metadata


def test_c12_gb200_puts_device_0_on_its_odd_cards_and_no_efa_on_card_0(stack, synth):
    zone = "us-east-1-dfw-2a"
    TrainingFleet(
        stack,
        "Train",
        network=imported_network(stack, zone),
        instance_type="p6e-gb200.36xlarge",
        count=2,
        capacity=CapacityBlock(reservation_id="cr-0123456789abcdef0"),
        image=Ami(ami_id="ami-0123456789abcdef0", os="al2023", root_device_name="/dev/xvda"),
    )
    entries = data_of(synth(stack))["NetworkInterfaces"]
    odd = [entry for entry in entries if entry["NetworkCardIndex"] % 2]
    assert odd
    assert {entry["DeviceIndex"] for entry in odd} == {0}
    assert {kind(entry) for entry in odd} == {"efa-only"}
    assert all(entry["NetworkCardIndex"] for entry in efa_entries(entries))
