"""Rules between the servers and the clients of a file system."""

from __future__ import annotations

import pytest
from aws_cdk import aws_ec2 as ec2

from support.groups import rules
from support.templates import all_properties
from ultracluster.plan.lustre import PortRange
from ultracluster.storage.security_groups import StorageSecurityGroups

PORTS = (PortRange(first=988, last=988), PortRange(first=1018, last=1023))


def made(stack, network, **arguments) -> tuple[StorageSecurityGroups, str, str]:
    defaults = {"vpc": network.vpc, "ports": PORTS, "both_ways": True}
    groups = StorageSecurityGroups(stack, "Groups", **(defaults | arguments))
    names = ["" if group is None else stack.get_logical_id(group) for group in (groups.cfn_servers, groups.cfn_clients)]
    return groups, *names


def test_lustre_talks_both_ways_and_among_peers(stack, network, synth) -> None:
    _, servers, clients = made(stack, network)
    pairs = [(servers, clients), (clients, servers), (servers, servers), (clients, clients)]
    expected = {
        (direction, owner, peer, port.first, port.last)
        for owner, peer in pairs
        for port in PORTS
        for direction in ("in", "out")
    }
    assert rules(synth(stack)) == expected


def test_nfs_is_opened_by_clients_only(stack, network, synth) -> None:
    _, servers, clients = made(stack, network, ports=(PortRange(first=2049, last=2049),), both_ways=False)
    assert rules(synth(stack)) == {("in", servers, clients, 2049, 2049), ("out", clients, servers, 2049, 2049)}


def test_without_ports_everything_is_let_through_by_group(stack, network, synth) -> None:
    _, servers, clients = made(stack, network, ports=())
    found = rules(synth(stack))
    assert {(first, last) for *_, first, last in found} == {(None, None)}
    assert {("in", servers, servers, None, None), ("out", servers, clients, None, None)} <= found
    assert len(found) == 8


def test_no_address_is_let_in_or_out(stack, network, synth) -> None:
    made(stack, network)
    for group in all_properties(synth(stack), "AWS::EC2::SecurityGroup"):
        assert "SecurityGroupIngress" not in group
        (nowhere,) = group["SecurityGroupEgress"]
        assert nowhere["CidrIp"] == "255.255.255.255/32"


@pytest.mark.parametrize("existing", ["servers", "clients"])
def test_an_existing_group_keeps_its_own_self_rules(stack, network, synth, existing: str) -> None:
    group = ec2.SecurityGroup.from_security_group_id(stack, "Existing", "sg-existing")
    made(stack, network, **{existing: group})
    found = rules(synth(stack))
    assert found
    assert not [rule for rule in found if rule[1] == rule[2] == "sg-existing"]
    assert [rule for rule in found if rule[1] == "sg-existing"]
