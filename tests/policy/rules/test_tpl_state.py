"""UC-TPL-006, 007 and 012: state that outlives its stack, stands apart and survives an update."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.fabric import batch, group, launch_template, node_group, pcs, template
from support.policy import assert_finds, assert_not_judged, assert_passes, judged
from ultracluster.policy.compare import compare
from ultracluster.policy.load import load

EFS, FSX, RDS = "AWS::EFS::FileSystem", "AWS::FSx::FileSystem", "AWS::RDS::DBInstance"
KEPT = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}


def held(kind: str = EFS, policies: dict[str, Any] | None = None, **properties: Any) -> dict[str, Any]:
    return {"Type": kind, "Properties": properties, **(policies or {})}


def ids(*templates: Any) -> set[str]:
    return {found for found in judged(*templates).ids if found.startswith("UC-TPL")}


# UC-TPL-006


@pytest.mark.parametrize(
    ("resource", "place"),
    [
        (held(), "X : DeletionPolicy is absent, which means Delete and UpdateReplacePolicy is absent, which means"),
        (held(EFS, {**KEPT, "DeletionPolicy": "Delete"}), "X DeletionPolicy: DeletionPolicy is Delete, so"),
        (held(EFS, {"DeletionPolicy": "Retain"}), "X : UpdateReplacePolicy is absent, which means Delete, so"),
        (held(FSX, None, FileSystemType="OPENZFS"), "so the file system is lost"),
        (held(FSX, {**KEPT, "UpdateReplacePolicy": "Snapshot"}, FileSystemType="ONTAP"), "UpdateReplacePolicy is Snap"),
        (held(RDS, {"DeletionPolicy": "Delete"}), "DeletionPolicy is Delete, so the database is lost"),
        (held("AWS::RDS::DBCluster", {"UpdateReplacePolicy": "Delete"}), "UpdateReplacePolicy is Delete, so"),
        (held("AWS::Logs::LogGroup", None, LogGroupName="/aws/eks/train/cluster"), "so the audit log is lost"),
    ],
)  # fmt: skip
def test_state_that_goes_with_its_stack(resource, place):
    assert_finds("UC-TPL-006", template(X=resource), place=place)
    assert ids(template(X=resource)) == {"UC-TPL-006"}


@pytest.mark.parametrize(
    "resource",
    [
        held(EFS, KEPT),
        held(EFS, {**KEPT, "DeletionPolicy": "RetainExceptOnCreate"}),
        held(FSX, None, FileSystemType="LUSTRE"),
        held(RDS),
        held(RDS, {"DeletionPolicy": "Snapshot", "UpdateReplacePolicy": "Snapshot"}),
        held(RDS, {"DeletionPolicy": "Delete"}, DBClusterIdentifier="train"),
        held("AWS::RDS::DBCluster"),
        held("AWS::S3::Bucket"),
        held("AWS::Logs::LogGroup", None, LogGroupName="/ultracluster/train"),
        held("AWS::KMS::Key"),
    ],
)
def test_state_that_stays(resource):
    assert_passes("UC-TPL-006", template(X=resource))


def test_a_key_of_what_is_kept():
    data = held(EFS, KEPT, KmsKeyId={"Ref": "Key"})
    found = template(Key=held("AWS::KMS::Key"), Data=data)
    assert_finds("UC-TPL-006", found, place="Key : DeletionPolicy is absent")
    assert_finds("UC-TPL-006", found, place="so what Data keeps is lost")
    assert_passes("UC-TPL-006", template(Key=held("AWS::KMS::Key", KEPT), Data=data))
    log = held("AWS::Logs::LogGroup", None, KmsKeyId={"Fn::GetAtt": "Key.Arn"})
    assert_passes("UC-TPL-006", template(Key=held("AWS::KMS::Key"), Log=log))


@pytest.mark.parametrize(("kind", "name"), [("Custom::S3AutoDeleteObjects", "Own"), ("Custom::Own", "EmptyBucket")])
def test_a_bucket_that_somebody_empties(kind, name):
    cleaner = {name: held(kind, None, BucketName={"Ref": "Data"})}
    found = template(Data=held("AWS::S3::Bucket", {"DeletionPolicy": "Delete"}), **cleaner)
    assert_finds("UC-TPL-006", found, place="so everything in the bucket is lost")
    assert_passes("UC-TPL-006", template(Data=held("AWS::S3::Bucket", KEPT), **cleaner))
    copier = {"Copy": held("Custom::CopyScripts", None, BucketName={"Ref": "Data"})}
    assert_passes("UC-TPL-006", template(Data=held("AWS::S3::Bucket"), **copier))


def test_a_trail_makes_a_log_an_audit_log():
    trail = held("AWS::CloudTrail::Trail", None, CloudWatchLogsLogGroupArn={"Fn::GetAtt": "Log.Arn"})
    assert_finds("UC-TPL-006", template(Log=held("AWS::Logs::LogGroup"), Trail=trail), place="the audit log")


@pytest.mark.parametrize(
    "resource", [held(FSX, None, FileSystemType={"Ref": "Own"}), held(EFS, {**KEPT, "DeletionPolicy": {"Ref": "Own"}})]
)
def test_state_that_is_not_known(resource):
    assert_not_judged("UC-TPL-006", template({"Own": {"Type": "String"}}, X=resource))


def test_a_policy_by_parameter():
    def made(default: str) -> dict[str, Any]:
        parameters = {"Own": {"Type": "String", "Default": default, "AllowedValues": ["Retain", "Delete"]}}
        return template(parameters, X=held(EFS, {**KEPT, "DeletionPolicy": {"Ref": "Own"}}))

    # Whoever chooses Delete has been asked; the finding says under which value it shows.
    assert_finds("UC-TPL-006", made("Delete"))
    assert_finds("UC-TPL-006", made("Retain"), place="DeletionPolicy is Delete")


# UC-TPL-007


@pytest.mark.parametrize(
    "compute",
    [
        group(),
        node_group(),
        pcs(),
        batch(),
        {"Type": "AWS::EC2::EC2Fleet", "Properties": {}},
        {"Type": "AWS::SageMaker::Cluster", "Properties": {}},
    ],
)
@pytest.mark.parametrize("kind", [EFS, FSX])
def test_state_beside_compute(kind, compute):
    data = held(kind, KEPT, FileSystemType="OPENZFS")
    found = template(Data=data, Nodes=compute, Lt=launch_template(None))
    assert_finds("UC-TPL-007", found, place="Data : it stands in one stack with Nodes")


def test_state_and_compute_apart():
    data, nodes = template(Data=held(EFS, KEPT)), template(Nodes=group(), Lt=launch_template(None))
    assert_passes("UC-TPL-007", data, nodes)
    assert_passes("UC-TPL-007", template(Data=held("AWS::S3::Bucket"), Nodes=group(), Lt=launch_template(None)))


def test_state_or_compute_but_never_both():
    conditions = {"Own": {"Fn::Equals": [{"Ref": "Own"}, "yes"]}, "No": {"Fn::Not": [{"Condition": "Own"}]}}
    parameters = {"Own": {"Type": "String", "Default": "yes"}}

    def made(condition: str) -> dict[str, Any]:
        data, nodes = {**held(EFS, KEPT), "Condition": "Own"}, {**group(), "Condition": condition}
        return template(parameters, conditions, Data=data, Nodes=nodes, Lt=launch_template(None))

    assert_passes("UC-TPL-007", made("No"))
    assert_finds("UC-TPL-007", made("Own"))


# UC-TPL-012


@pytest.fixture
def changes(tmp_path):
    """What an update from one template to another would do, as `place: message`."""

    def found(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
        loaded = []
        for name, body in (("old", before), ("new", after)):
            (tmp_path / name).mkdir()
            (tmp_path / name / "storage.json").write_text(json.dumps(body))
            loaded.append(load([str(tmp_path / name)]))
        faults = compare(*loaded, wanted=lambda rule_id: rule_id == "UC-TPL-012")
        return [f"{fault.resource_id} {fault.property_path}: {fault.message}" for fault in faults]

    return found


def zfs(**settings: Any) -> dict[str, Any]:
    return held(FSX, KEPT, FileSystemType="OPENZFS", SubnetIds=[{"Ref": "Subnet"}], OpenZFSConfiguration=settings)


SUBNETS = {"Subnet": {"Type": "AWS::EC2::Subnet"}, "Other": {"Type": "AWS::EC2::Subnet"}}


def test_another_deployment_type(changes):
    before, after = zfs(DeploymentType="SINGLE_AZ_1"), zfs(DeploymentType="SINGLE_AZ_HA_2")
    (found,) = changes(template(Home=before, **SUBNETS), template(Home=after, **SUBNETS))
    assert found == (
        "Home OpenZFSConfiguration.DeploymentType: changes from SINGLE_AZ_1 to SINGLE_AZ_HA_2, which replaces Home"
    )


def test_another_subnet(changes):
    after = zfs()
    after["Properties"]["SubnetIds"] = [{"Ref": "Other"}]
    (found,) = changes(template(Home=zfs(), **SUBNETS), template(Home=after, **SUBNETS))
    assert found == "Home SubnetIds: changes from [!Ref Subnet] to [!Ref Other], which replaces Home"


@pytest.mark.parametrize(("policies", "fate"), [(KEPT, "leaves it behind"), (None, "destroys it")])
def test_another_name(changes, policies, fate):
    before, after = template(Home=held(EFS, policies)), template(Shared=held(EFS, policies))
    (found,) = changes(before, after)
    assert found.startswith("Home : Home is no longer in the template, so an update")
    assert fate in found


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        (EFS, {"Encrypted": False}, {"Encrypted": True}),
        (EFS, {}, {"KmsKeyId": "alias/own"}),
        (FSX, {"KmsKeyId": {"Ref": "One"}}, {"KmsKeyId": {"Ref": "Two"}}),
        ("AWS::S3::Bucket", {"BucketName": "a"}, {"BucketName": "b"}),
        ("AWS::PCS::Cluster", {"Size": "SMALL"}, {"Size": "MEDIUM"}),
        ("AWS::SageMaker::Cluster", {"Orchestrator": {"Eks": {"ClusterArn": "a"}}}, {"Orchestrator": {}}),
    ],
)
def test_a_create_only_property(changes, kind, before, after):
    keys = {"One": held("AWS::KMS::Key"), "Two": held("AWS::KMS::Key")}
    (found,) = changes(template(X=held(kind, None, **before), **keys), template(X=held(kind, None, **after), **keys))
    assert "which replaces X" in found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (template(X=held(EFS, KEPT, ThroughputMode="bursting")), template(X=held(EFS, KEPT, ThroughputMode="elastic"))),
        (template(), template(X=held(EFS, KEPT))),
        (template(X=held(EFS, KEPT, KmsKeyId={"Ref": "Own"})), template(X=held(EFS, KEPT, KmsKeyId="alias/own"))),
        (template(X=held(EFS, KEPT, Encrypted=True)), template(X=held(EFS, KEPT, Encrypted="true"))),
    ],
)
def test_changes_in_place_and_those_that_are_not_known(changes, before, after):
    before.setdefault("Resources", {})
    assert changes(before, after) == []
