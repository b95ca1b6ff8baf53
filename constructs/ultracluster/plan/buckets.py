"""The plan of an S3 bucket for training data or checkpoints: versions, colder tiers, clean-up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from ultracluster.facts.s3 import StorageClassFacts, storage_class
from ultracluster.findings import Finding, finding, raise_if_errors
from ultracluster.plan.decision import Decision
from ultracluster.plan.paths import check_choice, check_prefix, lies_within
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.plan.data_repository import DataRepositoryRequest

__all__ = [
    "ArchivedPrefix",
    "BucketPlan",
    "BucketPurpose",
    "BucketRequest",
    "Transition",
    "check_bucket",
    "check_bucket_links",
    "plan_bucket",
]

RemovalChoice = Literal["retain", "destroy"]


class BucketPurpose(StrEnum):
    """What lies in the bucket; versions and tiers follow from it."""

    DATA = "data"
    CHECKPOINTS = "checkpoints"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """Objects move to a storage class that many days after their creation."""

    storage_class: str
    after_days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedPrefix:
    """A prefix that is put away for good; it must not be linked to a file system.

    Attributes:
        prefix: prefix in the bucket.
        after_days: days after creation.
        storage_class: GLACIER or DEEP_ARCHIVE; an object there has to be restored before it can be read.
    """

    prefix: str
    after_days: int = 30
    storage_class: str = "DEEP_ARCHIVE"


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketRequest:
    """What is asked.

    Attributes:
        name: the user's stable name.
        purpose: training data or checkpoints.
        versioned: keep overwritten and deleted objects; `None` keeps them for checkpoints, which cannot be made again,
            and not for data, which has a source.
        customer_key: whether a customer-managed KMS key is given.
        transitions: colder tiers; `None` chooses tiers from which objects can still be read at once.
        noncurrent_days: days to keep an overwritten or deleted version.
        abort_incomplete_uploads_days: days after which parts of an unfinished upload are removed.
        archived_prefixes: prefixes that are put away for good.
        removal_policy: what becomes of it when it leaves the template; `retain` unless said otherwise.
    """

    name: str
    purpose: BucketPurpose = BucketPurpose.DATA
    versioned: bool | None = None
    customer_key: bool = False
    transitions: tuple[Transition, ...] | None = None
    noncurrent_days: int = 30
    abort_incomplete_uploads_days: int = 7
    archived_prefixes: tuple[ArchivedPrefix, ...] = ()
    removal_policy: RemovalChoice = "retain"


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketPlan:
    """What was decided; fields as in `BucketRequest`."""

    name: str
    purpose: BucketPurpose
    versioned: bool
    transitions: tuple[Transition, ...]
    noncurrent_days: int
    abort_incomplete_uploads_days: int
    archived_prefixes: tuple[ArchivedPrefix, ...]
    removal_policy: RemovalChoice
    decisions: tuple[Decision, ...]
    warnings: tuple[Finding, ...]


def check_bucket(request: BucketRequest, *, subject: str) -> tuple[Finding, ...]:
    """Every fault of the request; never raises."""
    return (
        *check_choice(request.purpose, tuple(BucketPurpose), subject=f"{subject}.purpose"),
        *_check_transitions(_transitions(request), subject),
        *_check_archived(request, subject),
        *_check_days(request, subject),
    )


def plan_bucket(request: BucketRequest, *, subject: str) -> BucketPlan:
    """Decide.

    Raises:
        FindingsError: with every fault of the request.
    """
    warnings = raise_if_errors(check_bucket(request, subject=subject))
    return BucketPlan(
        name=request.name,
        purpose=BucketPurpose(request.purpose),
        versioned=_versioned(request),
        transitions=_transitions(request),
        noncurrent_days=request.noncurrent_days,
        abort_incomplete_uploads_days=request.abort_incomplete_uploads_days,
        archived_prefixes=request.archived_prefixes,
        removal_policy=request.removal_policy,
        decisions=tuple(_decisions(request, subject)),
        warnings=warnings,
    )


def check_bucket_links(
    buckets: Mapping[str, BucketPlan], links: Sequence[tuple[str, DataRepositoryRequest]]
) -> tuple[Finding, ...]:
    """Every fault between buckets of this cluster and the associations that link them; never raises.

    Args:
        buckets: plans by the name that the associations use.
        links: each association with its subject.
    """
    return tuple(
        found
        for subject, link in links
        if link.bucket in buckets
        for found in _check_link(buckets[link.bucket], link, subject)
    )


def _versioned(request: BucketRequest) -> bool:
    return request.purpose == BucketPurpose.CHECKPOINTS if request.versioned is None else request.versioned


def _transitions(request: BucketRequest) -> tuple[Transition, ...]:
    if request.transitions is not None:
        return request.transitions
    if request.purpose == BucketPurpose.DATA:
        return (Transition(storage_class="INTELLIGENT_TIERING", after_days=0),)
    return (
        Transition(storage_class="STANDARD_IA", after_days=30),
        Transition(storage_class="GLACIER_IR", after_days=90),
    )


def _check_transitions(transitions: tuple[Transition, ...], subject: str) -> Iterator[Finding]:
    least, before = 0, None
    for index, transition in enumerate(transitions):
        where = f"{subject}.transitions[{index}]"
        facts = storage_class(transition.storage_class)
        if facts is None:
            yield finding(
                "UC-STG-001", f"{where}.storage_class", f"{transition.storage_class!r} is not a storage class of S3"
            )
            continue
        yield from _check_class(facts, before, where)
        least = max(least, facts.earliest_days)
        if transition.after_days < least:
            yield finding(
                "UC-STG-004",
                f"{where}.after_days",
                f"{transition.after_days} days is too early for {transition.storage_class}",
                f"use {least} days or more",
            )
        least, before = transition.after_days + max(facts.stay_days, 1), facts


def _check_class(facts: StorageClassFacts, before: StorageClassFacts | None, where: str) -> Iterator[Finding]:
    """A class that a life-cycle rule can reach from the one before, and from which objects are read at once."""
    if before is not None and facts.name not in before.moves_on_to:
        onward = ", ".join(before.moves_on_to)
        yield finding(
            "UC-STG-008",
            f"{where}.storage_class",
            f"S3 does not move objects from {before.name} to {facts.name}",
            f"move on to {onward}" if onward else f"end with {before.name}",
        )
    if not facts.readable_at_once:
        yield finding(
            "UC-DRA-011",
            f"{where}.storage_class",
            f"{facts.name} of the whole bucket: reading an object fails until it is restored",
            "use INTELLIGENT_TIERING, STANDARD_IA or GLACIER_IR, or archive a prefix that is not linked "
            "(archived_prefixes)",
        )


def _check_archived(request: BucketRequest, subject: str) -> Iterator[Finding]:
    for index, archived in enumerate(request.archived_prefixes):
        where = f"{subject}.archived_prefixes[{index}]"
        yield from check_prefix(archived.prefix, subject=f"{where}.prefix")
        if not archived.prefix:
            yield finding("UC-STG-005", f"{where}.prefix", "an empty prefix is the whole bucket", "name a prefix")
        facts = storage_class(archived.storage_class)
        if facts is None:
            yield finding(
                "UC-STG-001", f"{where}.storage_class", f"{archived.storage_class!r} is not a storage class of S3"
            )
        elif archived.after_days < facts.earliest_days:
            yield finding(
                "UC-STG-004",
                f"{where}.after_days",
                f"{archived.after_days} days is too early for {archived.storage_class}",
                f"use {facts.earliest_days} days or more",
            )


def _check_days(request: BucketRequest, subject: str) -> Iterator[Finding]:
    for name in ("noncurrent_days", "abort_incomplete_uploads_days"):
        value = getattr(request, name)
        if value < 1:
            yield finding("UC-STG-004", f"{subject}.{name}", f"{value} days is not a period", "use 1 day or more")


def _check_link(bucket: BucketPlan, link: DataRepositoryRequest, subject: str) -> Iterator[Finding]:
    if "DELETED" in link.auto_export and not bucket.versioned:
        yield finding(
            "UC-DRA-010",
            f"{subject}.auto_export",
            f"DELETED removes objects of {bucket.name!r}, which keeps no versions: a removed file is gone for good",
            "keep versions in the bucket (versioned), or do not export DELETED",
        )
    for archived in bucket.archived_prefixes:
        if lies_within(archived.prefix, link.prefix) or lies_within(link.prefix, archived.prefix):
            yield finding(
                "UC-DRA-011",
                f"{subject}.prefix",
                f"{link.prefix or 'the whole bucket'} meets {archived.prefix!r} of {bucket.name!r}, which moves to "
                f"{archived.storage_class}: its files are listed, but reading one fails until the object is restored",
                "link another prefix, or archive one that is not linked",
            )


def _decisions(request: BucketRequest, subject: str) -> Iterator[Decision]:
    versioned = _versioned(request)
    because = "asked for"
    if request.versioned is None:
        because = (
            "a checkpoint cannot be made again" if versioned else "data has a source; versions would double its cost"
        )
    yield Decision(subject=f"{subject}.versioned", value="yes" if versioned else "no", because=because)
    tiers = ", ".join(f"{each.storage_class} after {each.after_days} days" for each in _transitions(request))
    yield Decision(
        subject=f"{subject}.transitions",
        value=tiers or "none",
        because="asked for"
        if request.transitions is not None
        else "every tier is read at once, so a linked file system never meets an object that has to be restored first",
    )
    yield Decision(
        subject=f"{subject}.abort_incomplete_uploads_days",
        value=f"{request.abort_incomplete_uploads_days} days",
        because="parts of an upload that broke off are paid for and seen in no listing",
    )
