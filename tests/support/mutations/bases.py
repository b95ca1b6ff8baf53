"""Apps without a fault: the reference clusters, and templates as other people write them by hand."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from support.clusters import CLUSTERS, STACKS, name_of, synthesized
from support.fabric import min_ip
from support.orchestrators import (
    P5,
    SCRIPT,
    closed_group,
    container,
    encoded,
    environment,
    job,
    launch_template,
    nodes,
    pcs_cluster,
    pcs_nodes,
    pcs_queue,
    pod_cluster,
    pod_group,
    pod_role,
    queue,
    resource,
    self_rules,
)
from ultracluster.policy.document import Document
from ultracluster.policy.engine import judge
from ultracluster.policy.model import AssemblyModel, Environment, TemplateModel
from ultracluster.policy.precedence import without_repeats

Body = dict[str, Any]
Found = frozenset[tuple[str, str]]

_TAGS = [
    {"ResourceType": kind, "Tags": [{"Key": "cost-centre", "Value": "research"}]} for kind in ("instance", "volume")
]
_ONCALL = "arn:aws:sns:us-east-1:111122223333:oncall"
_OWN_ACCOUNT = {
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
class Base:
    """An app.

    Attributes:
        name: its name.
        texts: its templates as JSON, by the names of their stacks.
        region: where it is deployed.
    """

    name: str
    texts: tuple[tuple[str, str], ...]
    region: str

    def templates(self) -> tuple[Body, ...]:
        """Its templates, fresh."""
        return tuple(json.loads(text) for _, text in self.texts)

    def found(self, templates: tuple[Body, ...]) -> Found:
        """(id, logical id) of what all rules find in its templates, as they are now."""
        models = [
            TemplateModel(
                Document(stack, "", template),
                environment=Environment(region=self.region, account="111122223333", stack_name=stack),
            )
            for (stack, _), template in zip(self.texts, templates, strict=True)
        ]
        faults = without_repeats(judge(AssemblyModel(models, is_app=True), fenced=False).faults)
        return frozenset((fault.rule_id, fault.resource_id) for fault in faults)


@cache
def bases() -> tuple[Base, ...]:
    """All apps."""
    clusters = []
    for cluster in CLUSTERS:
        made = synthesized(cluster)
        texts = tuple((f"{made.plan.name}-{stack}", json.dumps(made.templates[stack])) for stack in STACKS)
        clusters.append(Base(name_of(cluster), texts, made.plan.region))
    return (*clusters, *(_by_hand(name, template) for name, template in _HAND_WRITTEN.items()))


def _by_hand(name: str, template: Body) -> Base:
    return Base(name, ((name, json.dumps({"Resources": template})),), "us-east-1")


@cache
def clean(base: Base) -> Found:
    """What is found in an app as it is."""
    return base.found(base.templates())


def _network() -> Body:
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
            PolicyDocument=_OWN_ACCOUNT,
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
                    "Subscribers": [{"SubscriptionType": "SNS", "Address": _ONCALL}],
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


def _node_template(**more: Any) -> Body:
    groups = [{"Fn::GetAtt": ["Efa", "GroupId"]}]
    data = {
        "NetworkInterfaces": min_ip(range(32), Groups=groups),
        "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 2},
        "BlockDeviceMappings": [
            {
                "DeviceName": "/dev/xvda",
                "Ebs": {"VolumeSize": 500, "VolumeType": "gp3", "Encrypted": True, "DeleteOnTermination": True},
            }
        ],
        "TagSpecifications": _TAGS,
        **more,
    }
    return launch_template(**{key: value for key, value in data.items() if value is not None})


def _eks() -> Body:
    subnets = [{"Ref": "Private"}]
    return {
        **_network(),
        "Nodes": nodes(Subnets=subnets, ClusterName={"Ref": "Api"}),
        "Lt": _node_template(
            InstanceType=P5,
            NetworkInterfaces=min_ip(
                range(32),
                Groups=[{"Fn::GetAtt": ["Efa", "GroupId"]}, {"Fn::GetAtt": ["Api", "ClusterSecurityGroupId"]}],
            ),
        ),
        "Api": resource(
            "EKS::Cluster",
            RoleArn="arn:aws:iam::111122223333:role/eks",
            ResourcesVpcConfig={"SubnetIds": subnets, "EndpointPublicAccess": False, "EndpointPrivateAccess": True},
        ),
        "Job": {"Type": "Custom::AWSCDK-EKS-KubernetesResource", "Properties": {"Manifest": json.dumps([_pod()])}},
        **_watched(),
    }


def _pod() -> Body:
    limits = {"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 32, "hugepages-2Mi": "5120Mi"}
    container = {"name": "train", "image": "train:1", "resources": {"limits": limits}}
    return {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container]}}


def _watched() -> Body:
    """An alarm on the use of accelerators."""
    alarm = resource(
        "CloudWatch::Alarm",
        Namespace="CWAgent",
        MetricName="nvidia_smi_utilization_gpu",
        Statistic="Average",
        Period=300,
        EvaluationPeriods=12,
        Threshold=5,
        ComparisonOperator="LessThanThreshold",
        TreatMissingData="notBreaching",
        AlarmActions=[_ONCALL],
        OKActions=[_ONCALL],
    )
    return {"Idle": alarm}


def _batch() -> Body:
    return {
        **_network(),
        "Lt": _node_template(UserData=encoded(SCRIPT)),
        "Group": resource("EC2::PlacementGroup", Strategy="cluster"),
        "Env": environment("Lt", PlacementGroup={"Ref": "Group"}, Subnets=[{"Ref": "Private"}]),
        "Work": queue("Env"),
        "Train": job({"TargetNodes": "0:", "Container": container()}),
    }


def _pcs() -> Body:
    subnets = [{"Ref": "Private"}]
    groups = [{"Ref": "Efa"}]
    return {
        **_network(),
        "Pcs": pcs_cluster(Networking={"SubnetIds": subnets, "SecurityGroupIds": groups}),
        "Lt": _node_template(
            NetworkInterfaces=[
                {**entry, "InterfaceType": "efa", "DeviceIndex": 1 if entry["NetworkCardIndex"] else 0}
                for entry in min_ip(range(32), on_card0=False, Groups=groups)
            ],
            UserData=encoded(SCRIPT),
            InstanceType=P5,
        ),
        "Nodes": pcs_nodes(SubnetIds=subnets, Name=None),
        "Work": pcs_queue("Nodes"),
        **_watched(),
    }


def _hyperpod() -> Body:
    actions = ("ec2:CreateNetworkInterface", "ec2:DescribeNetworkInterfaces")
    return {
        **_network(),
        "Pods": pod_cluster(
            pod_group(), VpcConfig={"SecurityGroupIds": [{"Ref": "Efa"}], "Subnets": [{"Ref": "Private"}]}
        ),
        "Role": pod_role(*actions),
        "Health": _heard("SageMaker HyperPod Cluster Node Health Event"),
        "Failed": _heard("SageMaker HyperPod Cluster Event", EventDetails={"EventLevel": ["Error"]}),
    }


def _heard(name: str, **detail: Any) -> Body:
    """A rule that hands events of HyperPod on."""
    pattern = {"source": ["aws.sagemaker"], "detail-type": [name], **({"detail": detail} if detail else {})}
    return resource("Events::Rule", EventPattern=pattern, Targets=[{"Id": "oncall", "Arn": _ONCALL}])


def _image() -> Body:
    steps = [
        {"name": "Update", "action": "UpdateOS"},
        {"name": "Restart", "action": "Reboot"},
        {"name": "Driver", "action": "ExecuteBash", "inputs": {"commands": ["dnf install -y kmod-nvidia-open-dkms"]}},
    ]
    checks = [{"name": "Look", "action": "ExecuteBash", "inputs": {"commands": ["nvidia-smi -L"]}}]
    phases = [{"name": "build", "steps": steps}, {"name": "test", "steps": checks}]
    document = json.dumps({"schemaVersion": 1.0, "phases": phases})
    parent = "arn:aws:imagebuilder:us-east-1:aws:image/amazon-linux-2023-x86/x.x.x"
    return {
        "Driver": resource("ImageBuilder::Component", Name="driver", Version="1.0.0", Platform="Linux", Data=document),
        "Recipe": resource(
            "ImageBuilder::ImageRecipe",
            Name="nodes",
            Version="1.0.0",
            ParentImage=parent,
            Components=[{"ComponentArn": {"Fn::GetAtt": ["Driver", "Arn"]}}],
        ),
        "Builder": resource(
            "ImageBuilder::InfrastructureConfiguration",
            Name="nodes",
            InstanceProfileName="image-builder",
            InstanceTypes=["g6.xlarge"],
            InstanceMetadataOptions={"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
        ),
        "Shared": resource(
            "ImageBuilder::DistributionConfiguration",
            Name="nodes",
            Distributions=[
                {
                    "Region": "us-east-1",
                    "AmiDistributionConfiguration": {"LaunchPermissionConfiguration": {"UserIds": ["111122223333"]}},
                }
            ],
        ),
        "Pipeline": resource(
            "ImageBuilder::ImagePipeline",
            Name="nodes",
            ImageRecipeArn={"Fn::GetAtt": ["Recipe", "Arn"]},
            InfrastructureConfigurationArn={"Fn::GetAtt": ["Builder", "Arn"]},
            DistributionConfigurationArn={"Fn::GetAtt": ["Shared", "Arn"]},
        ),
    }


_HAND_WRITTEN = copy.deepcopy(
    {"eks": _eks(), "batch": _batch(), "pcs": _pcs(), "hyperpod": _hyperpod(), "image": _image()}
)
