"""The recipe of an image and its components, under names that stay and versions that follow from their content."""

from __future__ import annotations

import json
from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_imagebuilder as imagebuilder
from constructs import Construct

from ultracluster.plan.image_build import TunedImagePlan
from ultracluster.plan.image_components import PROGRAM_PARAMETER
from ultracluster.plan.image_document import Document, content_version

__all__ = ["recipe"]

_Recipe = imagebuilder.CfnImageRecipe


def recipe(
    scope: Construct,
    *,
    name: str,
    plan: TunedImagePlan,
    key_arn: str,
    program_address: str,
    tags: Mapping[str, str],
) -> tuple[Mapping[str, imagebuilder.CfnComponent], imagebuilder.CfnImageRecipe]:
    """Make components and recipe.

    Args:
        scope: the parent.
        name: of the image; those of the components begin with it.
        plan: the image as decided.
        key_arn: customer key of the root volume.
        program_address: where the programs of a node are.
        tags: of everything.
    """
    # Which key and which bucket: another one is another recipe. Resolved, so that nothing of a token gets into it.
    given = json.dumps(cdk.Stack.of(scope).resolve([key_arn, program_address]), sort_keys=True)
    made = {each.name: _component(scope, name, each, tags) for each in plan.components}
    return made, _Recipe(
        scope,
        "Recipe",
        name=name,
        version=content_version(plan.recipe_content + given),
        description=f"{plan.supported_os} for training nodes",
        parent_image=f"ssm:{plan.parent}",
        components=[_configuration(made[each.name], each, program_address) for each in plan.components],
        block_device_mappings=[
            _Recipe.InstanceBlockDeviceMappingProperty(
                device_name=plan.root_device_name,
                ebs=_Recipe.EbsInstanceBlockDeviceSpecificationProperty(
                    volume_type="gp3",
                    volume_size=plan.root_gib,
                    encrypted=True,
                    kms_key_id=key_arn,
                    delete_on_termination=True,
                ),
            )
        ],
        tags=dict(tags),
    )


def _component(scope: Construct, name: str, document: Document, tags: Mapping[str, str]) -> imagebuilder.CfnComponent:
    return imagebuilder.CfnComponent(
        scope,
        f"Component-{document.name}",
        name=f"{name}-{document.name}",
        version=document.version,
        platform="Linux",
        description=document.description,
        supported_os_versions=[document.supported_os],
        data=document.text,
        tags=dict(tags),
    )


def _configuration(
    component: imagebuilder.CfnComponent, document: Document, program_address: str
) -> imagebuilder.CfnImageRecipe.ComponentConfigurationProperty:
    parameters = [
        _Recipe.ComponentParameterProperty(name=parameter, value=[program_address])
        for parameter in document.parameters
        if parameter == PROGRAM_PARAMETER
    ]
    return _Recipe.ComponentConfigurationProperty(component_arn=component.attr_arn, parameters=parameters or None)
