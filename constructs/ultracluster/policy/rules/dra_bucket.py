"""Rules between data repository associations and the buckets that they link."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ultracluster.facts.s3 import storage_class
from ultracluster.plan.buckets import ArchivedPrefix, BucketPlan, BucketPurpose, check_bucket_links
from ultracluster.plan.data_repository import DataRepositoryRequest, check_data_repositories
from ultracluster.plan.paths import lies_within
from ultracluster.policy.graph.data_links import BUCKET, bucket_of, events, repository
from ultracluster.policy.graph.dependencies import comes_after
from ultracluster.policy.graph.file_systems import ASSOCIATION
from ultracluster.policy.graph.key_policies import grants_lustre_links, key_of
from ultracluster.policy.problem import Problem, from_findings
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_EMPTIER = "Custom::S3AutoDeleteObjects"
_ANY = DataRepositoryRequest(file_system_path="/", bucket="linked", auto_import=())
_PLAIN = BucketPlan(
    name="",
    purpose=BucketPurpose.DATA,
    versioned=False,
    transitions=(),
    noncurrent_days=1,
    abort_incomplete_uploads_days=1,
    archived_prefixes=(),
    removal_policy="retain",
    decisions=(),
    warnings=(),
)


@rule("UC-DRA-006", on=ASSOCIATION)
def import_within_the_region(association: Resource) -> Iterator[Problem]:
    """What is imported lies in the Region of the file system."""
    listed = events(association, "AutoImportPolicy")
    if not listed:
        return
    bucket = bucket_of(association)
    if bucket.template == association.template:
        return
    regions = [each.template.environment.region for each in (association, bucket)]
    if None in regions:
        raise NotKnown(f"the Region of {association} or {bucket}")
    request = replace(_ANY, auto_import=listed, bucket_region=regions[1])
    found = check_data_repositories([request], None, version="", subject="", region=regions[0])
    where = association.get("S3", "AutoImportPolicy")
    words = {"auto_import empty, import_metadata_on_create off": "no AutoImportPolicy, no BatchImportMetaDataOnCreate"}
    yield from from_findings((each for each in found if each.rule_id == "UC-DRA-006"), lambda _: where, names=words)


@rule("UC-DRA-009", on=ASSOCIATION)
def bucket_outlives_the_link(association: Resource) -> Iterator[Problem]:
    """A linked bucket is not emptied before the association is gone."""
    bucket = bucket_of(association)
    for emptier in bucket.referrers(_EMPTIER):
        kept = emptier.attribute("DeletionPolicy").text("Delete") != "Delete"
        if kept or emptier.get("BucketName").resource(BUCKET) != bucket:
            continue
        if emptier.template != association.template and _names(association, bucket):
            continue  # the stack with the association goes first: it imports the bucket
        if not comes_after(association, emptier):
            message = f"{bucket} is emptied by {emptier} when the stack is deleted, maybe before this link is removed"
            fix = f"retain the bucket, or let the association depend on {emptier.logical_id} (DependsOn)"
            yield Problem(association.get("DataRepositoryPath"), message, fix)


def _names(association: Resource, bucket: Resource) -> bool:
    return association in bucket.referrers(ASSOCIATION)


@rule("UC-DRA-010", on=ASSOCIATION)
def deletions_into_a_versioned_bucket(association: Resource) -> Iterator[Problem]:
    """Deletions are exported into a bucket that keeps versions."""
    listed = events(association, "AutoExportPolicy")
    if "DELETED" not in listed:
        return
    bucket = bucket_of(association)
    versioned = bucket.get("VersioningConfiguration", "Status").text("") == "Enabled"
    plan = replace(_PLAIN, name=str(bucket), versioned=versioned)
    where = association.get("S3", "AutoExportPolicy", "Events")
    found = check_bucket_links({_ANY.bucket: plan}, [("", replace(_ANY, auto_export=listed))])
    words = {"versions in the bucket (versioned)": "versions in the bucket (VersioningConfiguration)"}
    yield from from_findings((each for each in found if each.rule_id == "UC-DRA-010"), lambda _: where, names=words)


@rule("UC-DRA-011", on=ASSOCIATION)
def linked_prefix_stays_readable(association: Resource) -> Iterator[Problem]:
    """What is linked is neither moved to an archive nor expired by the bucket."""
    bucket = bucket_of(association)
    lifecycle = bucket.get("LifecycleConfiguration", "Rules")
    tiers = bucket.get("IntelligentTieringConfigurations")
    if not (lifecycle.exists or tiers.exists):
        return
    found = repository(association)
    linked = found.prefix if found is not None else ""
    where = association.get("DataRepositoryPath")
    for entry in [*lifecycle.items(), *tiers.items()]:
        with entry.judged_apart():
            if entry["Status"].text() != "Enabled":
                continue
            prefix = _prefix(entry)
            archived = tuple(ArchivedPrefix(prefix=prefix, storage_class=name) for name in _archives(entry))
            plan = replace(_PLAIN, name=str(bucket), versioned=True, archived_prefixes=archived[:1])
            faults = check_bucket_links({_ANY.bucket: plan}, [("", replace(_ANY, prefix=linked))])
            yield from from_findings(faults, lambda _: where)
            if not archived and _expires(entry) and (lies_within(linked, prefix) or lies_within(prefix, linked)):
                met = f"{prefix!r} of {bucket}" if prefix else f"everything in {bucket}"
                message = f"{linked or 'the whole bucket'} meets {met}, which expires: its files vanish"
                yield Problem(where, message, "expire noncurrent versions only, or a prefix that is not linked")


def _prefix(entry: Value) -> str:
    """The prefix that a rule of the bucket is for.

    Raises:
        NotKnown: not known, or it is for objects with certain tags or of a certain size.
    """
    narrowed = ("TagFilters", "ObjectSizeGreaterThan", "ObjectSizeLessThan")
    if any(entry[key].exists for key in narrowed):
        raise NotKnown("which objects have the tags or the size of a rule")
    return entry["Prefix"].text("").strip("/")


def _archives(entry: Value) -> Iterator[str]:
    """Storage classes and access tiers of a rule from which an object has to be restored."""
    single = [entry["Transition"]] if entry["Transition"].exists else []
    for transition in [*entry["Transitions"].items(), *single]:
        name = transition["StorageClass"].text()
        facts = storage_class(name)
        if facts is not None and not facts.readable_at_once:
            yield name
    for tier in entry["Tierings"].items():
        yield tier["AccessTier"].text()


def _expires(entry: Value) -> bool:
    return entry["ExpirationInDays"].exists or entry["ExpirationDate"].exists


@rule("UC-DRA-012", on=ASSOCIATION)
def key_lets_lustre_in(association: Resource) -> Iterator[Problem]:
    """The customer key of a linked bucket lets the role of the associations use it."""
    bucket = bucket_of(association)
    for entry in bucket.get("BucketEncryption", "ServerSideEncryptionConfiguration").items():
        default = entry["ServerSideEncryptionByDefault"]
        if not default["SSEAlgorithm"].text("").startswith("aws:kms") or not default["KMSMasterKeyID"].exists:
            continue
        key = key_of(default["KMSMasterKeyID"])
        if key is None:
            raise NotKnown(f"the policy of key {default['KMSMasterKeyID'].shown}")
        missing = grants_lustre_links(key)
        if missing:
            message = f"lacks {', '.join(missing)} for the role by which FSx reads {bucket}, linked by {association}"
            yield Problem(key.get("KeyPolicy"), message)
