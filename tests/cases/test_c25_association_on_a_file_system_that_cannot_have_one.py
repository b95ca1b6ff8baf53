"""C25: the server version decides whether there are associations, so it is always written; SCRATCH_1 has none."""

from __future__ import annotations

import pytest
from aws_cdk import aws_s3 as s3

from support.templates import only
from ultracluster.findings import FindingsError
from ultracluster.plan.lustre import Persistent1, Scratch1, Scratch2
from ultracluster.storage.data_repository import DataRepository


@pytest.fixture
def links(stack):
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", "demo-bucket")
    return [DataRepository(file_system_path="/data", bucket=bucket, auto_export=["NEW", "CHANGED", "DELETED"])]


@pytest.mark.parametrize(
    "deployment",
    [Persistent1(capacity_gib=1200, throughput_mbps_per_tib=200), Scratch2(capacity_gib=1200)],
    ids=lambda value: type(value).__name__,
)
def test_the_version_is_one_that_has_associations(lustre, stack, synth, links, deployment) -> None:
    lustre(deployment, data_repositories=links)
    assert only(synth(stack), "AWS::FSx::FileSystem")["FileSystemTypeVersion"] in ("2.12", "2.15")


def test_scratch_1_has_none(lustre, links) -> None:
    with pytest.raises(FindingsError, match=r"SCRATCH_1 has no data repository associations.*UC-DRA-001"):
        lustre(Scratch1(capacity_gib=1200), data_repositories=links)


def test_version_2_10_has_none(lustre, links) -> None:
    with pytest.raises(FindingsError) as caught:
        lustre(Scratch2(capacity_gib=1200), data_repositories=links, file_system_type_version="2.10")
    assert [each.rule_id for each in caught.value.findings] == ["UC-LUS-006", "UC-DRA-001"]
