"""UC-NOD-004 and 005: the instance metadata service."""

from __future__ import annotations

from typing import Any

import pytest

from support.fabric import batch, group, launch_template, node_group, template
from support.nodes import area_ids
from support.policy import assert_finds, assert_not_judged, assert_passes

AL2023 = "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
UBUNTU = "resolve:ssm:/aws/service/canonical/ubuntu/server/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id"
OWN = {"Own": {"Type": "String"}}


def lt(options: Any = None, **data: Any) -> dict[str, Any]:
    return launch_template(None, None, **({} if options is None else {"MetadataOptions": options}), **data)


def resource(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Type": kind, "Properties": properties}


def ids(*templates: Any) -> set[str]:
    return area_ids("NOD", *templates)


# UC-NOD-004


@pytest.mark.parametrize(
    ("made", "place"),
    [
        (lt({"HttpTokens": "optional"}, ImageId=AL2023), "MetadataOptions.HttpTokens: optional, so metadata"),
        (lt({"HttpPutResponseHopLimit": 1}), "X LaunchTemplateData.MetadataOptions: HttpTokens is absent"),
        (lt(), "X : HttpTokens is absent, and the image is not known"),
        (lt(ImageId=UBUNTU), "X : HttpTokens is absent"),
        (lt(ImageId="ami-0123456789abcdef0"), "X : HttpTokens is absent"),
        (resource("AWS::EC2::Instance", ImageId=UBUNTU), "X : HttpTokens is absent"),
        (resource("AWS::EC2::Instance", MetadataOptions={"HttpTokens": "optional"}), "X MetadataOptions.HttpTokens"),
        (resource("AWS::AutoScaling::LaunchConfiguration", ImageId=UBUNTU), "X : HttpTokens is absent"),
        (resource("AWS::ImageBuilder::InfrastructureConfiguration", Name="x"), "X : HttpTokens is absent"),
    ],
)
def test_metadata_without_a_token(made, place):
    assert_finds("UC-NOD-004", template(X=made), place=place)
    assert ids(template(X=made)) == {"UC-NOD-004"}


@pytest.mark.parametrize(
    "made",
    [
        lt({"HttpTokens": "required"}),
        lt({"HttpEndpoint": "disabled"}),
        lt(ImageId=AL2023),
        resource("AWS::EC2::Instance", ImageId=AL2023),
        resource("AWS::EC2::Instance", MetadataOptions={"HttpTokens": "required"}),
        resource("AWS::EC2::Instance", LaunchTemplate={"LaunchTemplateId": "lt-0123456789abcdef0", "Version": "1"}),
        resource("AWS::ImageBuilder::InfrastructureConfiguration", InstanceMetadataOptions={"HttpTokens": "required"}),
    ],
)
def test_metadata_with_tokens_only(made):
    assert_passes("UC-NOD-004", template(X=made))


@pytest.mark.parametrize("kind", ["ImagePipeline", "Image"])
def test_a_build_on_amazon_linux_2023(kind):
    def made(parent: Any) -> dict[str, Any]:
        return template(
            X=resource("AWS::ImageBuilder::InfrastructureConfiguration", Name="x"),
            Recipe=resource("AWS::ImageBuilder::ImageRecipe", ParentImage=parent),
            Use=resource(
                f"AWS::ImageBuilder::{kind}",
                InfrastructureConfigurationArn={"Ref": "X"},
                ImageRecipeArn={"Fn::GetAtt": "Recipe.Arn"},
            ),
        )

    assert_passes("UC-NOD-004", made("arn:aws:imagebuilder:us-east-1:aws:image/amazon-linux-2023-x86/x.x.x"))
    assert_finds("UC-NOD-004", made("arn:aws:imagebuilder:us-east-1:aws:image/ubuntu-server-24-lts-x86/x.x.x"))


def test_the_image_that_a_service_picks():
    assert_passes("UC-NOD-004", template(Lt=lt(), Nodes=node_group(AmiType="AL2023_x86_64_NVIDIA")))
    assert_finds("UC-NOD-004", template(Lt=lt(), Nodes=batch(Ec2Configuration=[{"ImageType": "ECS_AL2_NVIDIA"}])))
    environment = batch(Ec2Configuration=[{"ImageType": "ECS_AL2023_NVIDIA"}])
    assert_passes("UC-NOD-004", template(Lt=lt(), Nodes=environment))


def test_tokens_that_are_not_known():
    assert_not_judged("UC-NOD-004", template(OWN, Lt=lt({"HttpTokens": {"Ref": "Own"}})))
    assert_not_judged("UC-NOD-004", template(OWN, Lt=lt(), Nodes=node_group()))


def test_tokens_and_image_under_one_condition():
    conditions = {"Own": {"Fn::Equals": [{"Ref": "Own"}, "yes"]}}
    none = {"Ref": "AWS::NoValue"}

    def made(first: Any, second: Any) -> dict[str, Any]:
        options = {"Fn::If": ["Own", first, second]}
        image = {"Fn::If": ["Own", UBUNTU, AL2023]}
        parameters = {"Own": {"Type": "String", "Default": "yes"}}
        return template(parameters, conditions, Lt=lt(options, ImageId=image))

    assert_passes("UC-NOD-004", made({"HttpTokens": "required"}, none))
    assert ids(made(none, {"HttpTokens": "required"})) == {"UC-NOD-004"}


# UC-NOD-005


def hops(limit: Any) -> dict[str, Any]:
    return lt({"HttpTokens": "required", "HttpPutResponseHopLimit": limit})


@pytest.mark.parametrize("limit", [3, "4", 64])
def test_too_many_hops(limit):
    found = template(Lt=hops(limit))
    assert_finds(
        "UC-NOD-005", found, place=f"HttpPutResponseHopLimit: {limit} hops, containers behind one bridge need 2"
    )
    assert ids(found) == {"UC-NOD-005"}
    properties = {"InstanceMetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": limit}}
    build = resource("AWS::ImageBuilder::InfrastructureConfiguration", **properties)
    assert ids(template(X=build)) == {"UC-NOD-005"}


@pytest.mark.parametrize("limit", [1, 2])
def test_hops_that_fit(limit):
    assert_passes("UC-NOD-005", template(Lt=hops(limit)))
    assert_passes("UC-NOD-005", template(Lt=hops(limit), Nodes=group()))
    assert_passes("UC-NOD-005", template(Lt=hops(2), Nodes=node_group()))


CLUSTER = resource("AWS::EKS::Cluster", Name="train")


def test_one_hop_on_a_node_group():
    nodes = node_group(ClusterName={"Ref": "Cluster"})
    found = template(Lt=hops(1), Nodes=nodes, Cluster=CLUSTER)
    assert_finds("UC-NOD-005", found, place="1 hop, and the pods of Nodes have no credentials but those of the node")
    assert_not_judged("UC-NOD-005", template(Lt=hops(1), Nodes=node_group()))


@pytest.mark.parametrize(
    "identity",
    [
        resource("AWS::EKS::PodIdentityAssociation"),
        resource("AWS::IAM::OIDCProvider"),
        resource("AWS::EKS::Addon", AddonName="eks-pod-identity-agent"),
    ],
)
def test_one_hop_where_pods_have_an_identity(identity):
    nodes = node_group(ClusterName={"Ref": "Cluster"})
    assert_passes("UC-NOD-005", template(Lt=hops(1), Nodes=nodes, Cluster=CLUSTER, Identity=identity))


def test_hops_that_are_not_known():
    assert_not_judged("UC-NOD-005", template(OWN, Lt=hops({"Ref": "Own"})))
