"""Small templates around launch templates with interface lists, for tests of rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from support.policy import Outcome, judged

Body = dict[str, Any]
AREAS = ("EFA", "NIC", "PLC", "CAP", "SPT", "API")


def entry(card: Any = 0, device: Any = 0, kind: str = "efa", **more: Any) -> Body:
    """One entry with a group and DeleteOnTermination; `None` leaves a property out."""
    written: Body = {
        "NetworkCardIndex": card,
        "DeviceIndex": device,
        "InterfaceType": kind,
        "Groups": ["sg-0123456789abcdef0"],
        "DeleteOnTermination": True,
        **more,
    }
    return {key: value for key, value in written.items() if value is not None}


def min_ip(cards: Iterable[int], *, on_card0: bool = True, **more: Any) -> list[Body]:
    """The list that AWS documents now: an interface, and efa-only on every card."""
    first = [entry(0, 0, "interface", **more)] + [entry(0, 1, "efa-only", **more)] * on_card0
    return first + [entry(card, 0, "efa-only", **more) for card in cards if card]


def launch_template(interfaces: Any, instance_type: Any = None, **data: Any) -> Body:
    """A launch template."""
    if interfaces is not None:
        data["NetworkInterfaces"] = interfaces
    if instance_type is not None:
        data["InstanceType"] = instance_type
    return {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}}


def named(name: str = "Lt") -> Body:
    """A specification of a launch template of the same template."""
    return {"LaunchTemplateId": {"Ref": name}, "Version": {"Fn::GetAtt": [name, "LatestVersionNumber"]}}


def group(subnets: Any = ("subnet-0123456789abcdef0",), name: str = "Lt", **more: Any) -> Body:
    """An Auto Scaling group."""
    subnets = list(subnets) if isinstance(subnets, tuple) else subnets
    properties = {"MinSize": "0", "MaxSize": "4", "VPCZoneIdentifier": subnets, "LaunchTemplate": named(name), **more}
    return {
        "Type": "AWS::AutoScaling::AutoScalingGroup",
        "Properties": {key: value for key, value in properties.items() if value is not None},
    }


def mixed(
    overrides: list[Body], name: str | None = "Lt", subnets: Any = ("subnet-0123456789abcdef0",), **more: Any
) -> Body:
    """An Auto Scaling group with a mixed instances policy."""
    policy: Body = {"LaunchTemplate": {"LaunchTemplateSpecification": named(name or "Lt"), "Overrides": overrides}}
    policy |= {key: more.pop(key) for key in ("InstancesDistribution",) if key in more}
    return group(subnets, LaunchTemplate=None, MixedInstancesPolicy=policy, **more)


def node_group(subnets: Any = ("subnet-0123456789abcdef0",), **more: Any) -> Body:
    """An EKS managed node group."""
    return {
        "Type": "AWS::EKS::Nodegroup",
        "Properties": {
            "ClusterName": "train",
            "NodeRole": "arn:aws:iam::111122223333:role/node",
            "Subnets": list(subnets) if isinstance(subnets, tuple) else subnets,
            "LaunchTemplate": {"Id": {"Ref": "Lt"}, "Version": "1"},
            **more,
        },
    }


def pcs(subnets: Any = ("subnet-0123456789abcdef0",), types: Iterable[Any] = ("p5.48xlarge",), **more: Any) -> Body:
    """A compute node group of AWS PCS."""
    return {
        "Type": "AWS::PCS::ComputeNodeGroup",
        "Properties": {
            "ClusterId": "pcs_0123456789",
            "CustomLaunchTemplate": {"TemplateId": {"Ref": "Lt"}, "Version": "1"},
            "SubnetIds": list(subnets) if isinstance(subnets, tuple) else subnets,
            "IamInstanceProfileArn": "arn:aws:iam::111122223333:instance-profile/AWSPCS-node",
            "InstanceConfigs": [{"InstanceType": kind} for kind in types],
            "ScalingConfiguration": {"MinInstanceCount": 0, "MaxInstanceCount": 4},
            **more,
        },
    }


def batch(subnets: Any = ("subnet-0123456789abcdef0",), types: Any = ("p5.48xlarge",), **more: Any) -> Body:
    """A managed compute environment of AWS Batch."""
    return {
        "Type": "AWS::Batch::ComputeEnvironment",
        "Properties": {
            "Type": "MANAGED",
            "ComputeResources": {
                "Type": "EC2",
                "MaxvCpus": 768,
                "InstanceTypes": list(types),
                "Subnets": list(subnets) if isinstance(subnets, tuple) else subnets,
                "LaunchTemplate": {"LaunchTemplateId": {"Ref": "Lt"}, "Version": "1"},
                **more,
            },
        },
    }


def subnet(zone: Any = "us-east-1a", **more: Any) -> Body:
    """A subnet."""
    properties = {"VpcId": "vpc-0123456789abcdef0", "CidrBlock": "10.0.0.0/20", "AvailabilityZone": zone, **more}
    return {"Type": "AWS::EC2::Subnet", "Properties": properties}


def template(parameters: Body | None = None, conditions: Body | None = None, **resources: Body) -> Body:
    """A template."""
    sections = {"Parameters": parameters, "Conditions": conditions, "Resources": resources}
    return {name: body for name, body in sections.items() if body}


def own_ids(*templates: Any, is_app: bool = False) -> set[str]:
    """Ids of the areas that these tests are about."""
    return of_areas(judged(*templates, is_app=is_app))


def of_areas(outcome: Outcome) -> set[str]:
    """Ids that were found, of the areas that these tests are about."""
    return {found for found in outcome.ids if found.split("-")[1] in AREAS}
