"""Rules on type, capacity, tier, version, EFA, metadata and read cache."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.facts.lustre import deployments, lustre_facts
from ultracluster.findings import Finding, FindingsError
from ultracluster.plan.lustre import (
    DeploymentFields,
    IntelligentTiering,
    LustreDeployment,
    LustreRequest,
    Persistent1,
    Persistent2,
    ReadCache,
    Scratch1,
    Scratch2,
    check_lustre,
    plan_lustre,
)


def found(deployment: LustreDeployment, **settings) -> list[Finding]:
    return list(check_lustre(LustreRequest(name="fsx", deployment=deployment, **settings), subject="storage.lustre[0]"))


def ids(deployment: LustreDeployment, **settings) -> list[str]:
    return [each.rule_id for each in found(deployment, **settings)]


VALID = [
    Scratch1(capacity_gib=1200),
    Scratch1(capacity_gib=2400),
    Scratch1(capacity_gib=3600),
    Scratch2(capacity_gib=1200),
    Scratch2(capacity_gib=4800),
    Persistent1(capacity_gib=1200, throughput_mbps_per_tib=50),
    Persistent1(capacity_gib=2400, throughput_mbps_per_tib=200),
    Persistent1(capacity_gib=6000, throughput_mbps_per_tib=12, storage_type="HDD"),
    Persistent1(capacity_gib=1800, throughput_mbps_per_tib=40, storage_type="HDD", drive_cache="READ"),
    Persistent2(capacity_gib=1200, throughput_mbps_per_tib=125),
    Persistent2(capacity_gib=460800, throughput_mbps_per_tib=1000),
    Persistent2(capacity_gib=2400, throughput_mbps_per_tib=250, metadata_iops=3000),
    Persistent2(capacity_gib=2400, throughput_mbps_per_tib=250, metadata_iops="automatic"),
    Persistent2(capacity_gib=38400, throughput_mbps_per_tib=125, efa=True),
    Persistent2(capacity_gib=38400, throughput_mbps_per_tib=250, efa=True),
    Persistent2(capacity_gib=9600, throughput_mbps_per_tib=500, efa=True),
    Persistent2(capacity_gib=4800, throughput_mbps_per_tib=1000, efa=True),
    IntelligentTiering(throughput_capacity_mbps=4000),
    IntelligentTiering(throughput_capacity_mbps=2000),
    IntelligentTiering(throughput_capacity_mbps=8000, efa=True, metadata_iops=12000),
    IntelligentTiering(throughput_capacity_mbps=4000, read_cache=ReadCache(mode="NO_CACHE")),
    IntelligentTiering(throughput_capacity_mbps=8000, read_cache=ReadCache(mode="USER_PROVISIONED", size_gib=64)),
    DeploymentFields(deployment_type="INTELLIGENT_TIERING", throughput_capacity_mbps=4000),
    DeploymentFields(deployment_type="SCRATCH_2", capacity_gib=1200),
]


@pytest.mark.parametrize("deployment", VALID, ids=repr)
def test_valid_shapes_have_no_finding_and_a_plan(deployment: LustreDeployment) -> None:
    assert found(deployment) == []
    assert plan_lustre(LustreRequest(name="fsx", deployment=deployment), subject="x").name == "fsx"


def flat(**fields) -> DeploymentFields:
    return DeploymentFields(**({"deployment_type": "PERSISTENT_2"} | fields))


INVALID = [
    (Scratch2(capacity_gib=3600), ["UC-LUS-001"]),
    (Scratch1(capacity_gib=4800), ["UC-LUS-001"]),
    (Persistent2(capacity_gib=-2400, throughput_mbps_per_tib=125), ["UC-LUS-001"]),
    (flat(throughput_mbps_per_tib=125), ["UC-LUS-001"]),
    (flat(capacity_gib=1200), ["UC-LUS-002"]),
    (flat(capacity_gib=1300), ["UC-LUS-002", "UC-LUS-001"]),
    (flat(capacity_gib=1200, throughput_mbps_per_tib=200), ["UC-LUS-002"]),
    (flat(deployment_type="SCRATCH_2", capacity_gib=1200, throughput_mbps_per_tib=200), ["UC-LUS-002"]),
    (flat(storage_type="HDD", capacity_gib=6000, throughput_mbps_per_tib=12), ["UC-LUS-003"]),
    (flat(capacity_gib=1200, throughput_mbps_per_tib=125, import_path="s3://b/in"), ["UC-LUS-004"]),
    (flat(deployment_type="SCRATCH_2", capacity_gib=1200, export_path="s3://b/out"), ["UC-DRA-007"]),
    (flat(deployment_type="PERSISTENT_1", capacity_gib=1200, throughput_mbps_per_tib=200, efa=True), ["UC-LUS-007"]),
    (Persistent2(capacity_gib=2400, throughput_mbps_per_tib=250, efa=True), ["UC-LUS-008"]),
    (Persistent2(capacity_gib=3600, throughput_mbps_per_tib=250, efa=True), ["UC-LUS-008"]),
    (IntelligentTiering(throughput_capacity_mbps=3000), ["UC-LUS-014"]),
    (IntelligentTiering(throughput_capacity_mbps=2000, efa=True), ["UC-LUS-014"]),
    (IntelligentTiering(throughput_capacity_mbps=2004000), ["UC-LUS-014"]),
    (flat(storage_type="INTELLIGENT_TIERING", throughput_capacity_mbps=4000), ["UC-LUS-014"]),
    (flat(deployment_type="INTELLIGENT_TIERING", throughput_capacity_mbps=4000, capacity_gib=1200), ["UC-LUS-014"]),
    (flat(deployment_type="INTELLIGENT_TIERING"), ["UC-LUS-014"]),
    (flat(deployment_type="PERSISTENT_1", storage_type="INTELLIGENT_TIERING"), ["UC-LUS-014"]),
    (flat(capacity_gib=1200, throughput_mbps_per_tib=125, throughput_capacity_mbps=4000), ["UC-LUS-014"]),
    (flat(capacity_gib=1200, throughput_mbps_per_tib=125, read_cache=ReadCache()), ["UC-LUS-014"]),
    (
        IntelligentTiering(
            throughput_capacity_mbps=4000, read_cache=ReadCache(mode="USER_PROVISIONED", size_gib=131073)
        ),
        ["UC-LUS-014"],
    ),
    (
        IntelligentTiering(throughput_capacity_mbps=4000, read_cache=ReadCache(mode="USER_PROVISIONED")),
        ["UC-LUS-014"],
    ),
    (
        IntelligentTiering(throughput_capacity_mbps=4000, read_cache=ReadCache(mode="NO_CACHE", size_gib=64)),
        ["UC-LUS-014"],
    ),
    (Persistent2(capacity_gib=12000, throughput_mbps_per_tib=125, metadata_iops=1500), ["UC-LUS-015"]),
    (Persistent2(capacity_gib=2400, throughput_mbps_per_tib=125, metadata_iops=5000), ["UC-LUS-015"]),
    (Persistent2(capacity_gib=2400, throughput_mbps_per_tib=125, metadata_iops=204000), ["UC-LUS-015"]),
    (flat(deployment_type="SCRATCH_2", capacity_gib=1200, metadata_iops=1500), ["UC-LUS-015"]),
    (flat(capacity_gib=1200, throughput_mbps_per_tib=125, metadata_iops="fast"), ["UC-STG-001"]),
    (flat(deployment_type="PERSISTENT_3", capacity_gib=1200), ["UC-STG-001"]),
    (flat(storage_type="NVME", capacity_gib=1200), ["UC-STG-001"]),
    (flat(capacity_gib=1200, throughput_mbps_per_tib=125, drive_cache="READ"), ["UC-STG-006"]),
]


@pytest.mark.parametrize(("deployment", "expected"), INVALID, ids=lambda value: repr(value)[:90])
def test_one_fault_gives_one_finding(deployment: LustreDeployment, expected: list[str]) -> None:
    assert ids(deployment) == expected
    with pytest.raises(FindingsError):
        plan_lustre(LustreRequest(name="fsx", deployment=deployment), subject="x")


SSD = Persistent2(capacity_gib=1200, throughput_mbps_per_tib=125)


@pytest.mark.parametrize(
    ("deployment", "version", "expected"),
    [
        (SSD, "2.12", []),
        (SSD, "2.10", ["UC-LUS-005"]),
        (SSD, "2.16", ["UC-STG-001"]),
        (Persistent2(capacity_gib=1200, throughput_mbps_per_tib=125, metadata_iops=1500), "2.12", ["UC-LUS-005"]),
        (Persistent2(capacity_gib=4800, throughput_mbps_per_tib=1000, efa=True), "2.12", ["UC-LUS-007"]),
        (IntelligentTiering(throughput_capacity_mbps=4000), "2.12", ["UC-LUS-005"]),
        (Scratch2(capacity_gib=1200), "2.10", ["UC-LUS-006"]),
        (Scratch2(capacity_gib=1200), "2.12", []),
    ],
)
def test_server_versions(deployment: LustreDeployment, version: str, expected: list[str]) -> None:
    assert ids(deployment, file_system_type_version=version) == expected


def test_a_message_names_path_value_limit_and_fix() -> None:
    (finding,) = found(Persistent2(capacity_gib=3600, throughput_mbps_per_tib=250))
    assert str(finding) == (
        "storage.lustre[0].capacity_gib: 3600 is not on the PERSISTENT_2 grid (1200 or n x 2400); "
        "nearest: 2400 and 4800 GiB [UC-LUS-001]"
    )


def test_a_metadata_rate_that_is_too_low_names_the_lowest_that_is_not() -> None:
    (finding,) = found(Persistent2(capacity_gib=48000, throughput_mbps_per_tib=125, metadata_iops=5000))
    assert finding.fix == "use 24000"


optional = st.none() | st.integers(-10, 500_000)
fields = st.builds(
    DeploymentFields,
    deployment_type=st.sampled_from([row.deployment_type for row in deployments()] + ["INTELLIGENT_TIERING", "OTHER"]),
    storage_type=st.none() | st.sampled_from(["SSD", "HDD", "INTELLIGENT_TIERING", "other"]),
    capacity_gib=optional | st.integers(-2, 200).map(lambda factor: factor * 1200),
    throughput_mbps_per_tib=optional | st.sampled_from([12, 40, 50, 100, 125, 200, 250, 500, 1000]),
    throughput_capacity_mbps=optional | st.integers(0, 600).map(lambda factor: factor * 4000),
    metadata_iops=optional | st.sampled_from(["automatic", "x", 1500, 3000, 6000, 12000, 24000]),
    efa=st.booleans(),
    drive_cache=st.none() | st.sampled_from(["NONE", "READ", "x"]),
    read_cache=st.none()
    | st.builds(ReadCache, mode=st.sampled_from([*lustre_facts().tiering_cache_modes, "x"]), size_gib=optional),
    import_path=st.none() | st.just("s3://bucket"),
)


@given(fields, st.sampled_from(["2.10", "2.12", "2.15", "x"]))
def test_any_request_gives_findings_or_a_plan(deployment: DeploymentFields, version: str) -> None:
    request = LustreRequest(name="fsx", deployment=deployment, file_system_type_version=version)
    faults = [each for each in check_lustre(request, subject="x") if each.severity.stops]
    if faults:
        with pytest.raises(FindingsError) as caught:
            plan_lustre(request, subject="x")
        assert len(caught.value.findings) >= len(faults)
        return
    plan = plan_lustre(request, subject="x")
    assert plan.throughput.baseline_mbps > 0
    assert (plan.metadata is not None) or not plan.efa
    assert (plan.capacity_gib is None) == (plan.storage_type == "INTELLIGENT_TIERING")
    assert (plan.drive_cache is not None) == (plan.storage_type == "HDD")


@pytest.mark.parametrize("capacity", ["2400", 2400.5, -1.8881545897087736e289], ids=["text", "fraction", "token"])
def test_a_capacity_that_is_no_whole_number_is_a_finding(capacity) -> None:
    (each,) = found(Persistent2(capacity_gib=capacity, throughput_mbps_per_tib=250, metadata_iops=6000))
    assert (each.rule_id, each.subject) == ("UC-LUS-001", "storage.lustre[0].capacity_gib")
    assert ("only the deployment knows" in each.message) == (capacity not in ("2400", 2400.5))
