"""The node role: what it allows, on what, and nothing else."""

from __future__ import annotations

import json
import re

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

KEY = "arn:aws:kms:us-east-1:111122223333:key/0a1b2c3d-0000-4000-8000-000000000000"


def statements(template, resource_type="AWS::IAM::Role"):
    """The statements of the only inline policy, and for a role those of the policy that all nodes have."""
    properties = only(template, resource_type)
    if "Policies" not in properties:
        return properties["PolicyDocument"]["Statement"]
    (common,) = resources(template, "AWS::IAM::ManagedPolicy")
    assert properties["ManagedPolicyArns"] == [{"Ref": common}]
    documents = [properties["Policies"][0], resources(template, "AWS::IAM::ManagedPolicy")[common]["Properties"]]
    return [statement for each in documents for statement in each["PolicyDocument"]["Statement"]]


def actions(template):
    """Each action with the resources it is allowed on, as text."""
    allowed = {}
    for statement in statements(template):
        for action in [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]:
            allowed.setdefault(action, []).append(text(template, statement["Resource"]))
    return allowed


def objects(allowed, action="s3:GetObject"):
    """Objects of buckets on which an action is allowed, the programs aside."""
    return [arn for arn in allowed[action] if "-assets-" not in arn]


def warnings(stack):
    """Messages of warnings on the tree of a stack."""
    tree = stack.node.find_all()
    return [entry.data for node in tree for entry in node.node.metadata if entry.type == "aws:cdk:warning"]


def test_a_node_can_do_this_and_nothing_else(stack, synth):
    p5(stack)
    assert set(actions(synth(stack))) == {
        "autoscaling:CompleteLifecycleAction",
        "autoscaling:SetInstanceHealth",
        "cloudwatch:PutMetricData",
        "ec2:DescribeTags",
        "events:PutEvents",
        "logs:CreateLogStream",
        "logs:DescribeLogStreams",
        "logs:PutLogEvents",
        "s3:GetObject",
        "ssm:UpdateInstanceInformation",
        "ssmmessages:CreateControlChannel",
        "ssmmessages:CreateDataChannel",
        "ssmmessages:OpenControlChannel",
        "ssmmessages:OpenDataChannel",
    }


def test_no_managed_policy_of_aws_and_no_action_with_a_wildcard(stack, synth):
    p5(stack)
    template = synth(stack)
    assert references(only(template, "AWS::IAM::Role")["ManagedPolicyArns"]) == set(
        resources(template, "AWS::IAM::ManagedPolicy")
    )
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
    allowed = actions(synth(stack))
    (arn,) = allowed["autoscaling:CompleteLifecycleAction"]
    assert arn.endswith(f":autoScalingGroup:*:autoScalingGroupName/{fleet.auto_scaling_group_name}")
    assert allowed["autoscaling:SetInstanceHealth"] == [arn]


def test_events_go_to_the_default_bus_under_one_source(stack, synth):
    p5(stack)
    (events,) = [found for found in statements(synth(stack)) if found["Action"] == "events:PutEvents"]
    assert events["Resource"] == "arn:aws:events:us-east-1:111122223333:event-bus/default"
    assert events["Condition"] == {"StringEquals": {"events:source": "ultracluster.node"}}


def test_the_programs_of_the_node_are_the_only_object_that_it_may_read(stack, synth):
    p5(stack)
    template = synth(stack)
    (own,) = [found for found in statements(template) if found.get("Sid") == "OwnPrograms"]
    assert own["Action"] == "s3:GetObject"
    bucket = "arn:aws:s3:::cdk-hnb659fds-assets-111122223333-us-east-1"
    assert re.fullmatch(rf"{bucket}/[0-9a-f]{{64}}\.pyz", own["Resource"])
    assert "kms:" not in json.dumps(statements(template))


def test_a_key_of_the_bootstrap_bucket_is_granted_like_any_other(stack, synth):
    kms.Key.from_key_arn(stack, "Key", KEY).grant_decrypt(p5(stack))
    (policy,) = all_properties(synth(stack), "AWS::IAM::Policy")
    assert policy["PolicyDocument"]["Statement"] == [{"Action": "kms:Decrypt", "Effect": "Allow", "Resource": KEY}]


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
    assert objects(allowed) == ["arn:aws:s3:::data-bucket/tokens/*"]
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
        assert objects(allowed, action) == [f"${{{name}.Arn}}/*"]
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


def test_without_buckets_there_is_no_bucket_at_all(stack, synth):
    p5(stack)
    allowed = actions(synth(stack))
    assert objects(allowed) == []
    assert [action for action in allowed if action.startswith("s3:")] == ["s3:GetObject"]


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
    assert "AWS::IAM::ManagedPolicy" not in resource_types(template)
    policy = only(template, "AWS::IAM::Policy")
    (role,) = resources(template, "AWS::IAM::Role")
    assert policy["Roles"] == [{"Ref": role}]
    assert {"Agents", "OwnEvents", "OwnGroup", "OwnLogGroup", "OwnMetrics", "OwnPrograms"} == {
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
    (warning,) = [found for found in warnings(stack) if "UC-API-012" in found]
    for action in ("s3:GetObject", "autoscaling:CompleteLifecycleAction", "events:PutEvents", "logs:PutLogEvents"):
        assert action in warning


@pytest.mark.parametrize("kind", ["own", "given", "imported"])
def test_a_role_that_takes_the_policy_is_no_reason_to_warn(stack, synth, kind):
    principal = iam.ServicePrincipal("ec2.amazonaws.com")
    role = {
        "own": lambda: None,
        "given": lambda: iam.Role(stack, "Given", assumed_by=principal),
        "imported": lambda: iam.Role.from_role_name(stack, "Given", "training-node"),
    }[kind]()
    fleet = p5(stack, role=role)
    synth(stack)
    assert not [found for found in warnings(stack) if "UC-API-012" in found]
    assert (fleet.node_policy is None) == (kind == "own")


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
    assert objects(actions(synth(stack))) == ["arn:aws:s3:::team-data/tokens/*"]


def test_what_all_nodes_may_do_stands_once_per_stack_and_namespace(stack, synth):
    network = imported_network(stack, "us-east-1a")
    for name, namespace in (("A", "UltraCluster"), ("B", "UltraCluster"), ("C", "Other")):
        TrainingFleet(stack, name, network=network, instance_type="p5.48xlarge", count=2, metrics_namespace=namespace)
    template = synth(stack)
    attached = [role["ManagedPolicyArns"] for role in all_properties(template, "AWS::IAM::Role")]
    assert len(resources(template, "AWS::IAM::ManagedPolicy")) == 2
    assert attached[0] == attached[1] != attached[2]
    (other,) = references(attached[2])
    document = resources(template, "AWS::IAM::ManagedPolicy")[other]["Properties"]["PolicyDocument"]
    (metrics,) = [found for found in document["Statement"] if found["Sid"] == "OwnMetrics"]
    assert metrics["Condition"] == {"StringEquals": {"cloudwatch:namespace": "Other"}}
