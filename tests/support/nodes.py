"""Small templates around the scripts of nodes, for tests of rules."""

from __future__ import annotations

from typing import Any

from support.fabric import launch_template, template
from support.policy import judged

Body = dict[str, Any]
_HEAD = """
Parameters:
  ClusterId: {Type: String}
  Image: {Type: "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", Default: %s}
Resources:
"""
_AL2023 = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
_NODES = """
  Lt:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        ImageId: !Ref Image
        InstanceType: p4d.24xlarge
        UserData:
"""


def booted(script: str, instance_type: Any = "p5.48xlarge", **data: Any) -> Body:
    """A template with one launch template whose user data is a script."""
    return template(Lt=with_script(script, instance_type, **data))


def with_script(script: Any, instance_type: Any = "p5.48xlarge", **data: Any) -> Body:
    """A launch template with this user data."""
    text = f"#!/bin/bash\n{script}\n" if isinstance(script, str) else script
    return launch_template(None, instance_type, UserData={"Fn::Base64": text}, **data)


def component(data: Any) -> Body:
    """A template with one Image Builder component."""
    properties = {"Name": "tune", "Version": "1.0.0", "Platform": "Linux", "Data": data}
    return template(X={"Type": "AWS::ImageBuilder::Component", "Properties": properties})


def area_ids(area: str, *templates: Any, is_app: bool = False) -> set[str]:
    """Ids of one area that were found."""
    return {found for found in judged(*templates, is_app=is_app).ids if found.startswith(f"UC-{area}-")}


def fleet_yaml(user_data: str, more: str = "") -> str:
    """A launch template with this user data, indented below the property."""
    lines = "\n".join(f"          {line}" for line in user_data.strip("\n").splitlines())
    return f"{_HEAD % _AL2023}{_NODES}{lines}\n{more}"
