"""C30: HDD exists on PERSISTENT_1 only, with its own tiers and capacities; each fault is named for what it is."""

from __future__ import annotations

import pytest

from support.templates import only
from ultracluster.findings import FindingsError
from ultracluster.plan.lustre import DeploymentFields, Persistent1


@pytest.mark.parametrize(
    ("deployment", "rule", "words"),
    [
        (
            DeploymentFields(
                deployment_type="PERSISTENT_2", storage_type="HDD", capacity_gib=6000, throughput_mbps_per_tib=12
            ),
            "UC-LUS-003",
            "HDD does not exist for PERSISTENT_2",
        ),
        (
            Persistent1(capacity_gib=6000, throughput_mbps_per_tib=50, storage_type="HDD"),
            "UC-LUS-002",
            "50 is not a tier of PERSISTENT_1 with HDD; PERSISTENT_1 with HDD has 12 or 40",
        ),
        (
            Persistent1(capacity_gib=1200, throughput_mbps_per_tib=12, storage_type="HDD"),
            "UC-LUS-001",
            "1200 is not on the PERSISTENT_1 HDD grid (n x 6000)",
        ),
    ],
    ids=["storage type", "tier", "capacity"],
)
def test_each_fault_is_named(lustre, deployment, rule: str, words: str) -> None:
    with pytest.raises(FindingsError) as caught:
        lustre(deployment)
    (finding,) = caught.value.findings
    assert finding.rule_id == rule
    assert words in finding.message


def test_a_right_one_has_its_drive_cache(lustre, stack, synth) -> None:
    lustre(Persistent1(capacity_gib=6000, throughput_mbps_per_tib=12, storage_type="HDD"))
    body = only(synth(stack), "AWS::FSx::FileSystem")
    assert (body["StorageType"], body["StorageCapacity"]) == ("HDD", 6000)
    assert body["LustreConfiguration"]["DriveCacheType"] == "NONE"
    assert body["LustreConfiguration"]["PerUnitStorageThroughput"] == 12
