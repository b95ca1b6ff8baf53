"""What is decided about a Lustre file system, and why."""

from __future__ import annotations

import pytest

from ultracluster.plan.lustre import (
    DataRepositoryRequest,
    IntelligentTiering,
    LustreDeployment,
    LustrePlan,
    LustreRequest,
    MetadataPlan,
    Persistent1,
    Persistent2,
    Scratch2,
    plan_lustre,
)


def plan(deployment: LustreDeployment, **settings) -> LustrePlan:
    return plan_lustre(LustreRequest(name="fsx", deployment=deployment, **settings), subject="fsx")


def decision(made: LustrePlan, name: str) -> tuple[str, str]:
    (found,) = [each for each in made.decisions if each.subject == f"fsx.{name}"]
    return found.value, found.because


def test_throughput_of_a_tier() -> None:
    made = plan(Persistent2(capacity_gib=2400, throughput_mbps_per_tib=250))
    rates = made.throughput
    assert (rates.baseline_mbps, rates.burst_mbps) == (600, 1200)
    assert (rates.network_baseline_mbps, rates.network_burst_mbps) == (1536, 3120)
    value, because = decision(made, "throughput")
    assert value == "600 MB/s, burst 1200 MB/s, from memory 1536 MB/s, burst from memory 3120 MB/s"
    assert because == "2400 GiB at 250 MB/s per TiB"


def test_throughput_without_a_published_burst_claims_none() -> None:
    rates = plan(Persistent2(capacity_gib=2400, throughput_mbps_per_tib=1000)).throughput
    assert (rates.baseline_mbps, rates.burst_mbps, rates.network_burst_mbps) == (2400, None, None)
    assert plan(Scratch2(capacity_gib=1200)).throughput.baseline_mbps == 240


def test_throughput_of_intelligent_tiering_is_what_is_bought() -> None:
    assert plan(IntelligentTiering(throughput_capacity_mbps=8000)).throughput.baseline_mbps == 8000


@pytest.mark.parametrize(
    ("deployment", "version", "metadata"),
    [
        (Persistent2(capacity_gib=2400, throughput_mbps_per_tib=250), "2.15", ("AUTOMATIC", None, 3000)),
        (
            Persistent2(capacity_gib=2400, throughput_mbps_per_tib=250, metadata_iops=12000),
            "2.15",
            ("USER_PROVISIONED", 12000, 12000),
        ),
        (IntelligentTiering(throughput_capacity_mbps=4000), "2.15", ("USER_PROVISIONED", 6000, 6000)),
        (
            IntelligentTiering(throughput_capacity_mbps=4000, metadata_iops="automatic"),
            "2.15",
            ("AUTOMATIC", None, None),
        ),
        (Persistent2(capacity_gib=2400, throughput_mbps_per_tib=250), "2.12", None),
        (Persistent1(capacity_gib=2400, throughput_mbps_per_tib=200), "2.15", None),
        (Scratch2(capacity_gib=2400), "2.15", None),
    ],
)
def test_metadata(deployment: LustreDeployment, version: str, metadata: tuple | None) -> None:
    expected = None
    if metadata is not None:
        mode, written, effective = metadata
        expected = MetadataPlan(mode=mode, written_iops=written, effective_iops=effective)
    assert plan(deployment, file_system_type_version=version).metadata == expected


def test_metadata_says_why_and_that_efa_needs_it() -> None:
    _, because = decision(plan(Persistent2(capacity_gib=4800, throughput_mbps_per_tib=1000, efa=True)), "metadata_iops")
    assert "cannot be added later" in because
    assert "EFA needs one" in because


def test_drive_cache_is_written_on_hdd_only() -> None:
    hdd = {"capacity_gib": 6000, "throughput_mbps_per_tib": 12, "storage_type": "HDD"}
    assert plan(Persistent1(**hdd)).drive_cache == "NONE"
    assert plan(Persistent1(**hdd, drive_cache="READ")).drive_cache == "READ"
    assert plan(Persistent1(capacity_gib=1200, throughput_mbps_per_tib=50)).drive_cache is None


def test_ports_or_all_traffic() -> None:
    plain = plan(Persistent2(capacity_gib=4800, throughput_mbps_per_tib=1000))
    efa = plan(Persistent2(capacity_gib=4800, throughput_mbps_per_tib=1000, efa=True))
    assert [(each.first, each.last) for each in plain.ports] == [(988, 988), (1018, 1023)]
    assert (plain.all_traffic, efa.all_traffic) == (False, True)
    assert decision(plain, "security_groups")[0] == "TCP 988 and 1018-1023"


def test_associations_are_planned_in_the_order_given_and_the_order_is_told() -> None:
    made = plan(
        Scratch2(capacity_gib=1200),
        data_repositories=(
            DataRepositoryRequest(file_system_path="/b/", bucket="s3://b/in", prefix="x/"),
            DataRepositoryRequest(file_system_path="/a", bucket="a", auto_import=("DELETED", "NEW")),
        ),
    )
    first, second = made.associations
    assert (first.file_system_path, first.bucket, first.prefix) == ("/b", "b", "in/x")
    assert second.auto_import == ("NEW", "DELETED")
    assert decision(made, "data_repositories[1]")[0] == "/a, created after /b/"


def test_the_mount_options_wait_for_the_network_and_lock_files() -> None:
    assert plan(Scratch2(capacity_gib=1200)).mount_options == ("noatime", "flock", "_netdev")


def test_a_plan_is_a_value() -> None:
    deployment = Persistent2(capacity_gib=2400, throughput_mbps_per_tib=250)
    assert plan(deployment) == plan(deployment)
    assert hash(plan(deployment)) == hash(plan(deployment))
