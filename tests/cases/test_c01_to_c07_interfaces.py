"""Fault cases C01 to C07 and C12: interface lists that EC2 refuses or that lose half the fabric."""

from __future__ import annotations

import pytest

from support.fleets import fleet, ids
from ultracluster.facts.instances import instance_type
from ultracluster.findings import FindingsError
from ultracluster.plan.fleet import plan_fleet
from ultracluster.plan.interface_rules import NetworkInterfaceEntry, as_entries, check_interface_list
from ultracluster.plan.network_interfaces import NetworkInterface

WHERE = "Train/LaunchTemplate.NetworkInterfaces"


def entries_of(name, **changes):
    plan = plan_fleet(fleet(instance_types=(name,), **changes), subject="Train")
    return plan.layouts[0].interfaces.interfaces


def fabric(name, **changes):
    return [item for item in entries_of(name, **changes) if item.kind != "interface"]


@pytest.mark.parametrize("layout", ["min-ip", "max-bandwidth", "all-efa"])
def test_c01_device_index_on_p5_is_never_above_one(layout):
    interfaces = entries_of("p5.48xlarge", layout=layout)
    devices = fabric("p5.48xlarge", layout=layout)
    assert len(devices) == 32
    assert {item.card for item in devices} == set(range(32))
    assert max(item.device for item in interfaces) == 1


def test_c01_device_index_counted_upwards_is_refused():
    counted = tuple(NetworkInterface(card=card, device=card, kind="efa") for card in range(32))
    with pytest.raises(FindingsError) as error:
        plan_fleet(fleet(network_interfaces=counted), subject="Train")
    assert ids(error.value) == ["UC-NIC-004"]
    assert "device 2 does not exist on card 2 of p5.48xlarge, which holds 2 interfaces" in str(error.value)


@pytest.mark.parametrize("layout", ["min-ip", "max-bandwidth", "all-efa"])
def test_c02_p6_b300_keeps_card_0_free_of_efa(layout):
    interfaces = entries_of("p6-b300.48xlarge", layout=layout)
    assert (interfaces[0].card, interfaces[0].device, interfaces[0].kind) == (0, 0, "interface")
    assert sorted(item.card for item in fabric("p6-b300.48xlarge", layout=layout)) == list(range(1, 17))


def test_c02_efa_on_card_0_of_p6_b300_is_refused():
    facts = instance_type("p6-b300.48xlarge")
    entries = [NetworkInterfaceEntry(card=card, device=0, kind="efa") for card in range(17)]
    assert ids(check_interface_list(facts, entries, subject=WHERE)) == ["UC-EFA-004"]


@pytest.mark.parametrize(
    ("name", "count"),
    [("trn1.32xlarge", 8), ("trn1n.32xlarge", 16), ("trn2.48xlarge", 16), ("trn2u.48xlarge", 16)],
)
def test_c03_trainium_gets_all_its_fabric(name, count):
    assert len(fabric(name)) == count
    half = as_entries(entries_of("trn1.32xlarge"))
    if count == 16:
        found = check_interface_list(instance_type(name), half, subject=WHERE)
        assert ids(found) == ["UC-EFA-002"]
        assert f"8 EFA devices on {name}, 16 are expected" in found[0].message


def test_c04_every_entry_of_p4d_has_its_card():
    interfaces = entries_of("p4d.24xlarge", layout="all-efa")
    assert [item.card for item in interfaces] == [0, 1, 2, 3]
    assert all(isinstance(item.card, int) for item in entries_of("p4d.24xlarge"))


def test_c04_entries_without_card_indexes_are_refused():
    raw = [NetworkInterfaceEntry(card=None, device=device, kind="efa", group_count=1) for device in range(4)]
    found = check_interface_list(instance_type("p4d.24xlarge"), raw, subject=WHERE)
    assert ids(found) == ["UC-NIC-005"]
    assert found[0].subject == f"{WHERE}[1]"
    assert "2 more like it" in found[0].message


def test_c05_the_primary_interface_has_an_address():
    interfaces = entries_of("p5en.48xlarge")
    assert interfaces[0].kind == "interface"
    assert len(fabric("p5en.48xlarge")) == 16
    assert (0, 1, "efa-only") in [(item.card, item.device, item.kind) for item in interfaces]


def test_c05_efa_only_everywhere_is_refused():
    everywhere = tuple(NetworkInterface(card=card, device=0, kind="efa-only") for card in range(16))
    with pytest.raises(FindingsError) as error:
        plan_fleet(fleet(instance_types=("p5en.48xlarge",), network_interfaces=everywhere), subject="Train")
    assert ids(error.value) == ["UC-NIC-001"]


def test_c06_public_address_with_several_interfaces_is_refused():
    with pytest.raises(FindingsError) as error:
        plan_fleet(fleet(instance_types=("p4d.24xlarge",), associate_public_ip=True), subject="Train")
    assert ids(error.value) == ["UC-NIC-006"]
    assert "private subnet with a NAT gateway" in str(error.value)


def test_c06_addresses_on_efa_only_are_refused():
    entries = [*as_entries(entries_of("p4d.24xlarge"))]
    bad = NetworkInterfaceEntry(card=3, device=0, kind="efa-only", address_properties=("Ipv4PrefixCount",))
    found = check_interface_list(instance_type("p4d.24xlarge"), [*entries[:-1], bad], subject=WHERE)
    assert ids(found) == ["UC-NIC-007"]


def test_c07_groups_in_two_places_are_refused():
    entries = as_entries(entries_of("p5.48xlarge"))
    found = check_interface_list(instance_type("p5.48xlarge"), entries, groups_beside_list=True, subject=WHERE)
    assert ids(found) == ["UC-NIC-008"]


def test_c07_an_entry_without_groups_is_refused():
    entries = [
        NetworkInterfaceEntry(card=0, device=0, group_count=1),
        NetworkInterfaceEntry(card=0, device=1, group_count=0),
    ]
    assert ids(check_interface_list(instance_type("g6.48xlarge"), entries, efa=0, subject=WHERE)) == ["UC-NIC-009"]


def test_c12_odd_cards_of_gb200_hold_one_interface():
    interfaces = entries_of("p6e-gb200.36xlarge")
    odd = [item for item in interfaces if item.card % 2]
    assert odd
    assert all((item.device, item.kind) == (0, "efa-only") for item in odd)
    assert not any(item.has_efa for item in interfaces if item.card == 0)


def test_c12_the_p5_pattern_on_gb200_is_refused():
    pattern = [
        NetworkInterfaceEntry(card=0, device=0),
        *(NetworkInterfaceEntry(card=card, device=1, kind="efa-only") for card in range(1, 17)),
    ]
    found = check_interface_list(instance_type("p6e-gb200.36xlarge"), pattern, subject=WHERE)
    assert ids(found) == ["UC-NIC-004"]
    assert "card 1 of p6e-gb200.36xlarge, which holds 1 interface" in found[0].message
