"""Root squash of a Lustre file system, set by an API call at deployment: CloudFormation has no property for it.

The call is made when the setting is created or changed, and a failure fails the deployment. Nothing is called when it
is taken away: a retained file system must not lose its protection with its stack. To switch it off, ask for `0:0`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import custom_resources as cr
from constructs import Construct

from ultracluster.acknowledge import acknowledge

if TYPE_CHECKING:
    from ultracluster.plan.lustre_request import RootSquash

__all__ = ["LustreRootSquash"]

_BASIC_EXECUTION = "arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
_CALLER = "AWS679f53fac002430cb0da5b7982bd2287"
"""Id that the CDK gives to the one function of a stack that makes such calls."""


class LustreRootSquash(Construct):
    """The call `UpdateFileSystem` with a root squash configuration.

    Args:
        scope: the file system.
        construct_id: the id in it.
        file_system_id: its id.
        file_system_arn: its ARN, the only thing that the call is allowed to change.
        root_squash: what was decided.

    Attributes:
        call: the custom resource; what has to come before the call is added to its dependencies.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        file_system_id: str,
        file_system_arn: str,
        root_squash: RootSquash,
    ) -> None:
        super().__init__(scope, construct_id)
        configuration = {"RootSquash": root_squash.uid_gid, "NoSquashNids": list(root_squash.no_squash_nids)}
        self.call = cr.AwsCustomResource(
            self,
            "Resource",
            on_update=cr.AwsSdkCall(
                service="FSx",
                action="updateFileSystem",
                parameters={
                    "FileSystemId": file_system_id,
                    "LustreConfiguration": {"RootSquashConfiguration": configuration},
                },
                physical_resource_id=cr.PhysicalResourceId.of("root-squash"),
                output_paths=[
                    "FileSystem.FileSystemId"
                ],  # the whole answer could exceed what a custom resource may return
            ),
            policy=cr.AwsCustomResourcePolicy.from_statements(
                [iam.PolicyStatement(actions=["fsx:UpdateFileSystem"], resources=[file_system_arn])]
            ),
            install_latest_aws_sdk=False,  # a deployment must not depend on what npm serves that day
            resource_type="Custom::LustreRootSquash",
        )
        self._acknowledge()

    def _acknowledge(self) -> None:
        caller = cdk.Stack.of(self).node.try_find_child(_CALLER)
        if caller is not None:
            acknowledge(
                caller,
                {
                    f"AwsSolutions-IAM4[Policy::{_BASIC_EXECUTION}]": "the CDK's own function only writes its own logs",
                },
            )
