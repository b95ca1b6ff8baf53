"""UC-DRA-006 and 009 to 012: associations and the buckets that they link."""

from __future__ import annotations

import pytest

from support.policy import assert_finds, assert_not_judged, assert_passes
from support.storage import UNKNOWN, lustre, own_ids, template
from ultracluster.policy.document import Document
from ultracluster.policy.engine import judge
from ultracluster.policy.model import AssemblyModel, Environment, TemplateModel

USE = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"]
ROOT = {
    "Effect": "Allow",
    "Principal": {"AWS": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:root"}},
    "Action": "kms:*",
    "Resource": "*",
}
SERVICE = "s3.data-source.lustre.fsx.amazonaws.com"
ROLE = f"arn:aws:iam::111122223333:role/aws-service-role/{SERVICE}/AWSServiceRoleForFSxS3Access_"


def link(repository=None, *, after=None, **policies):
    policies = {name: {"Events": found} for name, found in policies.items()}
    body = {
        "Type": "AWS::FSx::DataRepositoryAssociation",
        "Properties": {
            "FileSystemId": {"Ref": "Files"},
            "FileSystemPath": "/data",
            "DataRepositoryPath": repository or {"Fn::Sub": "s3://${Data}/train"},
            **({"S3": policies} if policies else {}),
        },
    }
    return body if after is None else {**body, "DependsOn": after}


def bucket(**properties):
    return {"Type": "AWS::S3::Bucket", "Properties": properties}


def app(data=None, **more):
    return template(**{"Files": lustre(), "L": link(), "Data": data or bucket(), **more})


VERSIONED = {"VersioningConfiguration": {"Status": "Enabled"}}
DELETES = link(AutoExportPolicy=["NEW", "DELETED"])


def lifecycle(**rule):
    return bucket(LifecycleConfiguration={"Rules": [{"Status": "Enabled", **rule}]})


def moved(storage_class):
    return {"Transitions": [{"StorageClass": storage_class, "TransitionInDays": 30}]}


def tiers(**more):
    tierings = [{"AccessTier": "DEEP_ARCHIVE_ACCESS", "Days": 180}]
    return bucket(IntelligentTieringConfigurations=[{"Id": "a", "Status": "Enabled", "Tierings": tierings, **more}])


def emptier(**more):
    properties = {"ServiceToken": "arn:aws:lambda:us-east-1:111122223333:function:empty", "BucketName": {"Ref": "Data"}}
    return {"Type": "Custom::S3AutoDeleteObjects", "Properties": properties, **more}


def encrypted(key=None, algorithm="aws:kms"):
    default = {"SSEAlgorithm": algorithm} | ({} if key is None else {"KMSMasterKeyID": key})
    rules = [{"ServerSideEncryptionByDefault": default}]
    return bucket(BucketEncryption={"ServerSideEncryptionConfiguration": rules})


def key(*statements):
    return {
        "Type": "AWS::KMS::Key",
        "Properties": {"KeyPolicy": {"Version": "2012-10-17", "Statement": [ROOT, *statements]}},
    }


def grant(principal=None, actions=USE, **more):
    return {"Effect": "Allow", "Principal": principal or {"AWS": "*"}, "Action": actions, "Resource": "*", **more}


BY_KEY = encrypted({"Fn::GetAtt": ["Key", "Arn"]})
THROUGH_S3 = {"StringEquals": {"kms:CallerAccount": "111122223333", "kms:ViaService": "s3.us-east-1.amazonaws.com"}}
BY_ROLE = {"ArnLike": {"aws:PrincipalArn": f"{ROLE}*"}}
IF_S3 = {"Condition": THROUGH_S3}

PASSING = {
    "UC-DRA-006": {
        "one template": app(L=link(AutoImportPolicy=["NEW"])),
        "no import": app(L=link("s3://other-bucket", AutoExportPolicy=["NEW"])),
    },
    "UC-DRA-009": {
        "a plain bucket": app(),
        "removed first": app(Empty=emptier(), L=link(after="Empty")),
        "an emptier that stays": app(Empty=emptier(DeletionPolicy="Retain")),
    },
    "UC-DRA-010": {
        "versioned": app(bucket(**VERSIONED), L=DELETES),
        "no deletions": app(L=link(AutoExportPolicy=["NEW"])),
    },
    "UC-DRA-011": {
        "readable classes": app(lifecycle(**moved("GLACIER_IR"))),
        "intelligent tiering": app(lifecycle(**moved("INTELLIGENT_TIERING"))),
        "another prefix": app(lifecycle(Prefix="old/", **moved("DEEP_ARCHIVE"))),
        "expiry of another prefix": app(lifecycle(Prefix="tmp/", ExpirationInDays=7)),
        "expiry of versions": app(lifecycle(NoncurrentVersionExpiration={"NoncurrentDays": 30})),
        "switched off": app(bucket(LifecycleConfiguration={"Rules": [{"Status": "Disabled", **moved("GLACIER")}]})),
        "tiers elsewhere": app(tiers(Prefix="old")),
    },
    "UC-DRA-012": {
        "encryption by S3": app(encrypted(algorithm="AES256")),
        "the key of S3": app(encrypted()),
        "the role": app(BY_KEY, Key=key(grant({"AWS": f"{ROLE}fs-0123456789abcdef0"}))),
        "the role by its pattern": app(BY_KEY, Key=key(grant(Condition={**THROUGH_S3, **BY_ROLE}))),
        "the account through S3": app(BY_KEY, Key=key(grant({"AWS": "111122223333"}, **IF_S3))),
        "everyone through S3": app(BY_KEY, Key=key(grant("*", **IF_S3))),
        "in two statements": app(BY_KEY, Key=key(grant(actions=USE[:2], **IF_S3), grant(actions=USE[2:], **IF_S3))),
        "by an alias": app(
            encrypted({"Ref": "Alias"}),
            Alias={"Type": "AWS::KMS::Alias", "Properties": {"AliasName": "alias/data", "TargetKeyId": {"Ref": "Key"}}},
            Key=key(grant(**IF_S3)),
        ),
    },
}


@pytest.mark.parametrize(
    ("rule_id", "found"),
    [(rule_id, found) for rule_id, group in PASSING.items() for found in group.values()],
    ids=[f"{rule_id} {name}" for rule_id, group in PASSING.items() for name in group],
)
def test_what_is_right(rule_id, found):
    assert_passes(rule_id, found)


FAULTS = {
    "emptied": ("UC-DRA-009", app(Empty=emptier()), "DataRepositoryPath: Data is emptied by Empty"),
    "not versioned": ("UC-DRA-010", app(L=DELETES), "AutoExportPolicy.Events: DELETED removes objects of 'Data'"),
    "suspended": ("UC-DRA-010", app(bucket(VersioningConfiguration={"Status": "Suspended"}), L=DELETES), "DELETED"),
    "archived": ("UC-DRA-011", app(lifecycle(**moved("DEEP_ARCHIVE"))), "which moves to DEEP_ARCHIVE"),
    "archived above": ("UC-DRA-011", app(lifecycle(Prefix="train/old", **moved("GLACIER"))), "'train/old'"),
    "the older form": ("UC-DRA-011", app(lifecycle(Transition={"StorageClass": "GLACIER"})), "GLACIER"),
    "archive tiers": ("UC-DRA-011", app(tiers()), "DEEP_ARCHIVE_ACCESS"),
    "expired": ("UC-DRA-011", app(lifecycle(Prefix="train/", ExpirationInDays=30)), "'train' of Data, which expires"),
    "expired on a date": ("UC-DRA-011", app(lifecycle(ExpirationDate="2027-01-01")), "everything in Data"),
    "root only": ("UC-DRA-012", app(BY_KEY, Key=key()), "Key KeyPolicy: lacks kms:Encrypt"),
    "default policy": ("UC-DRA-012", app(BY_KEY, Key={"Type": "AWS::KMS::Key"}), "lacks"),
    "another service": (
        "UC-DRA-012",
        app(BY_KEY, Key=key(grant(Condition={"StringEquals": {"kms:ViaService": "ec2.us-east-1.amazonaws.com"}}))),
        "lacks",
    ),
    "another role": (
        "UC-DRA-012",
        app(BY_KEY, Key=key(grant({"AWS": {"Fn::GetAtt": ["Role", "Arn"]}})), Role={"Type": "AWS::IAM::Role"}),
        "lacks",
    ),
    "an action is missing": (
        "UC-DRA-012",
        app(BY_KEY, Key=key(grant(actions=USE[:-2], **IF_S3))),
        "lacks kms:GenerateDataKey, kms:DescribeKey for",
    ),
}


@pytest.mark.parametrize(("rule_id", "found", "place"), FAULTS.values(), ids=FAULTS)
def test_what_is_wrong(rule_id, found, place):
    assert_finds(rule_id, found, place=place)
    assert own_ids(found) == {rule_id}


OUTSIDE = {"Files": lustre(), "L": link("s3://demo-bucket", AutoImportPolicy=["NEW"], AutoExportPolicy=["DELETED"])}
UNKNOWNS = {
    "UC-DRA-006": template(**OUTSIDE),
    "UC-DRA-009": template(**OUTSIDE),
    "UC-DRA-010": template(**OUTSIDE),
    "UC-DRA-011": app(lifecycle(Prefix=UNKNOWN, **moved("GLACIER"))),
    "UC-DRA-012": app(encrypted(UNKNOWN)),
}


@pytest.mark.parametrize(("rule_id", "found"), UNKNOWNS.items(), ids=UNKNOWNS)
def test_what_cannot_be_known(rule_id, found):
    assert_not_judged(rule_id, found)


def test_more_that_cannot_be_known():
    assert_not_judged("UC-DRA-010", app(L=link(AutoExportPolicy=[UNKNOWN])))
    assert_not_judged("UC-DRA-011", app(lifecycle(TagFilters=[{"Key": "old", "Value": "yes"}], **moved("GLACIER"))))
    assert_not_judged("UC-DRA-012", app(BY_KEY, Key=key(grant({"AWS": UNKNOWN}))))
    assert_not_judged("UC-DRA-012", app(encrypted("arn:aws:kms:us-east-1:111122223333:key/1111aaaa")))


def test_a_bucket_by_its_name():
    found = app(bucket(BucketName="demo-bucket"), L=link("s3://demo-bucket/train", AutoExportPolicy=["DELETED"]))
    assert own_ids(found) == {"UC-DRA-010"}


def over_regions(repository, *regions):
    """The file system and its association in one Region, the bucket in another."""
    files = {"Resources": {"Files": lustre(), "L": link(repository, AutoImportPolicy=["NEW"])}}
    data = {"Resources": {"Data": bucket(BucketName="demo-bucket")}}
    models = [
        TemplateModel(Document(name, "", body), environment=Environment(region=region))
        for name, body, region in zip(("files", "data"), (files, data), regions, strict=True)
    ]
    found = judge(AssemblyModel(models), wanted="UC-DRA-006".__eq__)
    return [fault.message for fault in found.faults], bool(found.not_judged)


def test_import_from_another_region():
    messages, _ = over_regions("s3://demo-bucket/data", "us-east-1", "eu-west-1")
    assert messages == ["the bucket is in eu-west-1, the file system in us-east-1; import needs the same Region"]


@pytest.mark.parametrize(
    ("repository", "regions", "doubtful"),
    [
        ("s3://demo-bucket/data", ("us-east-1", "us-east-1"), False),
        ("s3://demo-bucket/data", (None, "eu-west-1"), True),
        ("s3://another-bucket", ("us-east-1", "eu-west-1"), True),
    ],
)
def test_import_within_a_region(repository, regions, doubtful):
    assert over_regions(repository, *regions) == ([], doubtful)


def test_two_properties_under_one_condition():
    big = {"Big": {"Fn::Equals": [UNKNOWN, "big"]}}
    status = {"Fn::If": ["Big", "Enabled", "Suspended"]}
    exported = {"Fn::If": ["Big", ["DELETED"], ["NEW"]]}
    resources = {
        "Files": lustre(),
        "L": link(AutoExportPolicy=exported),
        "Data": bucket(VersioningConfiguration={"Status": status}),
    }
    assert_passes("UC-DRA-010", template(conditions=big, **resources))
    prefix = {"Fn::If": ["Big", "old", "tmp"]}
    linked = {"Fn::If": ["Big", "s3://demo-bucket/tmp", "s3://demo-bucket/old"]}
    rules = [{"Status": "Enabled", "Prefix": prefix, **moved("GLACIER")}]
    archived = bucket(BucketName="demo-bucket", LifecycleConfiguration={"Rules": rules})
    assert_passes("UC-DRA-011", template(conditions=big, Files=lustre(), L=link(linked), Data=archived))
