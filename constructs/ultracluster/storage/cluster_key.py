"""The customer-managed key of a cluster, with the statements that its services need.

One key for the file systems, the buckets and their links, and for the volumes of fleets that are given it. What it
costs: the key is billed per month, its requests per use (bucket keys keep those of S3 low). It is retained: without the
key the data is gone.
"""

from __future__ import annotations

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

__all__ = ["ClusterKey", "let_lustre_links_use"]

_USE = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"]
_Statement = dict[str, object]


class ClusterKey(Construct):
    """A key that everything in a cluster can be encrypted with.

    Example:
        ```python
        key = ClusterKey(self, "Key").key
        ```

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        description: what the console shows; the path when left out.
        removal_policy: what becomes of the key when it leaves the template; retained, because data that it encrypts
            cannot be read without it.

    Attributes:
        key: the key.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        description: str | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN,
    ) -> None:
        super().__init__(scope, construct_id)
        stack = cdk.Stack.of(self)
        # One document at once: a statement added to the key costs several crossings into the CDK.
        statements = [_administrators(stack), _lustre_links(stack), *_volumes(stack), _logs(stack)]
        self.key = kms.Key(
            self,
            "Resource",
            description=description or f"data of {self.node.path}",
            enable_key_rotation=True,
            policy=iam.PolicyDocument.from_json({"Version": "2012-10-17", "Statement": statements}),
            removal_policy=removal_policy,
        )


def let_lustre_links_use(key: kms.IKey) -> None:
    """Let the role by which FSx for Lustre reads and writes linked buckets use the key.

    The role is made together with the first association and carries the id of the file system, so that a statement
    written before can only name it by its pattern. A key outside of this application is left as it is.

    Args:
        key: the key of a linked bucket.
    """
    statement = iam.PolicyStatement.from_json(_lustre_links(cdk.Stack.of(key)))
    key.add_to_resource_policy(statement, True)


def _administrators(stack: cdk.Stack) -> _Statement:
    """What the CDK gives a key of its own: the policies of the account decide who administers and uses it."""
    root = stack.format_arn(service="iam", region="", resource="root", arn_format=cdk.ArnFormat.NO_RESOURCE_NAME)
    return {"Effect": "Allow", "Principal": {"AWS": root}, "Action": "kms:*", "Resource": "*"}


def _volumes(stack: cdk.Stack) -> tuple[_Statement, _Statement]:
    # Auto Scaling launches instances with its service-linked role, which no policy of the account lets use a key.
    # The role may not exist yet, and a key policy that names a missing role is refused: conditions name it instead.
    caller = _caller(stack, "ec2")
    grants = {**caller, "Bool": {"kms:GrantIsForAWSResource": "true"}}
    return (
        _anybody("EncryptedVolumes", _USE, caller),
        _anybody("GrantsForEncryptedVolumes", "kms:CreateGrant", grants),
    )


def _logs(stack: cdk.Stack) -> _Statement:
    groups = stack.format_arn(
        service="logs", resource="log-group", resource_name="*", arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
    )
    return {
        "Sid": "EncryptedLogGroups",
        "Effect": "Allow",
        "Principal": {"Service": "logs.amazonaws.com"},
        "Action": _USE,
        "Resource": "*",
        "Condition": {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
    }


def _lustre_links(stack: cdk.Stack) -> _Statement:
    role = stack.format_arn(
        service="iam",
        region="",
        resource="role",
        resource_name="aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/AWSServiceRoleForFSxS3Access_*",
    )
    return _anybody("LustreLinks", _USE, {**_caller(stack, "s3"), "ArnLike": {"aws:PrincipalArn": role}})


def _anybody(sid: str, actions: str | list[str], conditions: Mapping[str, object]) -> _Statement:
    return {
        "Sid": sid,
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": actions,
        "Resource": "*",
        "Condition": conditions,
    }


def _caller(stack: cdk.Stack, service: str) -> dict[str, dict[str, str]]:
    """Principals of this account that come through a service."""
    return {
        "StringEquals": {
            "kms:CallerAccount": stack.account,
            "kms:ViaService": f"{service}.{stack.region}.{stack.url_suffix}",
        }
    }
