"""Rules on the instance metadata service: session tokens, and how far their answers travel."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.fleets import NODE_GROUP
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, users_of
from ultracluster.policy.graph.operating_system import AL2023, image_parameter, operating_system
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_INSTANCE, _CONFIGURATION = "AWS::EC2::Instance", "AWS::AutoScaling::LaunchConfiguration"
_BUILD = "AWS::ImageBuilder::InfrastructureConfiguration"
_PIPELINES = ("AWS::ImageBuilder::ImagePipeline", "AWS::ImageBuilder::Image")
_RECIPE = "AWS::ImageBuilder::ImageRecipe"
_OPTIONS = {
    LAUNCH_TEMPLATE: ("LaunchTemplateData", "MetadataOptions"),
    _INSTANCE: ("MetadataOptions",),
    _CONFIGURATION: ("MetadataOptions",),
    _BUILD: ("InstanceMetadataOptions",),
}
# What gives pods credentials of their own, so that they need none of the node.
_POD_IDENTITIES = ("AWS::EKS::PodIdentityAssociation", "AWS::IAM::OIDCProvider")
_MOST_HOPS = 2


@rule("UC-NOD-004", on=tuple(_OPTIONS))
def session_tokens_required(resource: Resource) -> Iterator[Problem]:
    """Instance metadata is answered with a session token only."""
    options = resource.get(*_OPTIONS[resource.type])
    if options["HttpEndpoint"].text("enabled") == "disabled":
        return
    tokens = options["HttpTokens"]
    if tokens.exists:
        if tokens.text() != "required":
            yield Problem(tokens, f"{tokens.shown}, so metadata and role credentials are read without a session token")
        return
    if resource.type == _INSTANCE and resource.get("LaunchTemplate").exists:
        return  # the options of its launch template hold
    if not _image_requires_tokens(resource):
        where = options if options.exists else resource
        message = "HttpTokens is absent, and the image is not known to require session tokens"
        yield Problem(where, message)


def _image_requires_tokens(resource: Resource) -> bool:
    if resource.type == _BUILD:
        return _builds_on_al2023(resource)
    try:
        return operating_system(resource) == AL2023
    except NotKnown:
        # An image of one's own is no reason to leave the setting out. A service that picks the image may pick one
        # that requires tokens.
        if resource.type == LAUNCH_TEMPLATE and _image_is_picked_by_eks(resource):
            raise
        return False


def _image_is_picked_by_eks(launch_template: Resource) -> bool:
    if launch_template.get("LaunchTemplateData", "ImageId").exists:
        return False
    return any(use.consumer.type == NODE_GROUP for use in users_of(launch_template))


def _builds_on_al2023(configuration: Resource) -> bool:
    parents: list[Value] = []
    for pipeline in configuration.referrers(*_PIPELINES):
        recipe = pipeline.get("ImageRecipeArn").resource(_RECIPE)
        if recipe is not None:
            parents.append(recipe.get("ParentImage"))
    names = [image_parameter(parent) or parent.known_text("") for parent in parents]
    return bool(names) and all("amazon-linux-2023" in name or "al2023" in name for name in names)


@rule("UC-NOD-005", on=tuple(_OPTIONS))
def hop_limit_fits_the_runtime(resource: Resource) -> Iterator[Problem]:
    """Answers of the metadata service reach those who need them, and nobody further away."""
    limit = resource.get(*_OPTIONS[resource.type])["HttpPutResponseHopLimit"]
    if not limit.exists:
        return
    hops = limit.integer()
    if hops > _MOST_HOPS:
        message = f"{hops} hops, containers behind one bridge need {_MOST_HOPS}"
        yield Problem(limit, message, f"use 1 on bare hosts, {_MOST_HOPS} where containers read instance metadata")
    elif hops < _MOST_HOPS and resource.type == LAUNCH_TEMPLATE:
        groups = [use.consumer for use in users_of(resource) if use.consumer.type == NODE_GROUP]
        if groups and _pods_use_the_node(groups[0]):
            message = f"{hops} hop, and the pods of {groups[0]} have no credentials but those of the node"
            yield Problem(limit, message, f"use {_MOST_HOPS}, or give the pods an identity of their own")


def _pods_use_the_node(group: Resource) -> bool:
    """Whether the cluster is made here, and nothing here gives its pods credentials.

    Raises:
        NotKnown: the cluster is made elsewhere.
    """
    assembly = group.assembly
    if any(True for _ in assembly.resources(*_POD_IDENTITIES)):
        return False
    addons = assembly.resources("AWS::EKS::Addon")
    if any_known(addons, lambda addon: addon.get("AddonName").text() == "eks-pod-identity-agent"):
        return False
    if group.get("ClusterName").resource("AWS::EKS::Cluster") is None:
        raise NotKnown("whether the pods of a cluster that is made elsewhere have credentials of their own")
    return True
