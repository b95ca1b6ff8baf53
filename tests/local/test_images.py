"""Tuned images in the embedded AWS: made, left alone, changed under new versions, taken down."""

from __future__ import annotations

import aws_cdk as cdk
import pytest

from ultracluster.local import App
from ultracluster_stacks.image_stack import ImageChoice, ImageStack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
NAME = "test-images"


@pytest.fixture
def app(cdk_context, tmp_path_factory):
    """Synthesize the stack of images with some opt-ins."""

    def make(*opt_ins: str) -> App:
        folder = tmp_path_factory.mktemp("images")
        made = cdk.App(builtin_cloud_formation_validation=False, context=cdk_context, outdir=str(folder))
        env = cdk.Environment(account="111122223333", region="us-east-1")
        ImageStack(made, NAME, images={"gpu": ImageChoice(opt_ins=opt_ins)}, env=env)
        made.synth()
        return App(name=NAME, command=str(folder), directory=folder)

    return make


def standing(inventory, kind):
    stacks = [stack for stack in inventory.stacks if stack.name == NAME]
    return {
        item.logical_id: item.physical_id
        for stack in stacks
        for item in stack.resources
        if item.type_name == f"AWS::ImageBuilder::{kind}"
    }


def test_the_life_of_an_image_stack(cloud, app):
    made = cloud.deploy(app(), lambda _: None)
    (stack,) = [each for each in made.stacks if each.name == NAME]
    assert stack.status == "CREATE_COMPLETE"
    assert [item for item in stack.resources if not item.stands] == []
    assert len(standing(made, "Component")) == 11

    lines: list[str] = []
    cloud.deploy(app(), lines.append)
    assert "(no changes)" in "\n".join(lines)

    changed = cloud.deploy(app("lustre-tcp-buffers"), lambda _: None)
    before, after = standing(made, "Component"), standing(changed, "Component")
    replaced = {name for name in before if before[name] != after[name]}
    # The settings and the test that looks for them: another version each; everything else stays as it is.
    assert {name.removeprefix("gpuComponent")[:4] for name in replaced} == {"tune", "test"}
    assert standing(made, "ImageRecipe") != standing(changed, "ImageRecipe")
    assert standing(made, "ImagePipeline") == standing(changed, "ImagePipeline")
