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
        self.key = kms.Key(
            self,
            "Resource",
            description=description or f"data of {self.node.path}",
            enable_key_rotation=True,
            removal_policy=removal_policy,
        )
        let_lustre_links_use(self.key)
        through_ec2 = _caller(self, "ec2")
        self.key.add_to_resource_policy(self._through_ec2(through_ec2))
        self.key.add_to_resource_policy(self._grants_through_ec2(through_ec2))
        self.key.add_to_resource_policy(self._logs())

    def _through_ec2(self, caller: Mapping[str, Mapping[str, str]]) -> iam.PolicyStatement:
        # Auto Scaling launches instances with its service-linked role, which no policy of the account lets use a key.
        # The role may not exist yet, and a key policy that names a missing role is refused: conditions name it instead.
        return iam.PolicyStatement(
            sid="EncryptedVolumes",
            principals=[iam.AnyPrincipal()],
            actions=_USE,
            resources=["*"],
            conditions=caller,
        )

    def _grants_through_ec2(self, caller: Mapping[str, Mapping[str, str]]) -> iam.PolicyStatement:
        return iam.PolicyStatement(
            sid="GrantsForEncryptedVolumes",
            principals=[iam.AnyPrincipal()],
            actions=["kms:CreateGrant"],
            resources=["*"],
            conditions={**caller, "Bool": {"kms:GrantIsForAWSResource": "true"}},
        )

    def _logs(self) -> iam.PolicyStatement:
        stack = cdk.Stack.of(self)
        groups = stack.format_arn(
            service="logs", resource="log-group", resource_name="*", arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
        )
        return iam.PolicyStatement(
            sid="EncryptedLogGroups",
            principals=[iam.ServicePrincipal("logs.amazonaws.com")],
            actions=_USE,
            resources=["*"],
            conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
        )


def let_lustre_links_use(key: kms.IKey) -> None:
    """Let the role by which FSx for Lustre reads and writes linked buckets use the key.

    The role is made together with the first association and carries the id of the file system, so that a statement
    written before can only name it by its pattern. A key outside of this application is left as it is.

    Args:
        key: the key of a linked bucket.
    """
    stack = cdk.Stack.of(key)
    role = stack.format_arn(
        service="iam",
        region="",
        resource="role",
        resource_name="aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/AWSServiceRoleForFSxS3Access_*",
    )
    statement = iam.PolicyStatement(
        sid="LustreLinks",
        principals=[iam.AnyPrincipal()],
        actions=_USE,
        resources=["*"],
        conditions=_caller(key, "s3") | {"ArnLike": {"aws:PrincipalArn": role}},
    )
    key.add_to_resource_policy(statement, True)


def _caller(scope: Construct | kms.IKey, service: str) -> dict[str, dict[str, str]]:
    stack = cdk.Stack.of(scope)
    return {
        "StringEquals": {
            "kms:CallerAccount": stack.account,
            "kms:ViaService": f"{service}.{stack.region}.{stack.url_suffix}",
        }
    }
