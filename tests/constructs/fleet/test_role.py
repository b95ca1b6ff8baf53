"""The node role: what it allows, on what, and nothing else."""

from __future__ import annotations

import json

import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from support.compute import home, imported_network, lustre, p5
from support.templates import all_properties, only, references, resource_types, resources, text
from ultracluster.fleet.training_fleet import TrainingFleet
from ultracluster.plan.images import Al2023
from ultracluster.storage.bucket_access import BucketAccess
from ultracluster.storage.training_bucket import TrainingBucket


def statements(template, resource_type="AWS::IAM::Role"):
    """The statements of the only inline policy."""
    properties = only(template, resource_type)
    policy = properties["Policies"][0] if "Policies" in properties else properties
    return policy["PolicyDocument"]["Statement"]


def actions(template):
    """Each action with the resources it is allowed on, as text."""
    allowed = {}
    for statement in statements(template):
        for action in [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]:
            allowed.setdefault(action, []).append(text(template, statement["Resource"]))
    return allowed


def test_a_node_can_do_this_and_nothing_else(stack, synth):
    p5(stack)
    assert set(actions(synth(stack))) == {
        "autoscaling:CompleteLifecycleAction",
        "cloudwatch:PutMetricData",
        "ec2:DescribeTags",
        "logs:CreateLogStream",
        "logs:DescribeLogStreams",
        "logs:PutLogEvents",
        "ssm:UpdateInstanceInformation",
        "ssmmessages:CreateControlChannel",
        "ssmmessages:CreateDataChannel",
        "ssmmessages:OpenControlChannel",
        "ssmmessages:OpenDataChannel",
    }


def test_no_managed_policy_and_no_action_with_a_wildcard(stack, synth):
    p5(stack)
    template = synth(stack)
    assert "ManagedPolicyArns" not in only(template, "AWS::IAM::Role")
    assert not any("*" in action for action in actions(template))


def test_only_ec2_takes_the_role(stack, synth):
    p5(stack)
    template = synth(stack)
    (statement,) = only(template, "AWS::IAM::Role")["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "ec2.amazonaws.com"}
    (role,) = resources(template, "AWS::IAM::Role")
    assert only(template, "AWS::IAM::InstanceProfile")["Roles"] == [{"Ref": role}]


def test_logs_go_to_the_own_group_and_metrics_into_the_own_namespace(stack, synth):
    fleet = p5(stack, metrics_namespace="Llama")
    template = synth(stack)
    (group,) = resources(template, "AWS::Logs::LogGroup")
    assert actions(template)["logs:PutLogEvents"] == [f"${{{group}.Arn}}"]
    assert only(template, "AWS::Logs::LogGroup")["LogGroupName"] == fleet.log_group_name
    (metrics,) = [found for found in statements(template) if found["Action"] == "cloudwatch:PutMetricData"]
    assert metrics["Condition"] == {"StringEquals": {"cloudwatch:namespace": "Llama"}}


def test_life_cycle_actions_are_those_of_the_own_group(stack, synth):
    fleet = p5(stack)
    (arn,) = actions(synth(stack))["autoscaling:CompleteLifecycleAction"]
    assert arn.endswith(f":autoScalingGroup:*:autoScalingGroupName/{fleet.auto_scaling_group_name}")


def test_only_a_fleet_over_several_zones_suspends_rebalancing_and_only_its_own(stack, synth):
    network = imported_network(stack, "us-east-1a", "us-east-1b")
    zones = ["us-east-1a", "us-east-1b"]
    TrainingFleet(stack, "Wide", network=network, instance_type="g6.48xlarge", count=2, efa=0, availability_zones=zones)
    allowed = actions(synth(stack))
    assert allowed["autoscaling:SuspendProcesses"] == allowed["autoscaling:CompleteLifecycleAction"]


def test_a_bucket_is_read_below_the_prefix_only(stack, synth):
    bucket = s3.Bucket.from_bucket_name(stack, "Data", "data-bucket")
    p5(stack, bucket_access=[BucketAccess(bucket=bucket, prefix="tokens/")])
    template = synth(stack)
    allowed = actions(template)
    assert allowed["s3:GetObject"] == ["arn:aws:s3:::data-bucket/tokens/*"]
    assert allowed["s3:ListBucket"] == ["arn:aws:s3:::data-bucket"]
    assert "s3:PutObject" not in allowed
    (listing,) = [found for found in statements(template) if found["Action"] == "s3:ListBucket"]
    assert listing["Condition"] == {"StringLike": {"s3:prefix": "tokens/*"}}


def test_writers_may_also_replace_and_delete_and_use_the_key_of_the_bucket(stack, synth):
    key = kms.Key(stack, "Key")
    bucket = s3.Bucket(stack, "Checkpoints", encryption_key=key)
    p5(stack, bucket_access=[BucketAccess(bucket=bucket, write=True)])
    template = synth(stack)
    allowed = actions(template)
    (name,) = resources(template, "AWS::S3::Bucket")
    for action in ("s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"):
        assert allowed[action] == [f"${{{name}.Arn}}/*"]
    (key_name,) = resources(template, "AWS::KMS::Key")
    assert allowed["kms:GenerateDataKey"] == allowed["kms:Decrypt"] == [f"${{{key_name}.Arn}}"]
    (listing,) = [found for found in statements(template) if found["Action"] == "s3:ListBucket"]
    assert "Condition" not in listing


def test_a_reader_decrypts_and_does_not_encrypt(stack, synth):
    bucket = s3.Bucket(stack, "Data", encryption_key=kms.Key(stack, "Key"))
    p5(stack, bucket_access=[BucketAccess(bucket=bucket)])
    allowed = actions(synth(stack))
    assert "kms:Decrypt" in allowed
    assert "kms:GenerateDataKey" not in allowed


def test_without_buckets_there_is_no_s3_at_all(stack, synth):
    p5(stack)
    assert "s3:" not in json.dumps(statements(synth(stack)))


def test_efs_is_mounted_through_its_access_point_and_lustre_needs_no_permission(stack, synth):
    p5(stack, storage=[lustre(stack), home(stack)])
    template = synth(stack)
    (mount,) = [found for found in statements(template) if "elasticfilesystem:ClientMount" in found["Action"]]
    assert mount["Action"] == ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"]
    assert text(template, mount["Resource"]).endswith(":file-system/fs-0123456789abcdef0")
    (condition,) = mount["Condition"].values()
    assert text(template, condition["elasticfilesystem:AccessPointArn"]).endswith("access-point/fsap-0123456789abcdef0")
    assert "fsx:" not in json.dumps(statements(template))


def test_an_existing_role_gets_what_the_nodes_need(stack, synth):
    given = iam.Role(stack, "Given", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    fleet = p5(stack, role=given)
    template = synth(stack)
    assert resource_types(template)["AWS::IAM::Role"] == 1
    policy = only(template, "AWS::IAM::Policy")
    (role,) = resources(template, "AWS::IAM::Role")
    assert policy["Roles"] == [{"Ref": role}]
    assert {"Agents", "OwnGroup", "OwnLogGroup", "OwnMetrics"} == {
        found.get("Sid") for found in statements(template, "AWS::IAM::Policy")
    }
    assert fleet.role is given
    assert references(only(template, "AWS::IAM::InstanceProfile")["Roles"]) == {role}


def test_the_group_waits_for_the_policy_of_an_existing_role(stack, synth):
    """Nodes that boot before the policy is attached could not complete their launch."""
    p5(stack, role=iam.Role(stack, "Given", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com")))
    template = synth(stack)
    (group,) = resources(template, "AWS::AutoScaling::AutoScalingGroup").values()
    assert set(resources(template, "AWS::IAM::Policy")) <= set(group["DependsOn"])


def test_a_role_that_must_not_be_changed_is_only_used(stack, synth):
    imported = iam.Role.from_role_name(stack, "Given", "training-node", mutable=False)
    p5(stack, role=imported)
    template = synth(stack)
    assert not {"AWS::IAM::Role", "AWS::IAM::Policy"} & set(resource_types(template))
    assert only(template, "AWS::IAM::InstanceProfile")["Roles"] == ["training-node"]


def test_a_fleet_can_be_granted_things(stack, synth):
    bucket = s3.Bucket(stack, "Data")
    fleet = p5(stack)
    bucket.grant_read(fleet)
    (policy,) = all_properties(synth(stack), "AWS::IAM::Policy")
    assert "s3:GetObject*" in policy["PolicyDocument"]["Statement"][0]["Action"]


@pytest.mark.parametrize("name", ["trn1.32xlarge", "inf2.48xlarge"])
def test_the_role_does_not_depend_on_the_accelerator(stack, synth, name):
    TrainingFleet(stack, "Train", network=imported_network(stack), instance_type=name, count=1, image=Al2023())
    assert "autoscaling:CompleteLifecycleAction" in actions(synth(stack))


def test_a_training_bucket_is_taken_as_it_is(stack, synth):
    data = TrainingBucket.from_existing(stack, "Data", bucket_name="team-data")
    p5(stack, bucket_access=[BucketAccess(bucket=data, prefix="tokens/")])
    assert actions(synth(stack))["s3:GetObject"] == ["arn:aws:s3:::team-data/tokens/*"]
