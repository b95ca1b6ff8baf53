"""UC-IMG-005, 010 and 015: the images that are booted."""

from __future__ import annotations

import pytest

from support.fabric import launch_template, named, pcs
from support.policy import assert_finds, assert_not_judged, assert_passes
from support.storage import UNKNOWN, own_ids, template

AL2023 = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
DLAMI = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
ARM = "/aws/service/deeplearning/ami/arm64/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id"
ECS_AL2 = "/aws/service/ecs/optimized-ami/amazon-linux-2/gpu/recommended/image_id"
AMI = "ami-0123456789abcdef0"


def dynamic(parameter, version=""):
    return f"{{{{resolve:ssm:{parameter}{version}}}}}"


def parameter(default):
    return {"Image": {"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", "Default": default}}


def booted(image, kind="p5.48xlarge"):
    return template(Lt=launch_template(None, kind, ImageId=image))


def instance(image, kind="g5.xlarge"):
    return template(Node={"Type": "AWS::EC2::Instance", "Properties": {"ImageId": image, "InstanceType": kind}})


def by_parameter(default, kind="p5.48xlarge"):
    return template(parameter(default), Lt=launch_template(None, kind, ImageId={"Ref": "Image"}))


# UC-IMG-005


@pytest.mark.parametrize(
    "found",
    [
        booted(dynamic(DLAMI)),
        booted(dynamic(ARM), "p6e-gb200.36xlarge"),
        booted(dynamic(AL2023), "m5.large"),
        booted(dynamic("/aws/service/neuron/dlami/base/ubuntu-24.04/latest/image_id"), "trn2.48xlarge"),
        booted(dynamic(ARM), "c7g.large"),
        by_parameter(DLAMI),
        instance(dynamic(DLAMI)),
        template(Lt=launch_template(None, "p5.48xlarge")),
        template(Lt=launch_template(None, ImageId=dynamic(DLAMI))),
    ],
)
def test_the_architecture_fits(found):
    assert_passes("UC-IMG-005", found)


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (
            booted(dynamic(DLAMI, ":3"), "p6e-gb200.36xlarge"),
            "ImageId: an x86_64 image on p6e-gb200.36xlarge, which is arm64",
        ),
        (booted(dynamic(ARM, ":3")), "an arm64 image on p5.48xlarge"),
        (booted(f"resolve:ssm:{ARM}:7"), "an arm64 image"),
        (instance(dynamic(ARM, ":3")), "an arm64 image on g5.xlarge"),
        (booted(dynamic(DLAMI, ":3"), "c7gn.large"), "c7gn.large, which is arm64"),
        (by_parameter("/aws/service/deeplearning/ami/arm64/base/v1/ami-id"), "an arm64 image"),
    ],
)
def test_the_architecture_differs(found, place):
    assert_finds("UC-IMG-005", found, place=place)
    assert own_ids(found) == {"UC-IMG-005"}


def test_the_types_of_the_consumers_count():
    found = template(Lt=launch_template(None, ImageId=dynamic(ARM, ":3")), Nodes=pcs())
    assert own_ids(found) == {"UC-IMG-005"}


@pytest.mark.parametrize(
    "found",
    [
        booted(AMI),
        booted(UNKNOWN),
        booted(dynamic("/golden/train")),
        booted(dynamic(DLAMI), UNKNOWN),
        booted(dynamic(DLAMI), "mac2.metal"),
        by_parameter("/golden/train"),
    ],
)
def test_an_architecture_that_cannot_be_known(found):
    assert_not_judged("UC-IMG-005", found)


def test_image_and_type_under_one_condition():
    image = {"Fn::If": ["Arm", dynamic(ARM, ":3"), dynamic(DLAMI, ":3")]}
    kind = {"Fn::If": ["Arm", "p6e-gb200.36xlarge", "p5.48xlarge"]}
    arm = {"Arm": {"Fn::Equals": [UNKNOWN, "arm"]}}
    assert_passes("UC-IMG-005", template(conditions=arm, Lt=launch_template(None, kind, ImageId=image)))


# UC-IMG-010

PINNED = "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/nvidia/amazon-eks-node-v20260101/image_id"


@pytest.mark.parametrize("image", [AMI, dynamic(DLAMI, ":12"), dynamic("/golden/train"), dynamic(PINNED)])
def test_a_pinned_image(image):
    assert_passes("UC-IMG-010", booted(image))
    assert_passes("UC-IMG-010", template(Lt=launch_template(None), Nodes=pcs(AmiId=image)))


@pytest.mark.parametrize(
    "found",
    [
        booted(dynamic(DLAMI)),
        booted(dynamic(AL2023)),
        booted(f"resolve:ssm:{DLAMI}"),
        by_parameter(DLAMI),
        booted(dynamic("/aws/service/canonical/ubuntu/server/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id")),
        instance(dynamic(DLAMI)),
        template(Lt=launch_template(None), Nodes=pcs(AmiId=dynamic(DLAMI))),
    ],
)
def test_an_image_that_moves_on(found):
    assert_finds("UC-IMG-010", found, place="another image after the next release")
    assert own_ids(found) == {"UC-IMG-010"}


@pytest.mark.parametrize("found", [booted(UNKNOWN), instance(UNKNOWN)])
def test_an_image_that_cannot_be_known(found):
    assert_not_judged("UC-IMG-010", found)


# UC-IMG-015


def node_group(kind):
    return template(Nodes={"Type": "AWS::EKS::Nodegroup", "Properties": {"AmiType": kind}})


def recipe(parent):
    return template(Recipe={"Type": "AWS::ImageBuilder::ImageRecipe", "Properties": {"ParentImage": parent}})


@pytest.mark.parametrize(
    "found",
    [
        booted(dynamic(AL2023)),
        booted(dynamic(DLAMI)),
        node_group("AL2023_x86_64_NVIDIA"),
        node_group("BOTTLEROCKET_x86_64_NVIDIA"),
        node_group("CUSTOM"),
        recipe("arn:aws:imagebuilder:us-east-1:aws:image/amazon-linux-2023-x86/x.x.x"),
        recipe("ssm:/aws/service/pcs/ami/dlami-base-ubuntu2404/x86_64/latest/ami-id"),
    ],
)
def test_a_supported_base(found):
    assert_passes("UC-IMG-015", found)


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (booted(dynamic(ECS_AL2, ":3"), None), "Amazon Linux 2, whose standard support ended on 2026-06-30"),
        (node_group("AL2_x86_64_GPU"), "AmiType: AL2_x86_64_GPU is Amazon Linux 2"),
        (recipe("arn:aws:imagebuilder:us-east-1:aws:image/amazon-linux-2-x86/x.x.x"), "ParentImage"),
        (recipe("arn:aws:imagebuilder:us-east-1:aws:image/ubuntu-server-20-lts-x86/x.x.x"), "Ubuntu 20.04"),
        (template(Lt=launch_template(None), Nodes=pcs(AmiId=dynamic(ECS_AL2, ":3"))), "AmiId"),
    ],
)
def test_a_base_that_has_ended(found, place):
    assert_finds("UC-IMG-015", found, place=place)
    assert own_ids(found) == {"UC-IMG-015"}


@pytest.mark.parametrize("found", [booted(AMI), booted(UNKNOWN), node_group(UNKNOWN), recipe(AMI)])
def test_a_base_that_cannot_be_known(found):
    assert_not_judged("UC-IMG-015", found)


def test_the_image_of_a_node_group_is_reported_once():
    nodes = {"Type": "AWS::EKS::Nodegroup", "Properties": {"AmiType": "AL2_x86_64", "LaunchTemplate": named()}}
    nodes["Properties"]["LaunchTemplate"] = {"Id": {"Ref": "Lt"}, "Version": "1"}
    found = template(Lt=launch_template(None), Nodes=nodes)
    assert_finds("UC-IMG-015", found, place="Nodes AmiType")
    assert_passes("UC-IMG-015", template(Lt=launch_template(None)))
