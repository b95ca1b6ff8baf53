"""Templates without a fault, as other people write them by hand."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

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

Body = dict[str, Any]

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
class Stack:
    """A stack.

    Attributes:
        resources: of its template.
        region: where it is deployed.
    """

    resources: Body
    region: str = "us-east-1"


def written() -> dict[str, tuple[Stack, ...]]:
    """The stacks of each app, by its name."""
    return {
        "eks": (Stack(_eks()),),
        "batch": (Stack(_batch()),),
        "pcs": (Stack(_pcs()),),
        "hyperpod": (Stack(_hyperpod()),),
        "image": (Stack(_image()),),
        "prometheus": (Stack(_prometheus()),),
        "openzfs": (Stack(_openzfs()),),
        "far": (Stack(_linked()), Stack(_far_bucket(), "us-west-2")),
    }


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
    return {"Idle": _alarm("nvidia_smi_utilization_gpu", Namespace="CWAgent")}


def _alarm(metric: str, **more: Any) -> Body:
    return resource(
        "CloudWatch::Alarm",
        MetricName=metric,
        Statistic="Average",
        Period=300,
        EvaluationPeriods=12,
        Threshold=5,
        ComparisonOperator="LessThanThreshold",
        TreatMissingData="notBreaching",
        AlarmActions=[_ONCALL],
        OKActions=[_ONCALL],
        **more,
    )


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


FIELDS = """DCGM_FI_DEV_GPU_UTIL, gauge, use
DCGM_FI_DEV_XID_ERRORS, gauge, number of the last XID
"""
ALERTS = """groups:
- name: gpu
  rules:
  - alert: Xid
    expr: changes(DCGM_FI_DEV_XID_ERRORS[5m]) > 0
    for: 1m
"""
SCRAPES = """global:
  scrape_interval: 30s
scrape_configs:
- job_name: dcgm
  scrape_timeout: 10s
"""


def _prometheus() -> Body:
    return {
        "Fields": resource("SSM::Parameter", Type="String", Value=FIELDS),
        "Alerts": resource("APS::RuleGroupsNamespace", Name="gpu", Workspace="ws", Data=ALERTS),
        "Scraper": resource(
            "APS::Scraper", ScrapeConfiguration={"ConfigurationBlob": base64.b64encode(SCRAPES.encode()).decode()}
        ),
    }


def _kept(body: Body) -> Body:
    return {**body, "DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}


def _openzfs() -> Body:
    settings = {"DeploymentType": "SINGLE_AZ_2", "ThroughputCapacity": 320}
    home = resource(
        "FSx::FileSystem",
        FileSystemType="OPENZFS",
        StorageCapacity=256,
        SubnetIds=[{"Ref": "Private"}],
        SecurityGroupIds=[{"Ref": "Control"}],
        OpenZFSConfiguration=settings,
        Tags=_TAGS[0]["Tags"],
    )
    fabric = ("Efa", "EfaIn", "EfaOut")
    return {**{name: body for name, body in _network().items() if name not in fabric}, "Home": _kept(home)}


def _linked() -> Body:
    scratch = resource(
        "FSx::FileSystem",
        FileSystemType="LUSTRE",
        FileSystemTypeVersion="2.15",
        StorageCapacity=2400,
        SubnetIds=[{"Ref": "Private"}],
        SecurityGroupIds=[{"Ref": "Efa"}],
        LustreConfiguration={
            "DeploymentType": "SCRATCH_2",
            "LogConfiguration": {"Level": "WARN_ERROR"},
        },
        Tags=_TAGS[0]["Tags"],
    )
    link = resource(
        "FSx::DataRepositoryAssociation",
        FileSystemId={"Ref": "Scratch"},
        FileSystemPath="/results",
        DataRepositoryPath="s3://made-up-results/run",
        S3={"AutoExportPolicy": {"Events": ["NEW", "CHANGED"]}},
    )
    alarms = {
        f"Watch{at}": _alarm(name, Namespace="AWS/FSx", Dimensions=_of_scratch(**more))
        for at, (name, more) in enumerate(
            (
                ("FreeDataStorageCapacity", {"StorageTargetId": "OST0000"}),
                ("AgeOfOldestQueuedMessage", {"Publisher": "AutoExport"}),
            )
        )
    }
    return {**_network(), "Scratch": scratch, "Link": link, **alarms}


def _of_scratch(**more: str) -> list[Body]:
    dimensions = {"FileSystemId": {"Ref": "Scratch"}, **more}
    return [{"Name": name, "Value": value} for name, value in dimensions.items()]


def _far_bucket() -> Body:
    return {"Results": _kept(resource("S3::Bucket", BucketName="made-up-results"))}
