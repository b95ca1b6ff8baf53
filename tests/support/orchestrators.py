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
