"""UC-IAM-006, 007, 010: what nodes are launched with."""

from __future__ import annotations

import pytest

from support.networks import UNKNOWN, allow, arn, fleet, hyperpod, launch_template, made, only, profile, role, template
from support.policy import assert_not_judged, assert_passes

CASES = {"Case": {"Fn::Equals": [UNKNOWN, "yes"]}}

# Keys of volumes

ASG_ROLE = "aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
PCS_ROLE = "aws-service-role/pcs.amazonaws.com/AWSServiceRoleForPCS"
USE = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"]
ROOT = allow("kms:*", Principal={"AWS": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:root"}})
GRANT = {"Bool": {"kms:GrantIsForAWSResource": "true"}}


def named(path):
    return {"AWS": {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/" + path}}


def two(principal, condition=None):
    """The two statements that the guides show."""
    more = {} if condition is None else {"Condition": condition}
    return [
        allow(USE, Principal=principal, **more),
        allow("kms:CreateGrant", Principal=principal, Condition={**(condition or {}), **GRANT}),
    ]


def key(*statements, **properties):
    document = {"Statement": [ROOT, *statements]} if statements else None
    return made("AWS::KMS::Key", KeyPolicy=document, **properties)


def with_key(*statements, launcher=None, named_key=None, **more):
    volume = {"DeviceName": "/dev/xvda", "Ebs": {"Encrypted": True, "KmsKeyId": named_key or arn("Key")}}
    return template(
        Key=key(*statements),
        Lt=launch_template(BlockDeviceMappings=[volume]),
        Fleet=launcher or fleet(),
        **more,
    )


BY_EC2 = {
    "StringEquals": {"kms:CallerAccount": {"Ref": "AWS::AccountId"}, "kms:ViaService": "ec2.us-east-1.amazonaws.com"}
}
BY_ARN = {"ArnEquals": {"aws:PrincipalArn": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:role/" + ASG_ROLE}}}
BY_PATTERN = {"ArnLike": {"aws:PrincipalArn": ["arn:aws:iam::*:role/aws-service-role/autoscaling.amazonaws.com/*"]}}
LET_IN = {
    "by name": two(named(ASG_ROLE)),
    "with suffix": two(named(f"{ASG_ROLE}_llm")),
    "everybody through ec2": two("*", BY_EC2),
    "everybody of that arn": two({"AWS": "*"}, BY_ARN),
    "everybody of that pattern": two("*", BY_PATTERN),
    "everybody": [allow("kms:*", Principal="*")],
    "one statement": [allow("kms:*", Principal=named(ASG_ROLE))],
    "made here": two({"AWS": arn("Linked")}),
}
LINKED = made("AWS::IAM::ServiceLinkedRole", AWSServiceName="autoscaling.amazonaws.com")


@pytest.mark.parametrize("statements", LET_IN.values(), ids=LET_IN)
def test_keys_that_let_the_launcher_in(statements):
    assert_passes("UC-IAM-007", with_key(*statements, Linked=LINKED))


SHUT = {
    "default policy": [],
    "account only": [ROOT],
    "no grant": two(named(ASG_ROLE))[:1],
    "grant only": two(named(ASG_ROLE))[1:],
    "another service": two("*", {"StringEquals": {"kms:ViaService": "s3.us-east-1.amazonaws.com"}}),
    "another role": two("*", {"ArnLike": {"aws:PrincipalArn": "arn:aws:iam::*:role/nodes"}}),
    "a role of the template": two({"AWS": arn("Nodes")}),
    "service principal": two({"Service": "autoscaling.amazonaws.com"}),
    "pcs": two(named(PCS_ROLE)),
}


@pytest.mark.parametrize("statements", SHUT.values(), ids=SHUT)
def test_keys_that_do_not(statements):
    found = with_key(*statements, Nodes=role(), Linked=LINKED)
    place = "does not let AWSServiceRoleForAutoScaling call kms:"
    only("UC-IAM-007", found, place=place)
    only("UC-IAM-007", found, place="Key KeyPolicy" if statements else "Key :")


LT = {"LaunchTemplateId": {"Ref": "Lt"}, "Version": "1"}
LAUNCHERS = {
    "eks": (made("AWS::EKS::Nodegroup", LaunchTemplate={"Id": {"Ref": "Lt"}}, Subnets=["subnet-1"]), ASG_ROLE),
    "batch": (made("AWS::Batch::ComputeEnvironment", ComputeResources={"LaunchTemplate": LT, "Subnets": []}), ASG_ROLE),
    "pcs": (made("AWS::PCS::ComputeNodeGroup", CustomLaunchTemplate={"TemplateId": {"Ref": "Lt"}}), PCS_ROLE),
}


@pytest.mark.parametrize(("launcher", "path"), LAUNCHERS.values(), ids=LAUNCHERS)
def test_whose_role_needs_the_key(launcher, path):
    only("UC-IAM-007", with_key(launcher=launcher), place="instances of Fleet end at once")
    assert_passes("UC-IAM-007", with_key(*two(named(path)), launcher=launcher))


def test_keys_by_alias():
    alias = made("AWS::KMS::Alias", TargetKeyId={"Ref": "Key"})
    only("UC-IAM-007", with_key(named_key={"Ref": "Alias"}, Alias=alias), place="Key :")


def test_a_key_of_two_fleets_is_reported_once():
    only("UC-IAM-007", with_key(More=fleet()), place="Key :")


@pytest.mark.parametrize("named_key", ["alias/aws/ebs", "arn:aws:kms:us-east-1:111122223333:key/1"])
def test_keys_of_elsewhere(named_key):
    assert_passes("UC-IAM-007", with_key(named_key=named_key))


def test_instances_are_launched_by_their_caller():
    instance = made("AWS::EC2::Instance", LaunchTemplate=LT)
    assert_passes("UC-IAM-007", with_key(launcher=instance))


@pytest.mark.parametrize(
    "statements",
    [
        [allow("kms:*", Principal={"AWS": UNKNOWN})],
        [*two(named(ASG_ROLE))[:1], allow(UNKNOWN, Principal="*")],
        [allow("kms:*", Principal="*", Condition={"ArnLike": {"aws:PrincipalArn": UNKNOWN}})],
    ],
)
def test_keys_that_cannot_be_known(statements):
    assert_not_judged("UC-IAM-007", with_key(*statements))
    assert_not_judged("UC-IAM-007", with_key(named_key=UNKNOWN))
    granted = made("Custom::KmsGrant", KeyId={"Ref": "Key"})
    assert_not_judged("UC-IAM-007", with_key(Grant=granted))


def test_key_and_policy_under_one_condition():
    named_key = {"Fn::If": ["Case", arn("Key"), "alias/aws/ebs"]}
    principal = {"AWS": {"Fn::If": ["Case", "*", "arn:aws:iam::111122223333:role/nodes"]}}
    found = with_key(allow("kms:*", Principal=principal), named_key=named_key)
    assert_passes("UC-IAM-007", {**found, "Conditions": CASES})


# Profiles

BUILD = "AWS::ImageBuilder::InfrastructureConfiguration"
PLACES = {
    "launch template arn": (lambda value: launch_template(IamInstanceProfile={"Arn": value}), "IamInstanceProfile.Arn"),
    "launch template name": (
        lambda value: launch_template(IamInstanceProfile={"Name": value}),
        "IamInstanceProfile.Name",
    ),
    "instance": (lambda value: made("AWS::EC2::Instance", IamInstanceProfile=value), "X IamInstanceProfile"),
    "batch": (
        lambda value: made("AWS::Batch::ComputeEnvironment", ComputeResources={"InstanceRole": value}),
        "ComputeResources.InstanceRole",
    ),
    "pcs": (lambda value: made("AWS::PCS::ComputeNodeGroup", IamInstanceProfileArn=value), "IamInstanceProfileArn"),
    "image builder": (lambda value: made(BUILD, InstanceProfileName=value, InstanceTypes=[]), "InstanceProfileName"),
}


@pytest.mark.parametrize(("launcher", "place"), PLACES.values(), ids=PLACES)
def test_profiles(launcher, place):
    parts = {"Role": role(), "Profile": profile()}
    for value in ({"Ref": "Role"}, arn("Role")):
        only("UC-IAM-010", template(**parts, X=launcher(value)), place=f"{place}: !")
    assert_passes("UC-IAM-010", template(**parts, X=launcher(arn("Profile"))))
    assert_passes("UC-IAM-010", template(**parts, X=launcher("arn:aws:iam::111122223333:instance-profile/x")))
    assert_not_judged("UC-IAM-010", template(**parts, X=launcher(UNKNOWN)))


def test_names_of_profiles():
    assert_passes("UC-IAM-010", template(Role=role(), Profile=profile(), X=PLACES["batch"][0]({"Ref": "Profile"})))
    found = template(Role=role(), Profile=profile(), X=PLACES["pcs"][0]({"Ref": "Profile"}))
    only("UC-IAM-010", found, place="!Ref Profile is the name of an instance profile, its ARN is expected")


@pytest.mark.parametrize(
    ("made_role", "made_profile"),
    [
        (role(), profile(InstanceProfileName={"Ref": "Role"})),
        (role(RoleName="nodes"), profile(InstanceProfileName="nodes")),
        (role(RoleName=UNKNOWN), profile(InstanceProfileName=UNKNOWN)),
    ],
)
def test_a_profile_of_the_same_name(made_role, made_profile):
    parts = {"Role": made_role, "Profile": made_profile}
    assert_passes("UC-IAM-010", template(**parts, X=PLACES["instance"][0]({"Ref": "Role"})))
    only("UC-IAM-010", template(**parts, X=PLACES["batch"][0](arn("Role"))), place="!GetAtt Role.Arn is a role")


def test_profiles_under_one_condition():
    kind = {"Fn::If": ["Case", arn("Profile"), {"Ref": "AWS::NoValue"}]}
    conditions = {**CASES, "Not": {"Fn::Not": [{"Condition": "Case"}]}}
    found = template(
        conditions=conditions,
        Role=role(),
        Profile={**profile(), "Condition": "Case"},
        X=launch_template(IamInstanceProfile={"Fn::If": ["Case", {"Arn": kind}, {"Ref": "AWS::NoValue"}]}),
    )
    assert_passes("UC-IAM-010", found)


# Boot scripts

BUCKET = made("AWS::S3::Bucket")
SCRIPTS = {"SourceS3Uri": {"Fn::Sub": "s3://${Bucket}/lifecycle/"}, "OnCreate": "on_create.sh"}


def pod(source=None, **more):
    scripts = {**SCRIPTS, **({} if source is None else {"SourceS3Uri": source})}
    return hyperpod(ExecutionRole=arn("Role"), LifeCycleConfig=scripts, **more)


def write(resource, action="s3:PutObject", **more):
    return role(allow(action, resource, **more))


IN_BUCKET = {
    "object arn": {"Fn::Sub": "${Bucket.Arn}/*"},
    "prefix": {"Fn::Sub": "arn:aws:s3:::${Bucket}/lifecycle/*"},
    "join": {"Fn::Join": ["", [arn("Bucket"), "/*"]]},
    "the script": {"Fn::Sub": "arn:${AWS::Partition}:s3:::${Bucket}/lifecycle/on_create.sh"},
    "every bucket": "*",
}


@pytest.mark.parametrize("resource", IN_BUCKET.values(), ids=IN_BUCKET)
def test_nodes_that_write_their_scripts(resource):
    found = template(Pod=pod(), Role=write(resource), Bucket=BUCKET)
    only("UC-IAM-006", found, place="Role Policies[0].PolicyDocument.Statement[0].Resource: s3:PutObject on")


def test_nodes_that_may_do_all_with_the_bucket():
    found = template(Pod=pod(), Role=write(IN_BUCKET["join"], "s3:*"), Bucket=BUCKET)
    only("UC-IAM-006", found, place="covers the scripts that Pod runs at boot")


def test_buckets_by_parameter():
    same = {"Fn::Sub": "arn:aws:s3:::${Unknown}/*"}
    found = template(Pod=pod({"Fn::Sub": "s3://${Unknown}/scripts"}), Role=write(same))
    only("UC-IAM-006", found, place="Role Policies[0]")
    assert_passes("UC-IAM-006", template(Pod=pod("s3://scripts/x"), Role=write("arn:aws:s3:::data/*")))


@pytest.mark.parametrize(
    "node_role",
    [
        write({"Fn::Sub": "${Bucket.Arn}/checkpoints/*"}),
        write({"Fn::Sub": "${Other.Arn}/*"}),
        write({"Fn::Sub": "${Bucket.Arn}/*"}, ["s3:GetObject", "s3:ListBucket"]),
        write({"Fn::GetAtt": ["Bucket", "Arn"]}),
        write("*", Effect="Deny"),
        write("*", Condition={"StringEquals": {"s3:prefix": "checkpoints"}}),
    ],
    ids=["prefix", "other bucket", "read", "bucket only", "deny", "condition"],
)
def test_nodes_that_read_their_scripts(node_role):
    assert_passes("UC-IAM-006", template(Pod=pod(), Role=node_role, Bucket=BUCKET, Other=BUCKET))


@pytest.mark.parametrize("node_role", [write(UNKNOWN), write("*", UNKNOWN)])
def test_writers_that_cannot_be_known(node_role):
    assert_not_judged("UC-IAM-006", template(Pod=pod("s3://scripts/x"), Role=node_role))


def test_scripts_that_cannot_be_known():
    assert_not_judged("UC-IAM-006", template(Pod=pod(UNKNOWN), Role=write("arn:aws:s3:::data/*")))


def test_scripts_of_user_data():
    script = {"Fn::Base64": {"Fn::Sub": "#!/bin/bash\naws s3 cp --quiet s3://${Bucket}/boot/setup.sh /tmp/setup.sh\n"}}
    nodes = launch_template(UserData=script, IamInstanceProfile={"Arn": arn("Profile")})
    parts = {"Lt": nodes, "Profile": profile(), "Bucket": BUCKET}
    only(
        "UC-IAM-006",
        template(**parts, Role=write({"Fn::Sub": "${Bucket.Arn}/*"})),
        place="scripts that Lt runs at boot",
    )
    assert_passes("UC-IAM-006", template(**parts, Role=write({"Fn::Sub": "${Bucket.Arn}/checkpoints/*"})))


def test_prefixes_under_one_condition():
    source = {"Fn::If": ["Case", "s3://scripts/a", "s3://scripts/b"]}
    resource = {"Fn::If": ["Case", "arn:aws:s3:::scripts/b/*", "arn:aws:s3:::scripts/a/*"]}
    assert_passes("UC-IAM-006", template(conditions=CASES, Pod=pod(source), Role=write(resource)))
