"""The training bucket and what a fleet may do with it."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from support.templates import all_properties, only, resource_types
from ultracluster.findings import FindingsError
from ultracluster.plan.buckets import ArchivedPrefix, BucketPurpose, Transition
from ultracluster.storage.bucket_access import BucketAccess
from ultracluster.storage.training_bucket import TrainingBucket

BUCKET = "AWS::S3::Bucket"


def rule(body, rule_id: str) -> dict:
    (found,) = [each for each in body["LifecycleConfiguration"]["Rules"] if each["Id"] == rule_id]
    return found


def test_what_every_bucket_has(stack, synth) -> None:
    TrainingBucket(stack, "Data")
    template = synth(stack)
    body = only(template, BUCKET)
    assert set(body["PublicAccessBlockConfiguration"].values()) == {True}
    assert body["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    encryption = body["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption == [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]
    assert rule(body, "AbortIncompleteUploads")["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 7}
    assert "VersioningConfiguration" not in body
    statements = only(template, "AWS::S3::BucketPolicy")["PolicyDocument"]["Statement"]
    conditions = [each["Condition"] for each in statements if each["Effect"] == "Deny"]
    assert {"Bool": {"aws:SecureTransport": "false"}} in conditions
    assert {"NumericLessThan": {"s3:TlsVersion": 1.2}} in conditions


def test_bucket_and_policy_are_retained_together(stack, synth) -> None:
    TrainingBucket(stack, "Data")
    bodies = synth(stack)["Resources"].values()
    assert {(each["DeletionPolicy"], each["UpdateReplacePolicy"]) for each in bodies} == {("Retain", "Retain")}


def test_data_moves_to_intelligent_tiering_without_archive_tiers(stack, synth) -> None:
    TrainingBucket(stack, "Data")
    body = only(synth(stack), BUCKET)
    assert rule(body, "ColderTiers")["Transitions"] == [{"StorageClass": "INTELLIGENT_TIERING", "TransitionInDays": 0}]
    assert "IntelligentTieringConfigurations" not in body


def test_checkpoints_keep_versions_for_a_while_and_get_colder(stack, synth) -> None:
    TrainingBucket(stack, "Checkpoints", purpose=BucketPurpose.CHECKPOINTS, noncurrent_days=14)
    body = only(synth(stack), BUCKET)
    assert body["VersioningConfiguration"] == {"Status": "Enabled"}
    cleaning = rule(body, "AbortIncompleteUploads")
    assert cleaning["NoncurrentVersionExpiration"] == {"NoncurrentDays": 14}
    assert cleaning["ExpiredObjectDeleteMarker"] is True
    assert [each["StorageClass"] for each in rule(body, "ColderTiers")["Transitions"]] == ["STANDARD_IA", "GLACIER_IR"]


def test_a_customer_key_is_used_with_a_bucket_key(stack, synth) -> None:
    TrainingBucket(stack, "Data", encryption_key=kms.Key(stack, "Key"))
    (encryption,) = only(synth(stack), BUCKET)["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["BucketKeyEnabled"] is True
    assert encryption["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"


def test_an_archived_prefix_has_its_own_rule(stack, synth) -> None:
    TrainingBucket(stack, "Data", transitions=[], archived_prefixes=[ArchivedPrefix(prefix="old/runs/", after_days=1)])
    body = only(synth(stack), BUCKET)
    archive = rule(body, "Archive-old-runs")
    assert archive["Prefix"] == "old/runs/"
    assert archive["Transitions"] == [{"StorageClass": "DEEP_ARCHIVE", "TransitionInDays": 1}]
    assert len(body["LifecycleConfiguration"]["Rules"]) == 2


def test_access_logs_where_an_audit_asks_for_them(stack, synth) -> None:
    logs = s3.Bucket(stack, "Logs")
    TrainingBucket(stack, "Data", access_log_bucket=logs)
    template = synth(stack)
    (logged,) = [each for each in all_properties(template, BUCKET) if "LoggingConfiguration" in each]
    assert logged["LoggingConfiguration"]["LogFilePrefix"] == "Data/"


def test_faults_come_together(stack) -> None:
    with pytest.raises(FindingsError) as caught:
        TrainingBucket(
            stack,
            "Data",
            transitions=[Transition(storage_class="STANDARD_IA", after_days=1)],
            archived_prefixes=[ArchivedPrefix(prefix="/x")],
        )
    assert [each.subject for each in caught.value.findings] == [
        "Test/Data.transitions[0].after_days",
        "Test/Data.archived_prefixes[0].prefix",
    ]


def test_destroying_is_asked_for(stack, synth) -> None:
    TrainingBucket(stack, "Data", removal_policy=cdk.RemovalPolicy.DESTROY)
    assert {each["DeletionPolicy"] for each in synth(stack)["Resources"].values()} == {"Delete"}


def test_an_existing_bucket_makes_nothing(stack, synth) -> None:
    existing = TrainingBucket.from_existing(stack, "Data", bucket_name="data-bucket", region="eu-west-1")
    assert existing.bucket.bucket_name == "data-bucket"
    assert existing.bucket.env.region == "eu-west-1"
    assert existing.plan is None
    assert not resource_types(synth(stack))


def test_access_is_read_only_unless_asked(stack) -> None:
    bucket = TrainingBucket(stack, "Data")
    access = bucket.access(prefix="run1/")
    assert (access.prefix, access.write) == ("run1/", False)
    assert bucket.access(write=True).write
    with pytest.raises(FindingsError, match="UC-STG-005"):
        BucketAccess(bucket=bucket.bucket, prefix="/run1")
