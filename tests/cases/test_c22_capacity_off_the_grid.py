"""C22: a size from the grid of another deployment type; the message names the sizes next to it."""

from __future__ import annotations

import pytest

from support.templates import only
from ultracluster.findings import FindingsError
from ultracluster.plan.lustre import LustreDeployment, LustreRequest, Persistent2, Scratch1, Scratch2, check_lustre


@pytest.mark.parametrize("capacity", [3600, 3000])
@pytest.mark.parametrize("kind", ["SCRATCH_2", "PERSISTENT_2"])
def test_the_next_valid_sizes_are_named(kind: str, capacity: int) -> None:
    deployment: LustreDeployment = Scratch2(capacity_gib=capacity)
    if kind == "PERSISTENT_2":
        deployment = Persistent2(capacity_gib=capacity, throughput_mbps_per_tib=250)
    (finding,) = check_lustre(LustreRequest(name="fsx", deployment=deployment), subject="storage.lustre[0]")
    assert finding.rule_id == "UC-LUS-001"
    assert kind in finding.message
    assert "2400 and 4800" in finding.fix


@pytest.mark.parametrize(
    "deployment",
    [
        Scratch1(capacity_gib=3600),
        *(Persistent2(capacity_gib=size, throughput_mbps_per_tib=250) for size in (1200, 2400, 4800)),
    ],
    ids=repr,
)
def test_sizes_on_the_grid_reach_the_template(lustre, stack, synth, deployment: LustreDeployment) -> None:
    lustre(deployment)
    assert only(synth(stack), "AWS::FSx::FileSystem")["StorageCapacity"] == deployment.capacity_gib


def test_the_construct_refuses_it_before_synthesis(lustre) -> None:
    with pytest.raises(FindingsError, match=r"3600 is not on the PERSISTENT_2 grid.*2400 and 4800 GiB"):
        lustre(Persistent2(capacity_gib=3600, throughput_mbps_per_tib=250))
