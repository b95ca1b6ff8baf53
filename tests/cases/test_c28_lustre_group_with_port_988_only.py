"""C28: Lustre needs 988 and 1018-1023 between clients and servers and among themselves, and nothing from the world."""

from __future__ import annotations

import json

from support.groups import rules
from ultracluster.plan.lustre import Persistent2

PORTS = {(988, 988), (1018, 1023)}


def test_every_port_is_open_both_ways_and_to_itself(lustre, stack, synth) -> None:
    file_system = lustre(Persistent2(capacity_gib=1200, throughput_mbps_per_tib=125))
    groups = file_system.security_groups
    servers, clients = (stack.get_logical_id(group) for group in (groups.cfn_servers, groups.cfn_clients))
    found = rules(synth(stack))
    for direction in ("in", "out"):
        for owner, peer in ((servers, clients), (clients, servers), (servers, servers), (clients, clients)):
            opened = {rule[3:] for rule in found if rule[:3] == (direction, owner, peer)}
            assert opened == PORTS, (direction, owner, peer)


def test_no_address_of_the_world(lustre, stack, synth) -> None:
    lustre(Persistent2(capacity_gib=1200, throughput_mbps_per_tib=125))
    text = json.dumps(synth(stack))
    assert "0.0.0.0/0" not in text
    assert "::/0" not in text
