"""A customer key on root volumes: Auto Scaling launches the nodes, so its service-linked role has to be let in.

Without this every node ends seconds after its launch with a client error of EBS and no better message.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

__all__ = ["allow_auto_scaling"]

_USE = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"]


def allow_auto_scaling(stack: cdk.Stack, key: kms.IKey) -> bool:
    """Let the service-linked role of Auto Scaling use the key for volumes.

    The role is named in a condition, not as the principal: a key policy that names a role which does not exist yet, as
    in an account that never had a group, is refused.

    Args:
        stack: tells account and partition.
        key: the key.

    Returns:
        Whether the statements could be added; the policy of an imported key belongs to somebody else.
    """
    role = stack.format_arn(
        service="iam",
        region="",
        resource="role",
        resource_name="aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling",
    )
    condition = {"ArnEquals": {"aws:PrincipalArn": role}}
    use = iam.PolicyStatement(
        sid="AutoScalingUsesVolumes",
        principals=[iam.AnyPrincipal()],
        actions=_USE,
        resources=["*"],
        conditions=condition,
    )
    grant = iam.PolicyStatement(
        sid="AutoScalingGrantsVolumes",
        principals=[iam.AnyPrincipal()],
        actions=["kms:CreateGrant"],
        resources=["*"],
        conditions={**condition, "Bool": {"kms:GrantIsForAWSResource": "true"}},
    )
    added = key.add_to_resource_policy(use).statement_added
    return key.add_to_resource_policy(grant).statement_added and added
