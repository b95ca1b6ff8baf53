"""The plan of a training bucket."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.facts.s3 import storage_classes
from ultracluster.findings import FindingsError
from ultracluster.plan.buckets import (
    ArchivedPrefix,
    BucketPurpose,
    BucketRequest,
    Transition,
    check_bucket,
    check_bucket_links,
    plan_bucket,
)
from ultracluster.plan.data_repository import DataRepositoryRequest


def tier(storage_class: str, after_days: int) -> Transition:
    return Transition(storage_class=storage_class, after_days=after_days)


def ids(**changes) -> list[str]:
    return [each.rule_id for each in check_bucket(BucketRequest(name="b", **changes), subject="b")]


@pytest.mark.parametrize("purpose", list(BucketPurpose))
def test_tiers_chosen_by_default_are_read_at_once(purpose: BucketPurpose) -> None:
    plan = plan_bucket(BucketRequest(name="b", purpose=purpose), subject="b")
    assert plan.transitions
    assert all(storage_classes()[each.storage_class].readable_at_once for each in plan.transitions)


def test_checkpoints_keep_versions_and_data_does_not() -> None:
    assert plan_bucket(BucketRequest(name="b", purpose=BucketPurpose.CHECKPOINTS), subject="b").versioned
    assert not plan_bucket(BucketRequest(name="b"), subject="b").versioned
    assert plan_bucket(BucketRequest(name="b", versioned=True), subject="b").versioned


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"transitions": ()}, []),
        ({"transitions": (tier("STANDARD_IA", 30), tier("GLACIER_IR", 60))}, []),
        ({"transitions": (tier("STANDARD_IA", 30), tier("GLACIER_IR", 59))}, ["UC-STG-004"]),
        ({"transitions": (tier("STANDARD_IA", 29),)}, ["UC-STG-004"]),
        ({"transitions": (tier("STANDARD_IA", 30), tier("INTELLIGENT_TIERING", 60))}, []),
        ({"transitions": (tier("INTELLIGENT_TIERING", 0), tier("STANDARD_IA", 60))}, ["UC-STG-008"]),
        ({"transitions": (tier("ONEZONE_IA", 30), tier("GLACIER_IR", 90))}, ["UC-STG-008"]),
        ({"transitions": (tier("GLACIER_IR", 0), tier("GLACIER_IR", 90))}, ["UC-STG-008"]),
        ({"transitions": (tier("GLACIER_IR", 90), tier("INTELLIGENT_TIERING", 90))}, ["UC-STG-008", "UC-STG-004"]),
        ({"transitions": (tier("DEEP_ARCHIVE", 180),)}, ["UC-DRA-011"]),
        ({"transitions": (tier("COLD", 180),)}, ["UC-STG-001"]),
        ({"archived_prefixes": (ArchivedPrefix(prefix="old/"),)}, []),
        ({"archived_prefixes": (ArchivedPrefix(prefix=""),)}, ["UC-STG-005"]),
        ({"archived_prefixes": (ArchivedPrefix(prefix="/old"),)}, ["UC-STG-005"]),
        ({"archived_prefixes": (ArchivedPrefix(prefix="old/", storage_class="TAPE"),)}, ["UC-STG-001"]),
        ({"noncurrent_days": 0}, ["UC-STG-004"]),
        ({"abort_incomplete_uploads_days": 0}, ["UC-STG-004"]),
    ],
    ids=lambda value: repr(value)[:90],
)
def test_life_cycle(changes, expected) -> None:
    assert ids(**changes) == expected


def test_a_whole_bucket_may_be_archived_but_is_warned_about() -> None:
    plan = plan_bucket(BucketRequest(name="b", transitions=(tier("DEEP_ARCHIVE", 180),)), subject="b")
    assert [each.rule_id for each in plan.warnings] == ["UC-DRA-011"]


def link(prefix: str = "", **changes) -> DataRepositoryRequest:
    return DataRepositoryRequest(file_system_path="/data", bucket="b", prefix=prefix, **changes)


def link_ids(bucket: BucketRequest, *links: DataRepositoryRequest) -> list[str]:
    plans = {"b": plan_bucket(bucket, subject="b")}
    named = [(f"lustre.data_repositories[{index}]", each) for index, each in enumerate(links)]
    return [each.rule_id for each in check_bucket_links(plans, named)]


def test_deletions_are_exported_to_versions_only() -> None:
    deleting = link(auto_export=("DELETED",))
    assert link_ids(BucketRequest(name="b"), deleting) == ["UC-DRA-010"]
    assert link_ids(BucketRequest(name="b", versioned=True), deleting) == []
    assert link_ids(BucketRequest(name="b"), link(auto_export=("NEW",))) == []


@pytest.mark.parametrize(
    ("prefix", "warned"), [("old", True), ("old/run1", True), ("", True), ("new", False), ("older", False)]
)
def test_a_linked_prefix_is_not_archived(prefix: str, warned: bool) -> None:
    bucket = BucketRequest(name="b", archived_prefixes=(ArchivedPrefix(prefix="old/"),))
    assert bool(link_ids(bucket, link(prefix))) is warned


def test_links_to_other_buckets_are_not_judged() -> None:
    plans = {"b": plan_bucket(BucketRequest(name="b"), subject="b")}
    other = DataRepositoryRequest(file_system_path="/x", bucket="else", auto_export=("DELETED",))
    assert check_bucket_links(plans, [("x", other)]) == ()


transitions = st.lists(
    st.builds(Transition, storage_class=st.sampled_from([*storage_classes(), "x"]), after_days=st.integers(-5, 400)),
    max_size=4,
).map(tuple)


@given(transitions, st.sampled_from(list(BucketPurpose)), st.integers(-2, 60))
def test_any_request_gives_findings_or_a_plan(chosen, purpose, days) -> None:
    bucket = BucketRequest(name="b", purpose=purpose, transitions=chosen, noncurrent_days=days)
    faults = [each for each in check_bucket(bucket, subject="b") if each.severity.stops]
    if faults:
        with pytest.raises(FindingsError):
            plan_bucket(bucket, subject="b")
        return
    periods = [each.after_days for each in plan_bucket(bucket, subject="b").transitions]
    assert periods == sorted(set(periods))


def test_a_purpose_by_its_word_means_the_same_and_an_unknown_one_is_a_finding() -> None:
    word = plan_bucket(BucketRequest(name="b", purpose="checkpoints"), subject="b")
    assert word == plan_bucket(BucketRequest(name="b", purpose=BucketPurpose.CHECKPOINTS), subject="b")
    assert word.versioned
    (found,) = check_bucket(BucketRequest(name="b", purpose="ckpt"), subject="b")
    assert (found.rule_id, found.subject) == ("UC-STG-001", "b.purpose")
    assert "data, checkpoints" in found.message
