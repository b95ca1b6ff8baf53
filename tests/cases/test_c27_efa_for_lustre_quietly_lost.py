"""C27: EFA that is asked for where it does not exist, or on a size without it, is refused and never dropped."""

from __future__ import annotations

import pytest

from support.templates import only
from ultracluster.findings import FindingsError
from ultracluster.plan.lustre import DeploymentFields, LustreRequest, Persistent2, check_lustre


def test_persistent_1_with_efa_is_an_error() -> None:
    wanted = DeploymentFields(deployment_type="PERSISTENT_1", capacity_gib=1200, throughput_mbps_per_tib=200, efa=True)
    (finding,) = check_lustre(LustreRequest(name="fsx", deployment=wanted), subject="storage.lustre[0]")
    assert (finding.rule_id, finding.subject) == ("UC-LUS-007", "storage.lustre[0].efa")


def test_a_capacity_below_the_step_names_the_step(lustre) -> None:
    with pytest.raises(FindingsError, match=r"2400 is not a multiple of 19200.*UC-LUS-008"):
        lustre(Persistent2(capacity_gib=2400, throughput_mbps_per_tib=250, efa=True))


@pytest.mark.parametrize(("tier", "step"), [(125, 38400), (250, 19200), (500, 9600), (1000, 4800)])
def test_each_tier_has_its_step(tier: int, step: int) -> None:
    def rules(capacity: int) -> list[str]:
        deployment = Persistent2(capacity_gib=capacity, throughput_mbps_per_tib=tier, efa=True)
        return [each.rule_id for each in check_lustre(LustreRequest(name="fsx", deployment=deployment), subject="x")]

    assert rules(step) == rules(3 * step) == []
    assert rules(step - 2400) == rules(step + 2400) == ["UC-LUS-008"]


def test_what_efa_needs_is_in_the_template(lustre, stack, synth) -> None:
    lustre(Persistent2(capacity_gib=19200, throughput_mbps_per_tib=250, efa=True))
    part = only(synth(stack), "AWS::FSx::FileSystem")["LustreConfiguration"]
    assert part["EfaEnabled"] is True
    assert part["DeploymentType"] == "PERSISTENT_2"
    assert part["MetadataConfiguration"] == {"Mode": "AUTOMATIC"}
