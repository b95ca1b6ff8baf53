"""Rules on associations with S3."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.plan.data_repository import DataRepositoryRequest, repository_of
from ultracluster.plan.lustre import (
    IntelligentTiering,
    LustreDeployment,
    LustreRequest,
    Persistent1,
    Scratch1,
    Scratch2,
    check_lustre,
)

SCRATCH = Scratch2(capacity_gib=1200)


def link(path: str = "/data", bucket: str = "data", **settings) -> DataRepositoryRequest:
    return DataRepositoryRequest(file_system_path=path, bucket=bucket, **settings)


def ids(
    *links: DataRepositoryRequest, deployment: LustreDeployment = SCRATCH, region: str | None = None, **settings
) -> list[str]:
    request = LustreRequest(name="fsx", deployment=deployment, data_repositories=links, **settings)
    return [each.rule_id for each in check_lustre(request, subject="x", region=region)]


@pytest.mark.parametrize(
    "links",
    [
        (link(),),
        (link("/"),),
        (link("/data", "a"), link("/data-raw", "b")),
        (link("/data", prefix="data"), link("/ckpt", prefix="data-raw")),
        (link("/data", prefix="x"), link("/other", "other", prefix="x")),
        (link(bucket="s3://bucket/deep/prefix"),),
        (link(auto_import=(), auto_export=("NEW",)),),
        (link(auto_import=(), auto_export=()),),
        tuple(link(f"/d{index}", f"b{index}") for index in range(8)),
    ],
    ids=repr,
)
def test_accepted(links) -> None:
    assert ids(*links) == []


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        (tuple(link(f"/d{index}", f"b{index}") for index in range(9)), ["UC-DRA-002"]),
        ((link("/data", "a"), link("/data/raw", "b")), ["UC-DRA-003"]),
        ((link("/data/raw", "a"), link("/data", "b")), ["UC-DRA-003"]),
        ((link("/data", "a"), link("/data/", "b")), ["UC-DRA-003"]),
        ((link("/", "a"), link("/ckpt", "b")), ["UC-DRA-003"]),
        ((link("data"),), ["UC-DRA-003"]),
        ((link("/data/../x"),), ["UC-DRA-003"]),
        ((link("/" + "x" * 4096),), ["UC-DRA-003"]),
        ((link("/a"), link("/b")), ["UC-DRA-004"]),
        ((link("/a", prefix="data"), link("/b", prefix="data/raw")), ["UC-DRA-004"]),
        ((link("/a", "s3://b/data"), link("/b", "b", prefix="data/")), ["UC-DRA-004"]),
        ((link(bucket="https://bucket.s3.amazonaws.com"),), ["UC-DRA-004"]),
        ((link(bucket=""),), ["UC-DRA-004"]),
        ((link(prefix="/data"),), ["UC-STG-005"]),
        ((link(auto_import=("NEW_CHANGED",)),), ["UC-DRA-008"]),
        ((link(auto_export=("NEW", "NEW")),), ["UC-DRA-008"]),
        ((link(imported_file_chunk_size_mib=0),), ["UC-STG-007"]),
        ((link(imported_file_chunk_size_mib=512001),), ["UC-STG-007"]),
    ],
    ids=lambda value: repr(value)[:80],
)
def test_refused(links, expected) -> None:
    assert ids(*links) == expected


@pytest.mark.parametrize(
    ("deployment", "version", "expected"),
    [
        (Scratch1(capacity_gib=1200), "2.15", ["UC-DRA-001"]),
        (IntelligentTiering(throughput_capacity_mbps=4000), "2.15", ["UC-DRA-001"]),
        (Persistent1(capacity_gib=1200, throughput_mbps_per_tib=50), "2.10", ["UC-LUS-006", "UC-DRA-001"]),
        (Persistent1(capacity_gib=1200, throughput_mbps_per_tib=50), "2.12", []),
    ],
)
def test_the_file_system_must_be_able_to_have_one(deployment, version, expected) -> None:
    assert ids(link(), deployment=deployment, file_system_type_version=version) == expected


def test_import_is_from_the_same_region_and_export_may_leave_it() -> None:
    far = link(bucket_region="eu-west-1")
    export = link(bucket_region="eu-west-1", auto_import=(), auto_export=("NEW",), import_metadata_on_create=False)
    assert ids(far, region="us-east-1") == ["UC-DRA-006"]
    assert ids(far, region="eu-west-1") == []
    assert ids(far, region=None) == []
    assert ids(export, region="us-east-1") == []


paths = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3).map(lambda parts: "/" + "/".join(parts))


@given(st.lists(paths, min_size=1, max_size=5))
def test_paths_overlap_exactly_when_one_is_an_ancestor_or_equal(chosen: list[str]) -> None:
    links = [link(path, f"bucket{index}") for index, path in enumerate(chosen)]
    found = ids(*links)

    def inside(one: str, other: str) -> bool:
        return (one.rstrip("/") + "/").startswith(other.rstrip("/") + "/")

    pairs = sum(
        inside(one, other) or inside(other, one) for index, one in enumerate(chosen) for other in chosen[:index]
    )
    assert found == ["UC-DRA-003"] * pairs


@given(st.lists(st.sampled_from(["x", "y"]), max_size=3), st.booleans(), st.booleans())
def test_a_uri_and_a_name_with_prefix_are_the_same_place(parts: list[str], as_uri: bool, slash: bool) -> None:
    prefix = "/".join(parts)
    written = prefix + ("/" if slash and prefix else "")
    request = link(bucket=f"s3://b/{written}") if as_uri else link(bucket="b", prefix=written)
    assert repository_of(request) == ("b", prefix)
