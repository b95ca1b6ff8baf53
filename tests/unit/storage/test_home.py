"""The plan of a shared home."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.facts.efs import efs_facts
from ultracluster.findings import FindingsError
from ultracluster.plan.home import AccessPoint, HomeRequest, check_home, check_home_clients, plan_home
from ultracluster.plan.storage_client import StorageClient

ZONES = ("us-east-1a", "us-east-1b")


def request(**changes) -> HomeRequest:
    return HomeRequest(**({"name": "home", "availability_zones": ZONES} | changes))


def ids(**changes) -> list[str]:
    return [each.rule_id for each in check_home(request(**changes), subject="home")]


def point(**changes) -> AccessPoint:
    return AccessPoint(**({"name": "jobs", "path": "/jobs", "uid": 1001, "gid": 1001} | changes))


def test_the_default_is_elastic_and_moves_cold_files() -> None:
    plan = plan_home(request(), subject="home")
    assert (plan.throughput_mode, plan.performance_mode, plan.backup) == ("elastic", "generalPurpose", True)
    assert plan.lifecycle == (
        ("TransitionToIA", "AFTER_30_DAYS"),
        ("TransitionToPrimaryStorageClass", "AFTER_1_ACCESS"),
        ("TransitionToArchive", "AFTER_90_DAYS"),
    )
    assert "tls" in plan.mount_options
    assert plan.mount_path != "/home"


@pytest.mark.parametrize(
    "changes",
    [
        {"throughput_mode": "provisioned", "provisioned_throughput_mibps": 1, "archive_after_days": None},
        {"throughput_mode": "provisioned", "provisioned_throughput_mibps": 3414, "archive_after_days": None},
        {"throughput_mode": "bursting", "archive_after_days": None},
        {"throughput_mode": "bursting", "performance_mode": "maxIO", "archive_after_days": None},
        {"one_zone": "us-east-1a", "availability_zones": ("us-east-1a",)},
        {"infrequent_access_after_days": None, "archive_after_days": None},
        {"access_points": (point(),), "mount_access_point": "jobs"},
        {"access_points": (point(path="/a/b/c/d"), point(name="root", path="/"))},
    ],
    ids=repr,
)
def test_accepted(changes) -> None:
    assert ids(**changes) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"throughput_mode": "provisioned", "archive_after_days": None}, ["UC-EFS-006"]),
        (
            {"throughput_mode": "provisioned", "provisioned_throughput_mibps": 3415, "archive_after_days": None},
            ["UC-EFS-006"],
        ),
        ({"provisioned_throughput_mibps": 100}, ["UC-EFS-006"]),
        ({"throughput_mode": "burst", "archive_after_days": None}, ["UC-EFS-006"]),
        ({"performance_mode": "max", "archive_after_days": None}, ["UC-EFS-006"]),
        ({"performance_mode": "maxIO", "archive_after_days": None}, ["UC-EFS-006"]),
        ({"one_zone": "us-east-1a"}, ["UC-EFS-001"]),
        ({"availability_zones": ()}, ["UC-EFS-002"]),
        ({"availability_zones": ("us-east-1a", "us-east-1a")}, ["UC-EFS-002"]),
        ({"infrequent_access_after_days": 31}, ["UC-STG-004"]),
        ({"archive_after_days": 30}, ["UC-STG-004"]),
        ({"infrequent_access_after_days": None}, ["UC-STG-004"]),
        ({"throughput_mode": "bursting"}, ["UC-STG-004"]),
        ({"mount_path": "/home"}, ["UC-STG-002"]),
        ({"access_points": (point(path="jobs"),)}, ["UC-STG-003"]),
        ({"access_points": (point(path="/a/b/c/d/e"),)}, ["UC-STG-003"]),
        ({"access_points": (point(path="/" + "x" * 100),)}, ["UC-STG-003"]),
        ({"access_points": (point(uid=-1),)}, ["UC-STG-003"]),
        ({"access_points": (point(permissions="888"),)}, ["UC-STG-003"]),
        ({"access_points": (point(), point(path="/other"))}, ["UC-STG-003"]),
        ({"mount_access_point": "jobs"}, ["UC-STG-003"]),
    ],
    ids=repr,
)
def test_refused(changes, expected) -> None:
    assert ids(**changes) == expected
    with pytest.raises(FindingsError):
        plan_home(request(**changes), subject="home")


def client(zones: tuple[str, ...], nodes: int = 4) -> StorageClient:
    return StorageClient(
        name="train", subject="fleets[0]", availability_zones=zones, max_nodes=nodes, efa_client=True, efa_interfaces=8
    )


def client_ids(home: HomeRequest, *clients: StorageClient) -> list[tuple[str, str]]:
    plan = plan_home(home, subject="home")
    return [(each.rule_id, each.subject) for each in check_home_clients(plan, clients, subject="home")]


def test_every_zone_of_a_fleet_has_a_mount_target() -> None:
    assert client_ids(request(), client(ZONES)) == []
    where = "fleets[0].availability_zones"
    assert client_ids(request(), client(("us-east-1c",))) == [("UC-EFS-002", where)]
    one = request(one_zone="us-east-1a", availability_zones=("us-east-1a",))
    assert client_ids(one, client(ZONES)) == [("UC-EFS-001", where)]


def test_data_of_a_large_fleet_does_not_belong_here() -> None:
    large = client(("us-east-1a",), nodes=efs_facts().large_fleet_nodes)
    small = client(("us-east-1a",), nodes=efs_facts().large_fleet_nodes - 1)
    bursting = request(throughput_mode="bursting", archive_after_days=None)
    assert client_ids(request(), large) == []
    assert client_ids(request(purpose="checkpoints"), large) == [("UC-EFS-007", "home.purpose")]
    assert client_ids(request(purpose="checkpoints"), small) == []
    assert client_ids(bursting, large) == [("UC-EFS-007", "home.throughput_mode")]


@given(
    st.sampled_from(["elastic", "bursting", "provisioned", "x"]),
    st.none() | st.floats(-10, 5000),
    st.sampled_from(["generalPurpose", "maxIO", "x"]),
    st.none() | st.integers(0, 400),
    st.none() | st.integers(0, 400),
)
def test_any_request_gives_findings_or_a_plan(mode, mibps, performance, infrequent, archive) -> None:
    home = request(
        throughput_mode=mode,
        provisioned_throughput_mibps=mibps,
        performance_mode=performance,
        infrequent_access_after_days=infrequent,
        archive_after_days=archive,
    )
    if check_home(home, subject="home"):
        with pytest.raises(FindingsError):
            plan_home(home, subject="home")
    else:
        assert plan_home(home, subject="home").decisions
