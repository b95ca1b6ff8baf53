"""C29: AL2023 carries a 2.15 client, which a 2.10 server does not serve; the server version is always written."""

from __future__ import annotations

import pytest

from support.templates import only
from ultracluster.findings import FindingsError
from ultracluster.plan.lustre import Persistent1, Persistent2, Scratch1, Scratch2


@pytest.mark.parametrize(
    "deployment",
    [
        Scratch1(capacity_gib=1200),
        Scratch2(capacity_gib=1200),
        Persistent1(capacity_gib=1200, throughput_mbps_per_tib=50),
        Persistent2(capacity_gib=1200, throughput_mbps_per_tib=125),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_version_is_written(lustre, stack, synth, deployment) -> None:
    lustre(deployment)
    assert only(synth(stack), "AWS::FSx::FileSystem")["FileSystemTypeVersion"] == "2.15"


def test_the_old_version_is_refused(lustre) -> None:
    with pytest.raises(FindingsError, match=r"2\.10.*AL2023.*UC-LUS-006"):
        lustre(Scratch2(capacity_gib=1200), file_system_type_version="2.10")
