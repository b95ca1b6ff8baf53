"""Parts of the written templates: a network, alarms, what outlives a stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from support.orchestrators import closed_group, resource, self_rules

Body = dict[str, Any]

TAGS = [
    {"ResourceType": kind, "Tags": [{"Key": "cost-centre", "Value": "research"}]} for kind in ("instance", "volume")
]
ONCALL = "arn:aws:sns:us-east-1:111122223333:oncall"
OWN_ACCOUNT = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": "*",
            "Action": "s3:*",
            "Resource": "*",
            "Condition": {"StringEquals": {"aws:PrincipalAccount": "111122223333"}},
        }
    ],
}


@dataclass(frozen=True)
class Stack:
    """A stack.

    Attributes:
        resources: of its template.
        region: where it is deployed.
    """

    resources: Body
    region: str = "us-east-1"


def network() -> Body:
    """A VPC with a private subnet, an endpoint for S3, and the groups of a fabric and of a control plane."""
    return {
        "Vpc": resource("EC2::VPC", CidrBlock="10.0.0.0/16", EnableDnsHostnames=True, EnableDnsSupport=True),
        "Private": resource(
            "EC2::Subnet", VpcId={"Ref": "Vpc"}, CidrBlock="10.0.0.0/20", AvailabilityZone="us-east-1a"
        ),
        "Table": resource("EC2::RouteTable", VpcId={"Ref": "Vpc"}),
        "Routed": resource(
            "EC2::SubnetRouteTableAssociation", SubnetId={"Ref": "Private"}, RouteTableId={"Ref": "Table"}
        ),
        "S3": resource(
            "EC2::VPCEndpoint",
            VpcId={"Ref": "Vpc"},
            ServiceName="com.amazonaws.us-east-1.s3",
            VpcEndpointType="Gateway",
            RouteTableIds=[{"Ref": "Table"}],
            PolicyDocument=OWN_ACCOUNT,
        ),
        "Budget": resource(
            "Budgets::Budget",
            Budget={
                "BudgetType": "COST",
                "TimeUnit": "MONTHLY",
                "BudgetLimit": {"Amount": 100000, "Unit": "USD"},
                "CostFilters": {"TagKeyValue": ["user:cost-centre$research"]},
            },
            NotificationsWithSubscribers=[
                {
                    "Notification": {
                        "NotificationType": "FORECASTED",
                        "ComparisonOperator": "GREATER_THAN",
                        "Threshold": 100,
                    },
                    "Subscribers": [{"SubscriptionType": "SNS", "Address": ONCALL}],
                }
            ],
        ),
        "Efa": closed_group(VpcId={"Ref": "Vpc"}),
        **self_rules("Efa"),
        "Control": closed_group(
            VpcId={"Ref": "Vpc"},
            SecurityGroupEgress=[{"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}],
        ),
    }


def watched() -> Body:
    """An alarm on the use of accelerators."""
    return {"Idle": alarm("nvidia_smi_utilization_gpu", Namespace="CWAgent")}


def alarm(metric: str, **more: Any) -> Body:
    """An alarm."""
    return resource(
        "CloudWatch::Alarm",
        MetricName=metric,
        Statistic="Average",
        Period=300,
        EvaluationPeriods=12,
        Threshold=5,
        ComparisonOperator="LessThanThreshold",
        TreatMissingData="notBreaching",
        AlarmActions=[ONCALL],
        OKActions=[ONCALL],
        **more,
    )


def kept(body: Body) -> Body:
    """A resource that outlives its stack."""
    return {**body, "DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
