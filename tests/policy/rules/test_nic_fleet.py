"""UC-NIC-010, UC-NIC-011, UC-NIC-013: interface lists beside whoever launches from them."""

from __future__ import annotations

import pytest

from support.fabric import (
    batch,
    entry,
    group,
    launch_template,
    min_ip,
    named,
    node_group,
    own_ids,
    pcs,
    subnet,
    template,
)
from support.policy import assert_finds, assert_not_judged, assert_passes

P4D = min_ip(range(4))
CONSUMERS = {"Auto Scaling": group, "EKS": node_group, "PCS": pcs, "Batch": batch}
A, B = {"Ref": "A"}, {"Ref": "B"}


@pytest.fixture(params=CONSUMERS.values(), ids=CONSUMERS)
def consumer(request):
    return request.param


# UC-NIC-010


def nodes(interfaces, consumer, subnets=(A,), **more):
    found = template(Lt=launch_template(interfaces, "p4d.24xlarge"), Nodes=consumer(subnets), **more)
    if consumer in {pcs, batch}:  # their types come first
        del found["Resources"]["Lt"]["Properties"]["LaunchTemplateData"]["InstanceType"]
        found["Resources"]["Nodes"] = consumer(subnets, types=["p4d.24xlarge"])
    return found


def test_public_subnets(consumer):
    found = nodes(P4D, consumer, A=subnet(MapPublicIpOnLaunch="true"))
    assert_finds("UC-NIC-010", found, place="[0]: A has MapPublicIpOnLaunch")
    assert own_ids(found) == {"UC-NIC-010"}


@pytest.mark.parametrize("more", [{}, {"MapPublicIpOnLaunch": False}, {"MapPublicIpOnLaunch": {"Ref": "AWS::NoValue"}}])
def test_private_subnets(consumer, more):
    assert_passes("UC-NIC-010", nodes(P4D, consumer, A=subnet(**more)))


def test_a_single_interface_may_be_public(consumer):
    interfaces = [entry(0, 0, "interface", AssociatePublicIpAddress=True)]
    assert_passes("UC-NIC-010", nodes(interfaces, consumer, A=subnet(MapPublicIpOnLaunch=True)))


@pytest.mark.parametrize("subnets", [({"Ref": "Unknown"},), {"Ref": "Unknown"}, ("subnet-0123456789abcdef0",)])
def test_subnets_of_elsewhere_are_not_judged(consumer, subnets):
    found = {**nodes(P4D, consumer, subnets), "Parameters": {"Unknown": {"Type": "String"}}}
    assert_not_judged("UC-NIC-010", found)


def test_public_subnet_and_several_interfaces_under_opposite_conditions():
    single = [entry(0, 0, "interface")]

    def made(first, second):
        return template(
            {"Public": {"Type": "String", "Default": ""}},
            {"IsPublic": {"Fn::Equals": [{"Ref": "Public"}, "yes"]}},
            Lt=launch_template({"Fn::If": ["IsPublic", first, second]}, "p4d.24xlarge"),
            Nodes=group((A,)),
            A=subnet(MapPublicIpOnLaunch={"Fn::If": ["IsPublic", True, False]}),
        )

    assert_passes("UC-NIC-010", made(single, P4D))
    assert own_ids(made(P4D, single)) == {"UC-NIC-010"}


# UC-NIC-011


def with_subnet(value):
    return launch_template([{**item, "SubnetId": value} for item in P4D], "p4d.24xlarge")


@pytest.mark.parametrize(
    ("value", "subnets", "place"),
    [
        (A, (A, B), "NetworkInterfaces[0].SubnetId: !Ref A in an interface, Nodes launches into 2 subnets"),
        (A, (B,), "Nodes launches into !Ref B"),
        ("subnet-0123456789abcdef0", ("subnet-0123456789abcdef1",), "subnet-0123456789abcdef0 in an interface"),
    ],
)
def test_subnets_that_fight_the_fleet(value, subnets, place):
    found = template(Lt=with_subnet(value), Nodes=group(subnets), A=subnet(), B=subnet())
    assert_finds("UC-NIC-011", found, place=place)
    assert own_ids(found) == {"UC-NIC-011"}


def test_the_only_subnet_of_the_fleet():
    assert_passes("UC-NIC-011", template(Lt=with_subnet(A), Nodes=group((A,)), A=subnet()))
    assert_passes(
        "UC-NIC-011", template(Lt=launch_template(P4D, "p4d.24xlarge"), Nodes=group((A, B)), A=subnet(), B=subnet())
    )


@pytest.mark.parametrize("consumer", [node_group, batch])
def test_consumers_with_a_rule_of_their_own(consumer):
    assert "UC-NIC-011" not in own_ids(template(Lt=with_subnet(A), Nodes=consumer((A, B)), A=subnet(), B=subnet()))


def test_a_launch_call_may_choose():
    instance = {"Type": "AWS::EC2::Instance", "Properties": {"LaunchTemplate": named(), "InstanceType": "p4d.24xlarge"}}
    assert_passes("UC-NIC-011", template(Lt=with_subnet(A), Nodes=instance, A=subnet()))


@pytest.mark.parametrize("subnets", [({"Ref": "Unknown"},), {"Ref": "Unknown"}])
def test_a_fleet_in_unknown_subnets_is_not_judged(subnets):
    found = template({"Unknown": {"Type": "String"}}, Lt=with_subnet(A), Nodes=group(subnets), A=subnet())
    assert_not_judged("UC-NIC-011", found)


# UC-NIC-013

ALL_EFA = [entry(card, 1 if card else 0, "efa") for card in range(4)]


@pytest.mark.parametrize("consumer", [group, node_group, batch])
def test_an_address_for_every_fabric_device(consumer):
    found = nodes(ALL_EFA, consumer, ("subnet-0123456789abcdef0",))
    assert_finds("UC-NIC-013", found, place="NetworkInterfaces[1].InterfaceType: 4 efa entries take 4 addresses")
    assert own_ids(found) == {"UC-NIC-013"}


def test_pcs_needs_efa():
    assert_passes("UC-NIC-013", nodes(ALL_EFA, pcs))


@pytest.mark.parametrize("interfaces", [P4D, [entry(0, 0, "efa"), *[entry(card, 0, "efa-only") for card in (1, 2, 3)]]])
def test_one_address_per_node(interfaces):
    assert_passes("UC-NIC-013", nodes(interfaces, group))


def test_a_single_fabric_device_is_the_primary_interface():
    assert_passes("UC-NIC-013", template(Lt=launch_template([entry()], "g6.48xlarge"), Nodes=group()))


def test_a_list_that_nobody_launches_is_not_judged():
    assert_not_judged("UC-NIC-013", template(Lt=launch_template(ALL_EFA, "p4d.24xlarge")))


def test_a_type_without_facts_is_not_judged():
    assert_not_judged("UC-NIC-013", template(Lt=launch_template(ALL_EFA, "c5n.18xlarge"), Nodes=group()))
