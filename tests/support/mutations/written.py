"""Templates without a fault, as other people write them by hand."""

from __future__ import annotations

import json
from typing import Any

from support.fabric import min_ip
from support.mutations.parts import ONCALL, TAGS, Body, Stack, network, watched
from support.mutations.written_storage import far_bucket, linked, openzfs, prometheus
from support.orchestrators import (
    P5,
    SCRIPT,
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
)


def written() -> dict[str, tuple[Stack, ...]]:
    """The stacks of each app, by its name."""
    return {
        "eks": (Stack(_eks()),),
        "batch": (Stack(_batch()),),
        "pcs": (Stack(_pcs()),),
        "hyperpod": (Stack(_hyperpod()),),
        "image": (Stack(_image()),),
        "prometheus": (Stack(prometheus()),),
        "openzfs": (Stack(openzfs()),),
        "far": (Stack(linked()), Stack(far_bucket(), "us-west-2")),
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
        "TagSpecifications": TAGS,
        **more,
    }
    return launch_template(**{key: value for key, value in data.items() if value is not None})


def _eks() -> Body:
    subnets = [{"Ref": "Private"}]
    return {
        **network(),
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
        **watched(),
    }


def _pod() -> Body:
    limits = {"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 32, "hugepages-2Mi": "5120Mi"}
    container = {"name": "train", "image": "train:1", "resources": {"limits": limits}}
    return {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container]}}


def _batch() -> Body:
    return {
        **network(),
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
        **network(),
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
        **watched(),
    }


def _hyperpod() -> Body:
    actions = ("ec2:CreateNetworkInterface", "ec2:DescribeNetworkInterfaces")
    return {
        **network(),
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
    return resource("Events::Rule", EventPattern=pattern, Targets=[{"Id": "oncall", "Arn": ONCALL}])


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
