"""Old images and their snapshots are deleted; the newest ones, and those that somebody still launches, never are."""

from __future__ import annotations

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_imagebuilder as imagebuilder
from constructs import Construct

from ultracluster.acknowledge import acknowledge
from ultracluster.image.build_role import named
from ultracluster.plan.image_distribution import ImageRetention

__all__ = ["retention_policy", "retention_role"]

_Policy = imagebuilder.CfnLifecyclePolicy
_EVERY = "listing images and tagged resources knows no resources"
_IMAGES = "images and snapshots to come, only those that Image Builder has made"


def retention_role(scope: Construct, construct_id: str, *, recipe_name: str) -> iam.Role:
    """The role that deletes images of this recipe, and the AMIs and snapshots that Image Builder has marked as its own.

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        recipe_name: name of the recipe, under which its images stand.
    """
    stack = cdk.Stack.of(scope)
    own = {"StringEquals": {"aws:ResourceTag/CreatedBy": "EC2 Image Builder"}}
    amis = stack.format_arn(service="ec2", region="*", account="", resource="image", resource_name="*")
    snapshots = stack.format_arn(service="ec2", region="*", account="", resource="snapshot", resource_name="*")
    images = stack.format_arn(service="imagebuilder", resource="image", resource_name=f"{recipe_name.lower()}/*")
    statements = [
        iam.PolicyStatement(sid="Look", actions=["ec2:DescribeImages", "tag:GetResources"], resources=["*"]),
        iam.PolicyStatement(
            sid="Amis", actions=["ec2:DeregisterImage", "ec2:DescribeImageAttribute"], resources=[amis], conditions=own
        ),
        iam.PolicyStatement(sid="Snapshots", actions=["ec2:DeleteSnapshot"], resources=[snapshots], conditions=own),
        iam.PolicyStatement(sid="Images", actions=["imagebuilder:DeleteImage"], resources=[images]),
    ]
    role = iam.Role(
        scope,
        construct_id,
        assumed_by=iam.ServicePrincipal("imagebuilder.amazonaws.com"),
        inline_policies={"Retire": iam.PolicyDocument(statements=statements)},
    )
    reasons = {"*": _EVERY, amis: _IMAGES, snapshots: _IMAGES, images: _IMAGES}
    acknowledge(role, {f"AwsSolutions-IAM5[Resource::{named(stack, arn)}]": why for arn, why in reasons.items()})
    return role


def retention_policy(
    scope: Construct,
    construct_id: str,
    *,
    name: str,
    retention: ImageRetention,
    role: iam.IRole,
    tags: Mapping[str, str],
) -> imagebuilder.CfnLifecyclePolicy:
    """Make the policy.

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        name: of the policy.
        retention: what stays.
        role: what deletes.
        tags: of the images that it is about; recipes come and go with their versions, tags stay.
    """
    launched = _Policy.LastLaunchedProperty(unit="DAYS", value=retention.spare_launched_within_days)
    return _Policy(
        scope,
        construct_id,
        name=name,
        description="deletes old images with their snapshots",
        execution_role=role.role_arn,
        resource_type="AMI_IMAGE",
        status="ENABLED",
        policy_details=[
            _Policy.PolicyDetailProperty(
                action=_Policy.ActionProperty(
                    type="DELETE", include_resources=_Policy.IncludeResourcesProperty(amis=True, snapshots=True)
                ),
                filter=_Policy.FilterProperty(
                    type="AGE", unit="DAYS", value=retention.after_days, retain_at_least=retention.keep_newest
                ),
                exclusion_rules=_Policy.ExclusionRulesProperty(
                    amis=_Policy.AmiExclusionRulesProperty(last_launched=launched)
                ),
            )
        ],
        resource_selection=_Policy.ResourceSelectionProperty(tag_map=dict(tags)),
    )
