"""UC-HPD-001, 002, 007 and 019: networks and roles of HyperPod."""

from __future__ import annotations

import pytest

from support.orchestrators import (
    P5,
    closed_group,
    either,
    ids,
    pod_app,
    pod_group,
    pod_role,
    resource,
    self_rules,
    switch,
)
from support.policy import assert_finds, assert_not_judged, assert_passes, judged

TEXT = {"Ref": "Text"}
EFA, OTHER = {"Ref": "Efa"}, {"Ref": "Other"}
HTTPS = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "CidrIp": "10.0.0.0/16"}


def network(*groups):
    return {"VpcConfig": {"SecurityGroupIds": list(groups), "Subnets": ["subnet-0123456789abcdef0"]}}


# UC-HPD-001

SAID = "!Ref Other does not allow all traffic to and from itself: the EFA check of the nodes fails"


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (pod_app(cluster=network(EFA, OTHER), Other=closed_group(HTTPS)), "Pods VpcConfig.SecurityGroupIds[1]: "),
        (
            pod_app(pod_group(OverrideVpcConfig=network(OTHER)["VpcConfig"]), Other=closed_group(HTTPS)),
            "Pods InstanceGroups[0].OverrideVpcConfig.SecurityGroupIds[0]: ",
        ),
        # Traffic of EFA does not pass by address.
        (
            pod_app(cluster=network(EFA, OTHER), Other=closed_group({"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"})),
            "SecurityGroupIds[1]",
        ),
        (
            pod_app(cluster=network(EFA, OTHER), Other=closed_group(), OtherIn=self_rules("Other")["OtherIn"]),
            "SecurityGroupIds[1]",
        ),
    ],
)
def test_one_group_without_self_rules(found, place):
    assert_finds("UC-HPD-001", found, place=place)
    assert_finds("UC-HPD-001", found, place=SAID)
    assert ids("HPD", found) == {"UC-HPD-001"}


def test_a_group_is_told_once():
    groups = [pod_group(), pod_group(f"ml.{P5}", InstanceGroupName="more")]
    found = pod_app(*groups, cluster=network(OTHER), Other=closed_group())
    assert len(judged(found).of("UC-HPD-001")) == 1


@pytest.mark.parametrize(
    "found",
    [
        pod_app(),
        pod_app(cluster=network(EFA, OTHER), Other=closed_group(HTTPS), **self_rules("Other")),
        pod_app(pod_group("ml.trn1.2xlarge"), cluster=network(OTHER), Other=closed_group()),
        pod_app(pod_group(), cluster={"VpcConfig": None, "Orchestrator": None}),
    ],
)
def test_every_group_has_self_rules(found):
    assert_passes("UC-HPD-001", found)


def test_an_interface_type_tells_that_there_is_efa():
    group = pod_group("ml.c5.large", NetworkInterface={"InterfaceType": "efa"})
    assert_finds("UC-HPD-001", pod_app(group, cluster=network(OTHER), Other=closed_group()))


@pytest.mark.parametrize(
    "found",
    [
        pod_app(cluster=network("sg-0123456789abcdef0")),
        pod_app(cluster=network(TEXT)),
        pod_app(pod_group("ml.g5.8xlarge"), cluster=network(OTHER), Other=closed_group()),
        pod_app(pod_group(TEXT), cluster=network(OTHER), Other=closed_group()),
    ],
)
def test_groups_that_are_not_known(found):
    assert_not_judged("UC-HPD-001", found)


@pytest.mark.parametrize(("swapped", "expected"), [(False, set()), (True, {"UC-HPD-001"})])
def test_type_and_group_under_one_condition(swapped, expected):
    parameters, conditions = switch()
    kinds = (f"ml.{P5}", "ml.trn1.2xlarge")
    group = pod_group(either("Big", *(kinds if not swapped else reversed(kinds))))
    cluster = network(either("Big", EFA, OTHER))
    found = pod_app(group, cluster=cluster, parameters=parameters, conditions=conditions, Other=closed_group())
    assert {"UC-HPD-001"} & ids("HPD", found) == expected


# UC-HPD-002

OPEN = {"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}


def test_everything_goes_out_by_default():
    found = pod_app(Efa=closed_group(SecurityGroupEgress=None))
    said = "Efa : no egress is written, so all traffic to 0.0.0.0/0 goes out, and the EFA check may fail on it (Pods)"
    assert judged(found).of("UC-HPD-002") == [said]
    assert ids("HPD", found) == {"UC-HPD-002"}


@pytest.mark.parametrize(
    "more",
    [
        {"Efa": closed_group(SecurityGroupEgress=[OPEN])},
        {"Wide": resource("EC2::SecurityGroupEgress", GroupId=EFA, **OPEN)},
    ],
)
def test_everything_goes_out_on_purpose(more):
    found = pod_app(**more)
    assert_finds("UC-HPD-002", found, place="0.0.0.0/0 on nodes of Pods with EFA, whose check may fail on it")
    assert ids("HPD", found) == {"UC-HPD-002"}


def test_little_goes_out():
    assert_passes("UC-HPD-002", pod_app())
    plain = pod_group("ml.trn1.2xlarge")
    assert_passes("UC-HPD-002", pod_app(plain, Efa=closed_group(SecurityGroupEgress=None)))


def test_egress_that_is_not_known():
    assert_not_judged("UC-HPD-002", pod_app(cluster=network("sg-0123456789abcdef0")))
    unknown = [{"IpProtocol": "-1", "CidrIp": TEXT}]
    assert_not_judged("UC-HPD-002", pod_app(Efa=closed_group(SecurityGroupEgress=unknown)))


# UC-HPD-007


def scripted(uri, **more):
    return pod_app(pod_group(LifeCycleConfig={"SourceS3Uri": uri, "OnCreate": "on_create.sh"}), **more)


def reading(
    *resources, policies=("AmazonEC2FullAccess", "AmazonSageMakerClusterInstanceRolePolicy"), actions="s3:Get*"
):
    statement = {"Effect": "Allow", "Action": actions, "Resource": list(resources)}
    document = {"Version": "2012-10-17", "Statement": [statement]}
    inline = [{"PolicyName": "scripts", "PolicyDocument": document}] if resources else None
    return {"Role": pod_role(policies=policies, Policies=inline)}


@pytest.mark.parametrize(
    "role",
    [
        reading(),
        reading("arn:aws:s3:::another/*"),
        reading("arn:aws:s3:::train-scripts/*", actions="s3:PutObject"),
    ],
)
def test_scripts_that_nobody_reads(role):
    found = scripted("s3://train-scripts/setup", **role)
    said = "Pods InstanceGroups[0].LifeCycleConfig.SourceS3Uri: bucket train-scripts begins not with sagemaker-, and"
    assert_finds("UC-HPD-007", found, place=said)
    assert ids("HPD", found) == {"UC-HPD-007"}


@pytest.mark.parametrize(
    "found",
    [
        scripted("s3://sagemaker-train/setup", **reading()),
        scripted("s3://train-scripts/setup", **reading("arn:aws:s3:::train-scripts/*")),
        scripted("s3://train-scripts/setup", **reading("*")),
        scripted("s3://train-scripts/setup", **reading({"Fn::Sub": "arn:${AWS::Partition}:s3:::train-scripts/*"})),
        scripted("s3://train-scripts", **reading(policies=("AmazonS3ReadOnlyAccess", "AmazonEC2FullAccess"))),
        pod_app(pod_group(LifeCycleConfig=None)),
    ],
)
def test_scripts_that_can_be_read(found):
    assert_passes("UC-HPD-007", found)


def test_a_bucket_that_begins_as_it_should():
    found = scripted({"Fn::Sub": "s3://sagemaker-train-${AWS::Region}/setup"}, **reading())
    assert_passes("UC-HPD-007", found)


@pytest.mark.parametrize(
    "found",
    [
        scripted({"Fn::Sub": "s3://${Text}/setup"}),
        scripted(TEXT),
        scripted("s3://train-scripts/setup"),  # AmazonSageMakerFullAccess reads some buckets
        scripted("s3://train-scripts/setup", **reading(policies=("CustomReadOnly",))),
        scripted("s3://train-scripts/setup", **reading({"Fn::Sub": "arn:aws:s3:::${Text}"})),
        scripted("s3://train-scripts/setup", Role=pod_role(policies=("arn:aws:iam::111122223333:policy/own",))),
        pod_app(pod_group(ExecutionRole=TEXT, LifeCycleConfig={"SourceS3Uri": "s3://train-scripts"})),
    ],
)
def test_scripts_that_are_not_known(found):
    assert_not_judged("UC-HPD-007", found)


@pytest.mark.parametrize(("swapped", "expected"), [(False, set()), (True, {"UC-HPD-007"})])
def test_bucket_and_statement_under_one_condition(swapped, expected):
    parameters, conditions = switch()
    buckets = ("s3://train-scripts/setup", "s3://sagemaker-train/setup")
    arns = ("arn:aws:s3:::train-scripts/*", "arn:aws:s3:::another/*")
    uri = either("Big", *(buckets if not swapped else reversed(buckets)))
    found = scripted(uri, parameters=parameters, conditions=conditions, **reading(either("Big", *arns)))
    assert ids("HPD", found) == expected


# UC-HPD-019

ACTIONS = (
    "ec2:CreateNetworkInterface",
    "ec2:CreateNetworkInterfacePermission",
    "ec2:DeleteNetworkInterface*",
    "ec2:Describe*",
    "ec2:DetachNetworkInterface",
    "ec2:CreateTags",
)
BASE = ("AmazonSageMakerClusterInstanceRolePolicy",)


@pytest.mark.parametrize(
    ("role", "said"),
    [
        (
            pod_role(policies=BASE),
            "Pods InstanceGroups[0].ExecutionRole: Role lacks ec2:CreateNetworkInterface and 10 more, which nodes",
        ),
        (pod_role(*ACTIONS[:3], *ACTIONS[4:], policies=BASE), "Role lacks ec2:DescribeNetworkInterfaces and 4 more"),
        (pod_role(*ACTIONS[:-1], policies=BASE), "Role lacks ec2:CreateTags, which"),
        (
            pod_role(policies=(*BASE, "AmazonEKS_CNI_Policy")),
            "Role lacks ec2:CreateNetworkInterfacePermission and 5 more",
        ),
    ],
)
def test_a_role_without_interfaces(role, said):
    found = pod_app(Role=role)
    assert_finds("UC-HPD-019", found, place=said)
    assert ids("HPD", found) == {"UC-HPD-019"}


@pytest.mark.parametrize(
    "found",
    [
        pod_app(),
        pod_app(Role=pod_role(*ACTIONS, policies=BASE)),
        pod_app(Role=pod_role("ec2:*", policies=BASE)),
        pod_app(Role=pod_role(policies=BASE), cluster={"VpcConfig": None, "Orchestrator": None}),
        pod_app(
            Role=pod_role(policies=BASE),
            More=resource(
                "IAM::Policy",
                PolicyName="more",
                Roles=[{"Ref": "Role"}],
                PolicyDocument={"Statement": {"Effect": "Allow", "Action": list(ACTIONS), "Resource": "*"}},
            ),
        ),
    ],
)
def test_a_role_with_interfaces(found):
    assert_passes("UC-HPD-019", found)


def test_a_role_is_told_once():
    groups = [pod_group(), pod_group(InstanceGroupName="more")]
    assert len(judged(pod_app(*groups, Role=pod_role(policies=BASE))).of("UC-HPD-019")) == 1


@pytest.mark.parametrize(
    "found",
    [
        pod_app(pod_group(ExecutionRole={"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:role/train"})),
        pod_app(pod_group(ExecutionRole=TEXT)),
        pod_app(Role=pod_role(policies=(*BASE, "SomethingElse"))),
        pod_app(Role=pod_role(policies=(*BASE, TEXT))),
        pod_app(
            Role=pod_role(
                policies=BASE,
                Policies=[
                    {"PolicyDocument": {"Statement": {"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}}}
                ],
            )
        ),
    ],
)
def test_a_role_that_is_not_known(found):
    assert_not_judged("UC-HPD-019", found)
