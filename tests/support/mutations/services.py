"""Changes that break rules on EKS, Batch, PCS and HyperPod."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

from support.mutations.tools import Body, Change, Mutation, Place, drop, each, needs, put
from support.orchestrators import encoded

_LT = "EC2::LaunchTemplate"
_GROUP = "EKS::Nodegroup"
_ENVIRONMENT, _JOB, _QUEUE = "Batch::ComputeEnvironment", "Batch::JobDefinition", "Batch::JobQueue"
_PCS, _NODES = "PCS::Cluster", "PCS::ComputeNodeGroup"
_PODS, _COMPONENT = "SageMaker::Cluster", "ImageBuilder::Component"
_DATA, _POOL = "LaunchTemplateData", "ComputeResources"
_RANGE = ("NodeProperties", "NodeRangeProperties", 0)
_PLAIN_SCRIPT = {"Fn::Base64": "#!/bin/bash\necho hello\n"}


def _used_by(kind: str, change: Change) -> Change:
    """A change of a launch template that a service uses."""

    def changed(place: Place) -> None:
        needs(any(body["Type"] == f"AWS::{kind}" for body in place.template["Resources"].values()))
        change(place)

    return changed


def _subnet_in_an_entry(place: Place) -> None:
    place.pick.choice(place.entries("interface", "efa"))["SubnetId"] = "subnet-0123456789abcdef0"


def types_of_the_group(*names: str) -> Change:
    """Name the types of a node group on the group instead of in its launch template."""

    def change(place: Place) -> None:
        place.properties["InstanceTypes"] = list(names)
        for _, body in place.others(_LT):
            body["Properties"][_DATA].pop("InstanceType", None)

    return change


def _group(*path: object) -> Change:
    return put("InstanceGroups", 0, *path)


def _hundred_nodes(place: Place) -> None:
    place.properties["ScalingConfiguration"]["MaxInstanceCount"] = place.pick.choice([513, 900, 2000])


def _other_role(place: Place) -> None:
    place.add("NodeRole", "IAM::Role", RoleName="nodes", AssumeRolePolicyDocument={}, Path="/")
    place.add("NodeProfile", "IAM::InstanceProfile", Roles=[{"Ref": "NodeRole"}])
    place.properties["IamInstanceProfileArn"] = {"Fn::GetAtt": ["NodeProfile", "Arn"]}


def _one_plan_for_two_types(place: Place) -> None:
    groups = place.at("InstanceGroups")
    groups[0]["TrainingPlanArn"] = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/one"
    groups.append({**groups[0], "InstanceGroupName": "more", "InstanceType": "ml.p6-b200.48xlarge"})


def _with_steps(change: Callable[[list[Body]], None]) -> Change:
    """A change of the phases of a component of Image Builder."""

    def changed(place: Place) -> None:
        document = json.loads(place.at("Data"))
        change(document["phases"])
        place.properties["Data"] = json.dumps(document)

    return changed


def _untested(phases: list[Body]) -> None:
    del phases[1:]


def _without_a_reboot(phases: list[Body]) -> None:
    phases[0]["steps"] = [step for step in phases[0]["steps"] if step["action"] != "Reboot"]


def _unclosed(place: Place) -> None:
    text = base64.b64decode(place.at(_DATA, "UserData")).decode()
    place.data["UserData"] = encoded(text.replace("--b--", ""))


def _unfilled(place: Place) -> None:
    text = base64.b64decode(place.at(_DATA, "UserData")).decode()
    place.template["Parameters"] = {"ClusterId": {"Type": "String"}}
    place.data["UserData"] = {"Fn::Base64": text.replace("echo hello", "echo ${ClusterId}")}


def _without_interfaces(place: Place) -> None:
    needs(any(body["Type"] == f"AWS::{_PODS}" for body in place.template["Resources"].values()))
    arn = "arn:aws:iam::aws:policy/AmazonSageMakerClusterInstanceRolePolicy"
    place.properties.update(Policies=[], ManagedPolicyArns=[arn])


SERVICES = (
    Mutation("EKS-001", _LT, _used_by(_GROUP, _subnet_in_an_entry)),
    Mutation("EKS-002", _LT, _used_by(_GROUP, put(_DATA, "IamInstanceProfile", {"Name": "nodes"}))),
    Mutation("EKS-003", _GROUP, put("InstanceTypes", ["p5.48xlarge"])),
    Mutation("EKS-004", _GROUP, put("AmiType", "AL2023_x86_64_NEURON")),
    Mutation("EKS-004", _GROUP, put("AmiType", "AL2023_x86_64_STANDARD")),
    Mutation("EKS-005", _GROUP, drop("AmiType")),
    Mutation(
        "EKS-006",
        _GROUP,
        types_of_the_group("p5.48xlarge", "trn1.32xlarge"),
        frozenset({"EFA-009", "EKS-004", "NIC-004"}),
    ),
    Mutation(
        "EKS-007",
        _LT,
        _used_by(_GROUP, put(_DATA, "ImageId", "resolve:ssm:/aws/service/eks/image")),
        frozenset({"EKS-008", "EKS-023"}),
    ),
    Mutation("EKS-008", _GROUP, put("DiskSize", 200)),
    Mutation("EKS-009", _GROUP, put("CapacityType", "CAPACITY_BLOCK")),
    Mutation("EKS-015", _GROUP, drop("NodeRepairConfig")),
    Mutation("EKS-016", _GROUP, drop("UpdateConfig")),
    Mutation(
        "EKS-017",
        _GROUP,
        put(
            "NodeRepairConfig",
            {"Enabled": True, "MaxUnhealthyNodeThresholdCount": 1, "MaxUnhealthyNodeThresholdPercentage": 5},
        ),
    ),
    Mutation("EKS-018", "EKS::Cluster", put("ResourcesVpcConfig", "EndpointPublicAccess", True)),
    Mutation("EKS-021", _LT, _used_by(_GROUP, drop(_DATA, "InstanceType")), frozenset({"NIC-016"}), at=_GROUP),
    Mutation("EKS-022", _LT, _used_by(_GROUP, put(_DATA, "UserData", _PLAIN_SCRIPT))),
    Mutation("BAT-001", _ENVIRONMENT, put(_POOL, "SecurityGroupIds", ["sg-0123456789abcdef0"])),
    Mutation("BAT-002", _LT, _used_by(_ENVIRONMENT, put(_DATA, "UserData", _PLAIN_SCRIPT))),
    Mutation("BAT-003", _JOB, put(*_RANGE, "TargetNodes", "1:3")),
    Mutation("BAT-003", _JOB, put("NodeProperties", "MainNode", 4)),
    Mutation("BAT-005", _ENVIRONMENT, put(_POOL, "Type", "SPOT"), frozenset({"BAT-016", "SPT-004"}), at="*"),
    Mutation("BAT-006", _JOB, drop(*_RANGE, "Container", "Ulimits")),
    Mutation("BAT-006", _JOB, lambda place: place.at(*_RANGE, "Container", "LinuxParameters", "Devices").pop()),
    Mutation("BAT-007", _JOB, put(*_RANGE, "Container", "LinuxParameters", "Devices", 3, "Permissions", ["READ"])),
    Mutation(
        "BAT-008",
        _ENVIRONMENT,
        put(_POOL, "InstanceTypes", ["optimal", "p5.48xlarge"]),
        frozenset({"NIC-016", "EFA-001", "PLC-006"}),
    ),
    Mutation("BAT-011", _ENVIRONMENT, drop(_POOL, "PlacementGroup")),
    Mutation(
        "BAT-014",
        _LT,
        _used_by(_ENVIRONMENT, put(_DATA, "InstanceMarketOptions", {"MarketType": "capacity-block"})),
        frozenset({"CAP-002", "CAP-011", "PLC-002"}),
    ),
    Mutation("BAT-015", _ENVIRONMENT, put(_POOL, "LaunchTemplate", "Version", "$Latest")),
    Mutation("BAT-016", _ENVIRONMENT, put(_POOL, "AllocationStrategy", "SPOT_CAPACITY_OPTIMIZED")),
    Mutation("BAT-017", _ENVIRONMENT, put(_POOL, "AllocationStrategy", "BEST_FIT")),
    Mutation("BAT-019", _ENVIRONMENT, put(_POOL, "Ec2Configuration", [{"ImageType": "ECS_AL2_NVIDIA"}])),
    Mutation(
        "BAT-022",
        _ENVIRONMENT,
        put(
            _POOL, "Ec2Configuration", [{"ImageType": "ECS_AL2023_NVIDIA", "ImageIdOverride": "/aws/service/ecs/image"}]
        ),
    ),
    Mutation("BAT-023", _JOB, drop("Timeout")),
    Mutation("PCS-001", _LT, _used_by(_NODES, lambda place: place.entries("efa")[-1].update(InterfaceType="efa-only"))),
    Mutation("PCS-002", _NODES, put("PurchaseOption", "CAPACITY_BLOCK"), frozenset({"CAP-011"})),
    Mutation("PCS-003", _NODES, _other_role),
    Mutation("PCS-004", _NODES, _hundred_nodes, at=_PCS),
    Mutation("PCS-005", "PCS::Queue", put("Name", "a" * 30)),
    Mutation("PCS-007", _PCS, lambda place: place.at("Networking", "SubnetIds").append("subnet-0123456789abcdef0")),
    Mutation("PCS-008", _PCS, put("Scheduler", "Version", "23.11")),
    Mutation("PCS-010", _NODES, put("CustomLaunchTemplate", "Version", "1")),
    Mutation("PCS-012", _PCS, drop("SlurmConfiguration", "Accounting")),
    Mutation("PCS-015", _NODES, put("SecurityGroupIds", ["sg-0123456789abcdef0"])),
    Mutation("PCS-017", _LT, _used_by(_NODES, put(_DATA, "UserData", _PLAIN_SCRIPT))),
    Mutation(
        "HPD-001",
        _PODS,
        lambda place: place.at("VpcConfig", "SecurityGroupIds").append({"Ref": "Control"}),
        frozenset({"HPD-002", "LUS-019"}),
        at="*",
    ),
    Mutation("HPD-003", _PODS, _group("InstanceType", "p5.48xlarge")),
    Mutation("HPD-004", _PODS, _one_plan_for_two_types),
    Mutation("HPD-005", _PODS, drop("VpcConfig"), frozenset({"EFA-006"})),
    Mutation("HPD-008", _PODS, put("NodeRecovery", "None")),
    Mutation(
        "HPD-009",
        _PODS,
        each(
            _group("OnStartDeepHealthChecks", ["InstanceStress"]),
            _group("KubernetesConfig", {"Taints": [{"Key": "a", "Effect": "NoSchedule"}]}),
        ),
    ),
    Mutation("HPD-010", _PODS, _group("InstanceStorageConfigs", 0, "EbsVolumeConfig", "RootVolume", True)),
    Mutation("IMG-002", _COMPONENT, _with_steps(_without_a_reboot), at="ImageBuilder::ImageRecipe"),
    Mutation("IMG-003", _COMPONENT, _with_steps(_untested), at="ImageBuilder::ImageRecipe"),
    Mutation("NOD-020", _LT, _used_by(_ENVIRONMENT, _unclosed)),
    Mutation("NOD-006", _LT, _used_by(_NODES, _unfilled)),
    Mutation("HPD-019", "IAM::Role", _without_interfaces, at="*"),
)
