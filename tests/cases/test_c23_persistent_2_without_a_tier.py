"""C23: PERSISTENT_2 has no default tier in the service, so none is an error, and one is written down."""

from __future__ import annotations

import pytest

from support.templates import only
from ultracluster.findings import FindingsError
from ultracluster.plan.lustre import DeploymentFields, LustreRequest, Persistent2, check_lustre


def test_a_missing_tier_lists_all_tiers() -> None:
    deployment = DeploymentFields(deployment_type="PERSISTENT_2", capacity_gib=1200)
    (finding,) = check_lustre(LustreRequest(name="fsx", deployment=deployment), subject="storage.lustre[0]")
    assert (finding.rule_id, finding.subject) == ("UC-LUS-002", "storage.lustre[0].throughput_mbps_per_tib")
    assert "125, 250, 500 or 1000" in finding.message


def test_the_construct_refuses_it(lustre) -> None:
    with pytest.raises(FindingsError, match="UC-LUS-002"):
        lustre(DeploymentFields(deployment_type="PERSISTENT_2", capacity_gib=1200), compression="LZ4")


def test_the_typed_form_cannot_leave_it_out() -> None:
    with pytest.raises(TypeError, match="throughput_mbps_per_tib"):
        Persistent2(capacity_gib=1200)


@pytest.mark.parametrize("tier", [125, 250, 500, 1000])
def test_the_tier_is_in_the_template(lustre, stack, synth, tier: int) -> None:
    lustre(Persistent2(capacity_gib=1200, throughput_mbps_per_tib=tier))
    part = only(synth(stack), "AWS::FSx::FileSystem")["LustreConfiguration"]
    assert (part["PerUnitStorageThroughput"], part["DataCompressionType"]) == (tier, "LZ4")
