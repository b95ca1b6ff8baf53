"""Where a tested image is copied to: Regions and accounts, each with a parameter that holds the newest one."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_iam as iam
from aws_cdk import aws_imagebuilder as imagebuilder
from aws_cdk import aws_kms as kms
from constructs import Construct

from ultracluster.plan.image_distribution import ImageRegion

__all__ = ["distribution", "let_accounts_use"]

_Distribution = imagebuilder.CfnDistributionConfiguration
_BUILT_ON = "{{ imagebuilder:buildDate }}"
"""Filled in by Image Builder, so that no two images have one name."""


def distribution(
    scope: Construct,
    construct_id: str,
    *,
    name: str,
    parameter_name: str,
    regions: Sequence[ImageRegion],
    tags: dict[str, str],
) -> imagebuilder.CfnDistributionConfiguration:
    """Make the configuration; images get there only when every test has passed.

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        name: of the image.
        parameter_name: of the parameter in each Region and account.
        regions: where it goes; the first is where it is built.
        tags: of the images.
    """
    return _Distribution(
        scope,
        construct_id,
        name=name,
        description=f"tested images of {name}",
        distributions=[_region(each, name, parameter_name, tags) for each in regions],
    )


def _region(
    region: ImageRegion, name: str, parameter_name: str, tags: dict[str, str]
) -> imagebuilder.CfnDistributionConfiguration.DistributionProperty:
    return _Distribution.DistributionProperty(
        region=region.region,
        ami_distribution_configuration=_image(region, name, tags),
        ssm_parameter_configurations=[
            _Distribution.SsmParameterConfigurationProperty(
                parameter_name=parameter_name, data_type="aws:ec2:image", ami_account_id=account
            )
            for account in (None, *region.copied_to)
        ],
    )


def _image(region: ImageRegion, name: str, tags: dict[str, str]) -> dict[str, object]:
    """The image itself; the CDK hands this property on as it is, so it has the names of CloudFormation."""
    found: dict[str, object] = {
        "Name": f"{name} {_BUILT_ON}",
        "Description": f"tuned image {name}",
        "AmiTags": tags,
    }
    if region.key_arn is not None:
        found["KmsKeyId"] = region.key_arn
    if region.shared_with:
        found["LaunchPermissionConfiguration"] = {"UserIds": list(region.shared_with)}
    if region.copied_to:
        found["TargetAccountIds"] = list(region.copied_to)
    return found


def let_accounts_use(key: kms.IKey, account_ids: Sequence[str]) -> None:
    """Let accounts that launch the image read its snapshots; a key of another app is left as it is."""
    if not account_ids:
        return
    key.add_to_resource_policy(
        iam.PolicyStatement(
            sid="AccountsThatLaunch",
            principals=[iam.AccountPrincipal(account) for account in account_ids],
            actions=["kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey*", "kms:ReEncrypt*"],
            resources=["*"],
        ),
        True,
    )
