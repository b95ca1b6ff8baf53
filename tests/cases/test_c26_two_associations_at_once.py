"""C26: associations that are created at the same time race; they form a chain, and their directories are disjoint."""

from __future__ import annotations

import pytest
from aws_cdk import aws_s3 as s3

from support.templates import resources
from ultracluster.findings import FindingsError
from ultracluster.plan.lustre import Persistent2
from ultracluster.storage.data_repository import DataRepository

ASSOCIATION = "AWS::FSx::DataRepositoryAssociation"
SSD = Persistent2(capacity_gib=1200, throughput_mbps_per_tib=125)


def links(stack, *paths: str) -> list[DataRepository]:
    return [
        DataRepository(file_system_path=path, bucket=s3.Bucket.from_bucket_name(stack, f"Bucket{index}", f"b-{index}"))
        for index, path in enumerate(paths)
    ]


def test_three_associations_are_created_one_after_another(lustre, stack, synth) -> None:
    lustre(SSD, data_repositories=links(stack, "/data", "/checkpoints", "/code"))
    made = resources(synth(stack), ASSOCIATION)
    assert [body["Properties"]["FileSystemPath"] for body in made.values()] == ["/data", "/checkpoints", "/code"]
    first, second, third = made
    assert "DependsOn" not in made[first]
    assert made[second]["DependsOn"] == [first]
    assert made[third]["DependsOn"] == [second]


@pytest.mark.parametrize("paths", [("/data", "/data"), ("/data", "/data/raw"), ("/", "/ckpt")])
def test_directories_that_overlap_are_refused(lustre, stack, paths: tuple[str, ...]) -> None:
    with pytest.raises(FindingsError, match="UC-DRA-003"):
        lustre(SSD, data_repositories=links(stack, *paths))
