"""Small templates of EKS, Batch, PCS and HyperPod, for tests of rules."""

from __future__ import annotations

import base64
from typing import Any

from support.policy import judged

Body = dict[str, Any]
P5 = "p5.48xlarge"
NONE = {"Ref": "AWS::NoValue"}
MIME = 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: {}\n\n{}\n--b--\n'
SCRIPT = MIME.format("text/x-shellscript", "#!/bin/bash\necho hello")


def encoded(text: str) -> str:
    """User data as EC2 takes it."""
    return base64.b64encode(text.encode()).decode()


def resource(kind: str, /, **properties: Any) -> Body:
    """A resource; properties that are None are left out."""
    written = {key: value for key, value in properties.items() if value is not None}
    return {"Type": f"AWS::{kind}", "Properties": written}


def launch_template(**data: Any) -> Body:
    """A launch template."""
    return resource("EC2::LaunchTemplate", LaunchTemplateData=data)


def template(parameters: Body | None = None, conditions: Body | None = None, /, **resources: Body) -> Body:
    """A template."""
    sections = {"Parameters": parameters, "Conditions": conditions, "Resources": resources}
    return {name: body for name, body in sections.items() if body}


def ids(area: str, *templates: Any, is_app: bool = False) -> set[str]:
    """Ids of one area that were found."""
    return {found for found in judged(*templates, is_app=is_app).ids if found.split("-")[1] == area}


def either(condition: str, one: Any, other: Any) -> Body:
    """Fn::If."""
    return {"Fn::If": [condition, one, other]}


def switch(name: str = "Big") -> tuple[Body, Body]:
    """A parameter and a condition over it that is taken both ways."""
    return {f"{name}Or": {"Type": "String"}}, {name: {"Fn::Equals": [{"Ref": f"{name}Or"}, "yes"]}}


def parameter(kind: str = "String", **more: Any) -> Body:
    """The declaration of a parameter without default."""
    return {"Type": kind, **more}


def nodes(name: str = "Lt", **more: Any) -> Body:
    """A managed node group of EKS with which no rule on EKS finds fault, unless something is added."""
    settings = {
        "ClusterName": "train",
        "NodeRole": "arn:aws:iam::111122223333:role/node",
        "Subnets": ["subnet-0123456789abcdef0"],
        "AmiType": "AL2023_x86_64_NVIDIA",
        "NodeRepairConfig": {"Enabled": True},
        "UpdateConfig": {"UpdateStrategy": "MINIMAL"},
        "LaunchTemplate": {"Id": {"Ref": name}, "Version": {"Fn::GetAtt": [name, "LatestVersionNumber"]}},
    }
    return resource("EKS::Nodegroup", **{**settings, **more})


def node_pair(
    data: Body | None = None, parameters: Body | None = None, conditions: Body | None = None, **group: Any
) -> Body:
    """A launch template `Lt` and a node group `Nodes` that uses it."""
    data = {"InstanceType": P5} if data is None else data
    return template(parameters, conditions, Lt=launch_template(**data), Nodes=nodes(**group))


def environment(name: str | None = None, **more: Any) -> Body:
    """A managed environment of Batch with which no rule on Batch finds fault; `name` is its launch template."""
    settings: Body = {
        "Type": "EC2",
        "AllocationStrategy": "BEST_FIT_PROGRESSIVE",
        "MaxvCpus": 768,
        "InstanceTypes": [P5],
        "InstanceRole": "arn:aws:iam::111122223333:instance-profile/batch",
        "PlacementGroup": "training",
        "Subnets": ["subnet-0123456789abcdef0"],
    }
    if name is not None:
        version = {"Fn::GetAtt": [name, "LatestVersionNumber"]}
        settings["LaunchTemplate"] = {"LaunchTemplateId": {"Ref": name}, "Version": version}
    written = {key: value for key, value in {**settings, **more}.items() if value is not None}
    return resource("Batch::ComputeEnvironment", Type="MANAGED", ComputeResources=written)


def queue(*names: Any, **more: Any) -> Body:
    """A job queue that leads to environments of the template."""
    order = [
        {"Order": at, "ComputeEnvironment": {"Ref": name} if isinstance(name, str) else name}
        for at, name in enumerate(names)
    ]
    action = {"State": "RUNNABLE", "Action": "CANCEL", "MaxTimeSeconds": 3600, "Reason": "no capacity"}
    settings = {"Priority": 1, "ComputeEnvironmentOrder": order, "JobStateTimeLimitActions": [action]}
    return resource("Batch::JobQueue", **{**settings, **more})


def container(devices: int = 32, **more: Any) -> Body:
    """The container of a multi-node job with EFA."""
    path = "/dev/infiniband/uverbs"
    settings: Body = {
        "Image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
        "InstanceType": P5,
        "ResourceRequirements": [{"Type": "GPU", "Value": "8"}, {"Type": "VCPU", "Value": "190"}],
        "Ulimits": [{"Name": "memlock", "SoftLimit": -1, "HardLimit": -1}],
        "LinuxParameters": {
            "SharedMemorySize": 65536,
            "Devices": [{"HostPath": f"{path}{number}"} for number in range(devices)],
        },
    }
    return {key: value for key, value in {**settings, **more}.items() if value is not None}


def job(*ranges: Body, nodes: Any = 4, main: Any = 0, **more: Any) -> Body:
    """A multi-node job definition; one range for all nodes when none is given."""
    listed = list(ranges) or [{"TargetNodes": "0:", "Container": container()}]
    properties = {"NumNodes": nodes, "MainNode": main, "NodeRangeProperties": listed}
    settings = {"Type": "multinode", "NodeProperties": properties, "Timeout": {"AttemptDurationSeconds": 86400}}
    return resource("Batch::JobDefinition", **{**settings, **more})


def pcs_cluster(**more: Any) -> Body:
    """A PCS cluster with which no rule on PCS finds fault."""
    settings = {
        "Name": "train",
        "Size": "MEDIUM",
        "Scheduler": {"Type": "SLURM", "Version": "25.11"},
        "Networking": {"SubnetIds": ["subnet-0123456789abcdef0"], "SecurityGroupIds": ["sg-0123456789abcdef0"]},
        "SlurmConfiguration": {"Accounting": {"Mode": "STANDARD", "DefaultPurgeTimeInDays": 365}},
    }
    return resource("PCS::Cluster", **{**settings, **more})


def pcs_nodes(*types: Any, name: str = "Lt", most: Any = 4, **more: Any) -> Body:
    """A compute node group of the cluster `Pcs` of the template."""
    settings = {
        "Name": "nodes",
        "ClusterId": {"Fn::GetAtt": ["Pcs", "Id"]},
        "CustomLaunchTemplate": {"TemplateId": {"Ref": name}, "Version": {"Fn::GetAtt": [name, "LatestVersionNumber"]}},
        "SubnetIds": ["subnet-0123456789abcdef0"],
        "IamInstanceProfileArn": "arn:aws:iam::111122223333:instance-profile/AWSPCS-node",
        "InstanceConfigs": [{"InstanceType": kind} for kind in types or (P5,)],
        "ScalingConfiguration": {"MinInstanceCount": 0, "MaxInstanceCount": most},
    }
    return resource("PCS::ComputeNodeGroup", **{**settings, **more})


def pcs_queue(*groups: Any, **more: Any) -> Body:
    """A queue over node groups of the template."""
    listed = [
        {"ComputeNodeGroupId": {"Fn::GetAtt": [name, "Id"]} if isinstance(name, str) else name} for name in groups
    ]
    settings = {"Name": "work", "ClusterId": {"Fn::GetAtt": ["Pcs", "Id"]}, "ComputeNodeGroupConfigurations": listed}
    return resource("PCS::Queue", **{**settings, **more})


def pcs_app(
    data: Body | None = None,
    parameters: Body | None = None,
    conditions: Body | None = None,
    /,
    *,
    group: Body | None = None,
    **more: Body,
) -> Body:
    """A cluster `Pcs`, a launch template `Lt`, a node group `Nodes` and a queue `Work`."""
    resources = {
        "Pcs": pcs_cluster(),
        "Lt": launch_template(**({"InstanceType": P5} if data is None else data)),
        "Nodes": pcs_nodes(**(group or {})),
        "Work": pcs_queue("Nodes"),
        **more,
    }
    return template({"Text": parameter(), **(parameters or {})}, conditions, **resources)


def pod_group(kind: Any = f"ml.{P5}", **more: Any) -> Body:
    """An instance group of HyperPod with which no rule on HyperPod finds fault."""
    settings = {
        "InstanceGroupName": "workers",
        "InstanceType": kind,
        "InstanceCount": 4,
        "ExecutionRole": {"Fn::GetAtt": ["Role", "Arn"]},
        "InstanceStorageConfigs": [{"EbsVolumeConfig": {"VolumeSizeInGB": 500}}],
        "LifeCycleConfig": {"SourceS3Uri": "s3://sagemaker-train/scripts", "OnCreate": "on_create.sh"},
    }
    return {key: value for key, value in {**settings, **more}.items() if value is not None}


def pod_cluster(*groups: Body, **more: Any) -> Body:
    """A HyperPod cluster on EKS; one group when none is given."""
    settings = {
        "InstanceGroups": list(groups) or [pod_group()],
        "NodeRecovery": "Automatic",
        "NodeProvisioningMode": "Continuous",
        "Orchestrator": {"Eks": {"ClusterArn": "arn:aws:eks:us-east-1:111122223333:cluster/train"}},
        "VpcConfig": {"SecurityGroupIds": [{"Ref": "Efa"}], "Subnets": ["subnet-0123456789abcdef0"]},
    }
    return resource("SageMaker::Cluster", **{**settings, **more})


def self_rules(name: str) -> dict[str, Body]:
    """Both rules that let a security group talk to itself."""
    own = {"Ref": name}
    inward = resource("EC2::SecurityGroupIngress", GroupId=own, IpProtocol="-1", SourceSecurityGroupId=own)
    outward = resource("EC2::SecurityGroupEgress", GroupId=own, IpProtocol="-1", DestinationSecurityGroupId=own)
    return {f"{name}In": inward, f"{name}Out": outward}


def closed_group(*ingress: Body, **more: Any) -> Body:
    """A security group whose default egress is replaced by HTTPS within the VPC."""
    out = [{"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "CidrIp": "10.0.0.0/16"}]
    settings = {"GroupDescription": "pods", "SecurityGroupIngress": list(ingress), "SecurityGroupEgress": out}
    return resource("EC2::SecurityGroup", **{**settings, **more})


def pod_role(*actions: str, policies: Any = ("AmazonSageMakerFullAccess",), **more: Any) -> Body:
    """An execution role."""
    arns = [f"arn:aws:iam::aws:policy/{name}" if isinstance(name, str) else name for name in policies]
    statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
    document = {"Version": "2012-10-17", "Statement": [statement]}
    inline = [{"PolicyName": "more", "PolicyDocument": document}] if actions else None
    settings = {"AssumeRolePolicyDocument": {}, "ManagedPolicyArns": arns, "Policies": inline}
    return resource("IAM::Role", **{**settings, **more})


def pod_app(
    *groups: Body,
    parameters: Body | None = None,
    conditions: Body | None = None,
    cluster: Body | None = None,
    **more: Body,
) -> Body:
    """A cluster `Pods` with the security group `Efa` and the execution role `Role`."""
    resources = {
        "Pods": pod_cluster(*groups, **(cluster or {})),
        "Efa": closed_group(),
        **self_rules("Efa"),
        "Role": pod_role(),
        **more,
    }
    return template({"Text": parameter(), **(parameters or {})}, conditions, **resources)
