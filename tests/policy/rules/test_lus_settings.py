"""UC-LUS-016 to 020 and 022: what surrounds the shape of a Lustre file system."""

from __future__ import annotations

import pytest

from support.policy import assert_finds, assert_not_judged, assert_passes
from support.storage import RETAINED, UNKNOWN, lustre, own_ids, scratch, security_group, template

KEY = "arn:aws:kms:us-east-1:111122223333:key/1111aaaa-22bb-33cc-44dd-555555eeeeee"
ON_CREATE = {"DeletionPolicy": "RetainExceptOnCreate", "UpdateReplacePolicy": "Retain"}
ARN = "arn:aws:logs:us-east-1:111122223333:log-group:"
GROUP = {"Fn::GetAtt": ["Own", "GroupId"]}
LINK = {
    "Type": "AWS::FSx::DataRepositoryAssociation",
    "Properties": {
        "FileSystemId": {"Ref": "Files"},
        "FileSystemPath": "/data",
        "DataRepositoryPath": "s3://demo-bucket/data",
    },
}


def logged(level="WARN_ERROR", destination=None):
    written = {"Level": level} | ({} if destination is None else {"Destination": destination})
    return lustre({"LogConfiguration": written})


def log_group(**properties):
    return {"Type": "AWS::Logs::LogGroup", "Properties": properties}


LOG_GROUP = {"Fn::GetAtt": ["Log", "Arn"]}

PASSING = {
    "key": {"Files": lustre(KmsKeyId=KEY)},
    "backups": {"Files": lustre({"AutomaticBackupRetentionDays": 7, "DailyAutomaticBackupStartTime": "04:30"})},
    "backups off": {"Files": scratch({"AutomaticBackupRetentionDays": 0})},
    "tags of backups": {"Files": lustre({"CopyTagsToBackups": True})},
    "linked without backups": {"Files": lustre(), "Link": LINK},
    "retained": {"Files": lustre()},
    "retained except on create": {"Files": lustre(attributes=ON_CREATE)},
    "scratch need not be kept": {"Files": scratch()},
    "level alone": {"Files": logged()},
    "disabled": {"Files": logged("DISABLED")},
    "destination": {"Files": logged(destination=f"{ARN}/aws/fsx/train")},
    "destination by name": {"Files": logged(destination={"Fn::Sub": f"{ARN}/aws/fsx/${{AWS::StackName}}"})},
    "destination by reference": {
        "Files": logged(destination={"Fn::Join": ["", [ARN, {"Ref": "Log"}]]}),
        "Log": log_group(LogGroupName={"Fn::Sub": "/aws/fsx/${AWS::StackName}"}),
    },
    "destination of the template": {
        "Files": logged(destination=LOG_GROUP),
        "Log": log_group(LogGroupName="/aws/fsx-x"),
    },
}


@pytest.mark.parametrize("resources", PASSING.values(), ids=PASSING)
def test_what_is_right(resources):
    assert own_ids(template(**resources)) == set()


def test_an_own_group_is_right():
    assert_passes("UC-LUS-019", template(Files=lustre(SecurityGroupIds=[GROUP]), Own=security_group()))


FAULTS = {
    "key of scratch": ("UC-LUS-016", {"Files": scratch(KmsKeyId=KEY)}, "KmsKeyId"),
    "backups of scratch": ("UC-LUS-017", {"Files": scratch({"AutomaticBackupRetentionDays": 7})}, "has no backups"),
    "backups of a linked system": (
        "UC-LUS-017",
        {"Files": lustre({"AutomaticBackupRetentionDays": 7}), "Link": LINK},
        "AutomaticBackupRetentionDays: a file system that is linked",
    ),
    "backups beside an import path": (
        "UC-LUS-017",
        {
            "Files": lustre(
                {
                    "DeploymentType": "PERSISTENT_1",
                    "PerUnitStorageThroughput": 100,
                    "ImportPath": "s3://demo-bucket",
                    "AutomaticBackupRetentionDays": 7,
                }
            )
        },
        "linked",
    ),
    "too many days": ("UC-LUS-017", {"Files": lustre({"AutomaticBackupRetentionDays": 91})}, "out of range"),
    "time without days": ("UC-LUS-017", {"Files": lustre({"DailyAutomaticBackupStartTime": "04:30"})}, "DailyAuto"),
    "tags of a linked system": ("UC-LUS-017", {"Files": lustre({"CopyTagsToBackups": True}), "Link": LINK}, "CopyTags"),
    "deleted": ("UC-LUS-018", {"Files": lustre(attributes={"DeletionPolicy": "Delete"})}, "DeletionPolicy Delete"),
    "no policy": ("UC-LUS-018", {"Files": lustre(attributes={})}, "DeletionPolicy absent (Delete)"),
    "replaced": (
        "UC-LUS-018",
        {"Files": lustre(attributes={"DeletionPolicy": "Retain"})},
        "UpdateReplacePolicy absent",
    ),
    "two groups": ("UC-LUS-019", {"Files": lustre(SecurityGroupIds=["sg-1", "sg-2"])}, "2 groups"),
    "two subnets": ("UC-LUS-020", {"Files": lustre(SubnetIds=["subnet-1", "subnet-2"])}, "SubnetIds: 2 subnets"),
    "level": ("UC-LUS-022", {"Files": logged("INFO")}, "Level: 'INFO'"),
    "disabled with a destination": ("UC-LUS-022", {"Files": logged("DISABLED", f"{ARN}/aws/fsx/x")}, "Destination"),
    "destination": ("UC-LUS-022", {"Files": logged(destination=f"{ARN}/my/logs")}, "/my/logs does not begin"),
    "group of another name": (
        "UC-LUS-022",
        {"Files": logged(destination=LOG_GROUP), "Log": log_group(LogGroupName="/my/logs")},
        "/my/logs",
    ),
    "group without a name": ("UC-LUS-022", {"Files": logged(destination=LOG_GROUP), "Log": log_group()}, "generated"),
}


@pytest.mark.parametrize(("rule_id", "resources", "place"), FAULTS.values(), ids=FAULTS)
def test_what_is_wrong(rule_id, resources, place):
    found = template(**resources)
    assert_finds(rule_id, found, place=place)
    assert own_ids(found) == {rule_id}


CARRIERS = {
    "launch template": {
        "Type": "AWS::EC2::LaunchTemplate",
        "Properties": {"LaunchTemplateData": {"NetworkInterfaces": [{"DeviceIndex": 0, "Groups": [GROUP]}]}},
    },
    "launch template without interfaces": {
        "Type": "AWS::EC2::LaunchTemplate",
        "Properties": {"LaunchTemplateData": {"SecurityGroupIds": [{"Ref": "Own"}]}},
    },
    "instance": {"Type": "AWS::EC2::Instance", "Properties": {"SecurityGroupIds": [GROUP]}},
    "batch": {
        "Type": "AWS::Batch::ComputeEnvironment",
        "Properties": {"ComputeResources": {"SecurityGroupIds": [GROUP]}},
    },
    "hyperpod": {
        "Type": "AWS::SageMaker::Cluster",
        "Properties": {"InstanceGroups": [{"OverrideVpcConfig": {"SecurityGroupIds": [GROUP]}}]},
    },
}


@pytest.mark.parametrize("carrier", CARRIERS.values(), ids=CARRIERS)
def test_a_group_that_is_also_on_a_fleet(carrier):
    found = template(Files=lustre(SecurityGroupIds=[GROUP]), Own=security_group(), Nodes=carrier)
    assert_finds("UC-LUS-019", found, place="SecurityGroupIds[0]: Own is also on Nodes")


def test_a_group_that_a_fleet_only_names_in_a_rule():
    rule = {"IpProtocol": "-1", "SourceSecurityGroupId": GROUP}
    carrier = {"Type": "AWS::EC2::Instance", "Properties": {"SecurityGroupIds": [{"Ref": "Nodes"}]}}
    found = template(
        Files=lustre(SecurityGroupIds=[GROUP]), Own=security_group(), Nodes=security_group(rule), Node=carrier
    )
    assert_passes("UC-LUS-019", found)


UNKNOWNS = {
    "UC-LUS-016": {"Files": lustre({"DeploymentType": UNKNOWN}, KmsKeyId=KEY)},
    "UC-LUS-017": {"Files": scratch({"AutomaticBackupRetentionDays": UNKNOWN})},
    "UC-LUS-018": {"Files": lustre({"DeploymentType": UNKNOWN}, attributes={})},
    "UC-LUS-019": {"Files": lustre(SecurityGroupIds=[UNKNOWN])},
    "UC-LUS-020": {"Files": lustre(SubnetIds=UNKNOWN)},
    "UC-LUS-022": {"Files": logged(destination=UNKNOWN)},
}


@pytest.mark.parametrize(("rule_id", "resources"), UNKNOWNS.items(), ids=UNKNOWNS)
def test_what_cannot_be_known(rule_id, resources):
    assert_not_judged(rule_id, template(**resources))


def test_the_name_of_a_log_group_may_be_open():
    assert_not_judged("UC-LUS-022", template(Files=logged(destination={"Fn::Sub": f"{ARN}${{Unknown}}"})))
    known = {"Fn::Sub": f"{ARN}train/${{Unknown}}"}
    assert_finds("UC-LUS-022", template(Files=logged(destination=known)), place="train/ does not begin")


def test_a_restored_system_is_persistent():
    restored = lustre({"DeploymentType": None}, BackupId="backup-1", attributes={})
    assert_finds("UC-LUS-018", template(Files=restored), place="Files")


KEPT = {"Kept": {"Fn::Equals": [UNKNOWN, "yes"]}}


def test_two_properties_under_one_condition():
    kind = {"Fn::If": ["Kept", "PERSISTENT_1", "SCRATCH_2"]}
    tier = {"Fn::If": ["Kept", 100, {"Ref": "AWS::NoValue"}]}
    days = {"Fn::If": ["Kept", 7, {"Ref": "AWS::NoValue"}]}
    key = {"Fn::If": ["Kept", KEY, {"Ref": "AWS::NoValue"}]}
    settings = {"DeploymentType": kind, "PerUnitStorageThroughput": tier, "AutomaticBackupRetentionDays": days}
    found = template(conditions=KEPT, Files=lustre(settings, KmsKeyId=key, attributes=RETAINED))
    for rule_id in ("UC-LUS-016", "UC-LUS-017", "UC-LUS-018"):
        assert_passes(rule_id, found)
    assert_finds("UC-LUS-018", template(conditions=KEPT, Files=lustre(settings, attributes={})))
