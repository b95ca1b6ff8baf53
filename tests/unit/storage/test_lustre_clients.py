"""Rules between a Lustre file system and the fleets that mount it."""

from __future__ import annotations

import pytest

from ultracluster.plan.lustre import LustrePlan, LustreRequest, Persistent2, plan_lustre
from ultracluster.plan.lustre_clients import check_lustre_clients, efa_connections
from ultracluster.plan.storage_client import StorageClient


def lustre(*, efa: bool = True, capacity_gib: int = 4800, zone: str | None = "us-east-1a") -> LustrePlan:
    deployment = Persistent2(capacity_gib=capacity_gib, throughput_mbps_per_tib=1000, efa=efa)
    return plan_lustre(LustreRequest(name="fsx", deployment=deployment, availability_zone=zone), subject="lustre")


def client(**changes) -> StorageClient:
    facts = {
        "name": "train",
        "subject": "fleets[0]",
        "availability_zones": ("us-east-1a",),
        "max_nodes": 16,
        "efa_client": True,
        "efa_interfaces": 8,
        "os": "al2023",
        "instance_types": ("p5.48xlarge",),
    }
    return StorageClient(**(facts | changes))


def ids(plan: LustrePlan, *clients: StorageClient, cidr: str | None = None) -> list[tuple[str, str]]:
    found = check_lustre_clients(plan, clients, subject="lustre", cidr=cidr)
    return [(each.rule_id, each.subject) for each in found]


def test_a_fleet_beside_its_file_system_is_fine() -> None:
    assert ids(lustre(), client()) == []
    assert ids(lustre(efa=False), client()) == []


def test_efa_does_not_leave_its_zone_and_plain_traffic_pays_for_it() -> None:
    far = client(availability_zones=("us-east-1b",))
    assert ids(lustre(), far) == [("UC-LUS-011", "lustre.availability_zone")]
    assert ids(lustre(efa=False), far) == [("UC-LUS-021", "lustre.availability_zone")]
    assert ids(lustre(zone=None), far) == []


def test_a_fleet_over_several_zones_is_told_which_are_far() -> None:
    wide = client(availability_zones=("us-east-1a", "us-east-1b"), efa_client=False, efa_interfaces=0)
    (found,) = check_lustre_clients(lustre(efa=False), [wide], subject="lustre")
    assert "also runs in us-east-1b" in found.message


@pytest.mark.parametrize(
    "changes",
    [
        {"efa_client": False, "efa_interfaces": 0, "instance_types": ("trn2.48xlarge",)},
        {"efa_interfaces": 0},
        {"os": "ubuntu2004"},
        {"os": "ubuntu20.04"},
        {"os": "rhel9.4"},
    ],
    ids=repr,
)
def test_a_client_that_would_fall_back_to_tcp_is_an_error(changes) -> None:
    assert [rule for rule, _ in ids(lustre(), client(**changes))] == ["UC-LUS-012"]
    assert ids(lustre(efa=False), client(**changes)) == []


@pytest.mark.parametrize(
    "os", ["al2023", "ubuntu2204", "ubuntu22.04", "ubuntu2404", "rhel9.5", "rocky9", None, "custom"]
)
def test_systems_with_a_client_and_unknown_ones_pass(os: str | None) -> None:
    assert ids(lustre(), client(os=os)) == []


def test_the_connection_budget_is_exact() -> None:
    assert ids(lustre(), client(max_nodes=128)) == []
    assert ids(lustre(), client(max_nodes=129)) == [("UC-LUS-013", "lustre.efa")]


def test_fleets_share_the_connection_budget() -> None:
    fleets = client(max_nodes=64), client(name="b300", subject="fleets[1]", max_nodes=33, efa_interfaces=16)
    assert efa_connections(fleets) == 64 * 8 + 33 * 16
    (found,) = check_lustre_clients(lustre(), fleets, subject="lustre")
    assert "1040 EFA connections (train 64 x 8, b300 33 x 16)" in found.message


def test_fast_file_systems_without_efa_are_pointed_out_when_somebody_could_use_it() -> None:
    fast = lustre(efa=False, capacity_gib=96000)
    assert ids(fast, client()) == [("UC-LUS-026", "lustre.efa")]
    assert ids(fast, client(efa_client=False, efa_interfaces=0)) == []
    assert ids(lustre(efa=False, capacity_gib=9600), client()) == []


def test_efa_clients_share_a_slash_16_with_the_file_system() -> None:
    near, far = client(cidrs=("10.0.64.0/20",)), client(cidrs=("10.1.0.0/20",))
    assert ids(lustre(), near, cidr="10.0.0.0/24") == []
    assert ids(lustre(), far, cidr="10.0.0.0/24") == [("UC-LUS-011", "fleets[0].subnets")]
    assert ids(lustre(), far) == []
