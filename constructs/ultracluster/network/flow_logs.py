"""Flow logs of a VPC into a log group of their own."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from ultracluster.network.defaults import FLOW_LOG_AGGREGATION_S

__all__ = ["FlowLogs"]


class FlowLogs(Construct):
    """All accepted and rejected flows of a VPC. EFA traffic between nodes bypasses the IP stack and is not in it.

    Attributes:
        log_group: where the records go; deleted with the stack.
        role: may write to that group and to nothing else.
        flow_log: the flow log itself.
    """

    def __init__(self, scope: Construct, construct_id: str, *, vpc_id: str, retention_days: int) -> None:
        super().__init__(scope, construct_id)
        self.log_group = logs.CfnLogGroup(self, "LogGroup", retention_in_days=retention_days)
        self.log_group.apply_removal_policy(cdk.RemovalPolicy.DESTROY)
        log_group_arn = self.log_group.attr_arn
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal(
                "vpc-flow-logs.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account}},
            ),
            inline_policies={"WriteFlowLogs": iam.PolicyDocument.from_json(_write_logs(log_group_arn))},
        )
        self.flow_log = ec2.CfnFlowLog(
            self,
            "Resource",
            resource_id=vpc_id,
            resource_type="VPC",
            traffic_type="ALL",
            log_destination_type="cloud-watch-logs",
            log_destination=log_group_arn,
            deliver_logs_permission_arn=self.role.role_arn,
            max_aggregation_interval=FLOW_LOG_AGGREGATION_S,
        )


def _write_logs(log_group_arn: str) -> dict[str, object]:
    actions = ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
    return {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": actions, "Resource": log_group_arn}],
    }
