"""Around the build instances: the group that lets them out and nobody in, and where their logs and notices go."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from constructs import Construct

from ultracluster.acknowledge import acknowledge
from ultracluster.image.defaults import HTTP_PORTS

__all__ = ["build_security_group", "log_bucket", "log_group", "notifications"]

_Group = ec2.CfnSecurityGroup
_NO_ACCESS_LOGS = (
    "logs of builds, written by one role and read by people; CloudTrail data events tell more where needed"
)


def build_security_group(scope: Construct, construct_id: str, *, vpc: ec2.IVpc) -> ec2.CfnSecurityGroup:
    """The security group of build and test instances."""
    return _Group(
        scope,
        construct_id,
        group_description="builds of machine images: out to package archives, nothing in",
        vpc_id=vpc.vpc_id,
        security_group_egress=[
            _Group.EgressProperty(
                ip_protocol="tcp",
                from_port=port,
                to_port=port,
                cidr_ip="0.0.0.0/0",
                description="package archives and AWS services",
            )
            for port in HTTP_PORTS
        ],
    )


def log_bucket(scope: Construct, construct_id: str, *, key: kms.IKey, days: int) -> s3.Bucket:
    """The bucket of the logs; what is in it goes by itself, so the bucket stays when the stack goes."""
    bucket = s3.Bucket(
        scope,
        construct_id,
        encryption=s3.BucketEncryption.KMS,
        encryption_key=key,
        bucket_key_enabled=True,
        enforce_ssl=True,
        minimum_tls_version=1.2,
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
        lifecycle_rules=[
            s3.LifecycleRule(
                id="OldLogs",
                expiration=cdk.Duration.days(days),
                abort_incomplete_multipart_upload_after=cdk.Duration.days(1),
            )
        ],
        removal_policy=cdk.RemovalPolicy.RETAIN,
    )
    acknowledge(bucket, {"AwsSolutions-S1": _NO_ACCESS_LOGS})
    return bucket


def log_group(scope: Construct, construct_id: str, *, image_name: str, key_arn: str, days: int) -> logs.CfnLogGroup:
    """The log group that Image Builder would make by itself, without an end and without a key."""
    group = logs.CfnLogGroup(
        scope,
        construct_id,
        log_group_name=f"/aws/imagebuilder/{image_name}",
        retention_in_days=days,
        kms_key_id=key_arn,
    )
    # Its name is literal, so one that outlived its image would stand in the way of the next deployment.
    group.apply_removal_policy(cdk.RemovalPolicy.DESTROY)
    return group


def notifications(scope: Construct, construct_id: str, *, key: kms.IKey) -> sns.Topic:
    """The topic of the builds, with the statement by which Image Builder may use its key."""
    stack = cdk.Stack.of(scope)
    role = stack.format_arn(
        service="iam",
        region="",
        resource="role",
        resource_name="aws-service-role/imagebuilder.amazonaws.com/AWSServiceRoleForImageBuilder*",
    )
    # The role comes with the first use of the service, and a key policy that names a missing role is refused.
    key.add_to_resource_policy(
        iam.PolicyStatement(
            sid="ImageBuilderPublishes",
            principals=[iam.AnyPrincipal()],
            actions=["kms:Decrypt", "kms:GenerateDataKey*"],
            resources=["*"],
            conditions={
                "ArnLike": {"aws:PrincipalArn": role},
                "StringEquals": {"kms:CallerAccount": stack.account},
            },
        ),
        True,
    )
    return sns.Topic(scope, construct_id, master_key=key, enforce_ssl=True)
