"""Associations with S3 in a template."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from support.templates import only, resources
from ultracluster.findings import FindingsError
from ultracluster.plan.buckets import ArchivedPrefix, BucketPurpose
from ultracluster.plan.data_repository import plan_data_repositories
from ultracluster.plan.lustre import Persistent2
from ultracluster.storage.data_repository import DataRepository, DataRepositoryAssociations
from ultracluster.storage.lustre_file_system import LustreFileSystem
from ultracluster.storage.training_bucket import TrainingBucket

ASSOCIATION = "AWS::FSx::DataRepositoryAssociation"


def lustre(stack, network, *links: DataRepository, **arguments) -> LustreFileSystem:
    return LustreFileSystem(
        stack,
        "Data",
        network=network,
        availability_zone="us-east-1a",
        deployment=Persistent2(capacity_gib=1200, throughput_mbps_per_tib=125),
        data_repositories=links,
        **arguments,
    )


def existing(stack, name: str = "data-bucket", **attributes) -> s3.IBucket:
    return s3.Bucket.from_bucket_attributes(stack, name, bucket_name=name, **attributes)


def test_what_is_written(stack, network, synth) -> None:
    link = DataRepository(file_system_path="/data", bucket=existing(stack), prefix="train/", auto_export=["NEW"])
    fs = lustre(stack, network, link)
    template = synth(stack)
    assert only(template, ASSOCIATION) == {
        "FileSystemId": {"Ref": stack.get_logical_id(fs.cfn_file_system)},
        "FileSystemPath": "/data",
        "DataRepositoryPath": "s3://data-bucket/train/",
        "BatchImportMetaDataOnCreate": True,
        "ImportedFileChunkSize": 1024,
        "S3": {
            "AutoImportPolicy": {"Events": ["NEW", "CHANGED", "DELETED"]},
            "AutoExportPolicy": {"Events": ["NEW"]},
        },
    }
    (association,) = resources(template, ASSOCIATION).values()
    assert (association["DeletionPolicy"], association["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_a_whole_bucket_and_no_direction(stack, network, synth) -> None:
    lustre(
        stack,
        network,
        DataRepository(file_system_path="/", bucket=existing(stack), auto_import=(), import_metadata_on_create=False),
    )
    body = only(synth(stack), ASSOCIATION)
    assert body["DataRepositoryPath"] == "s3://data-bucket"
    assert body["BatchImportMetaDataOnCreate"] is False
    assert "S3" not in body


def test_an_association_is_named_by_its_directory_alone(stack, network, make_app, synth) -> None:
    lustre(
        stack,
        network,
        DataRepository(file_system_path="/a-b", bucket=existing(stack, "bucket-1")),
        DataRepository(file_system_path="/a/b", bucket=existing(stack, "bucket-2")),
    )
    ids = {body["Properties"]["FileSystemPath"]: key for key, body in resources(synth(stack), ASSOCIATION).items()}
    other = cdk.Stack(make_app(), "Test", env=cdk.Environment(account="111122223333", region="us-east-1"))
    links = [DataRepository(file_system_path="/a/b", bucket=existing(other, "bucket-3"), prefix="x")]
    DataRepositoryAssociations(
        Construct(other, "Data"),
        "Associations",
        file_system_id="fs-0123456789abcdef0",
        plans=plan_data_repositories([each.request() for each in links]),
        repositories=links,
        removal_policy=cdk.RemovalPolicy.RETAIN,
    )
    assert set(resources(synth(other), ASSOCIATION)) == {ids["/a/b"]}
    assert ids["/a/b"] != ids["/a-b"]


def test_the_link_goes_before_its_bucket_is_emptied(stack, network, synth) -> None:
    bucket = s3.Bucket(stack, "Emptied", removal_policy=cdk.RemovalPolicy.DESTROY, auto_delete_objects=True)
    lustre(stack, network, DataRepository(file_system_path="/data", bucket=bucket))
    template = synth(stack)
    (association,) = resources(template, ASSOCIATION).values()
    (emptier,) = resources(template, "Custom::S3AutoDeleteObjects")
    assert emptier in association["DependsOn"]


def test_the_key_of_the_bucket_lets_fsx_in(stack, network, synth) -> None:
    bucket = s3.Bucket(stack, "Bucket", encryption_key=kms.Key(stack, "Key"))
    lustre(stack, network, DataRepository(file_system_path="/data", bucket=bucket))
    statements = only(synth(stack), "AWS::KMS::Key")["KeyPolicy"]["Statement"]
    (statement,) = [each for each in statements if each.get("Sid") == "LustreLinks"]
    assert {"kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*", "kms:DescribeKey"} == set(
        statement["Action"]
    )
    assert "AWSServiceRoleForFSxS3Access_*" in str(statement["Condition"]["ArnLike"])
    assert statement["Condition"]["StringEquals"]["kms:CallerAccount"] == "111122223333"


def test_a_key_outside_of_the_application_is_left_as_it_is(stack, network, synth) -> None:
    key = kms.Key.from_key_arn(
        stack, "Key", "arn:aws:kms:us-east-1:111122223333:key/12345678-1234-1234-1234-123456789012"
    )
    link = DataRepository(file_system_path="/data", bucket=existing(stack, encryption_key=key))
    lustre(stack, network, link)
    assert only(synth(stack), ASSOCIATION)["FileSystemPath"] == "/data"


def test_a_bucket_in_another_region_is_only_exported_to(stack, network) -> None:
    far = existing(stack, region="eu-west-1")
    with pytest.raises(FindingsError, match=r"data_repositories\[0\]\.auto_import.*eu-west-1.*UC-DRA-006"):
        lustre(stack, network, DataRepository(file_system_path="/data", bucket=far))


def test_the_same_bucket_twice_is_seen_by_its_place_in_the_tree(stack, network) -> None:
    bucket = existing(stack)
    with pytest.raises(FindingsError, match="UC-DRA-004"):
        lustre(
            stack,
            network,
            DataRepository(file_system_path="/a", bucket=bucket),
            DataRepository(file_system_path="/b", bucket=bucket),
        )


def test_a_training_bucket_brings_its_plan_along(stack, network, app) -> None:
    data = TrainingBucket(stack, "Bucket", archived_prefixes=[ArchivedPrefix(prefix="old/")])
    lustre(stack, network, DataRepository(file_system_path="/data", bucket=data, auto_export=["DELETED"]))
    messages = [str(each.entry.data) for each in app.synth().get_stack_by_name("Test").messages]
    assert [rule for rule in ("UC-DRA-010", "UC-DRA-011") if rule in str(messages)] == ["UC-DRA-010", "UC-DRA-011"]


def test_checkpoints_with_versions_may_export_deletions(stack, network, app) -> None:
    bucket = TrainingBucket(stack, "Bucket", purpose=BucketPurpose.CHECKPOINTS)
    lustre(stack, network, DataRepository(file_system_path="/ckpt", bucket=bucket, auto_export=["NEW", "DELETED"]))
    assert "UC-DRA" not in str([each.entry.data for each in app.synth().get_stack_by_name("Test").messages])
