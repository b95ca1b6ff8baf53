"""The app of tuned images: synthesized as users do, clean, deployed into the embedded AWS, and found by clusters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import aws_cdk as cdk
import pytest
import yaml

from support.linting import lint_errors
from support.nag import nag_report, unacknowledged
from support.policy import judged
from support.sources import ROOT
from support.templates import all_properties, resources
from ultracluster.plan.cluster import plan_cluster
from ultracluster.spec.loader import load_cluster
from ultracluster_stacks.image_stack import ImageChoice, ImageStack

pytestmark = pytest.mark.slow
SCRIPT = ROOT / "apps/tuned_image/app.py"


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("images")
    environ = os.environ | {"CDK_OUTDIR": str(folder), "CDK_DEFAULT_ACCOUNT": "111122223333"}
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], env=environ, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "training-images.template.json").read_text())


def test_the_app_names_two_images_by_their_parameters(template):
    names = [
        each["SsmParameterConfigurations"][0]["ParameterName"]
        for body in all_properties(template, "AWS::ImageBuilder::DistributionConfiguration")
        for each in body["Distributions"]
    ]
    assert names == ["/imagebuilder/training-images/gpu", "/imagebuilder/training-images/neuron"]
    outputs = {value["Description"] for value in template["Outputs"].values()}
    assert outputs == {"newest tested image", "builds one when it is started"}


def test_schemas_and_own_rules_find_nothing(template):
    assert lint_errors(template, "us-east-1") == []
    assert judged(template, is_app=True).ids == set()


def test_what_is_kept_when_the_stack_goes(template):
    for kind in ("AWS::KMS::Key", "AWS::S3::Bucket"):
        for body in resources(template, kind).values():
            assert body["DeletionPolicy"] == "Retain"


def test_nothing_is_left_of_aws_solutions(app):
    env = cdk.Environment(account="111122223333", region="us-east-1")
    ImageStack(app, "images", images={"gpu": ImageChoice()}, env=env)
    assert unacknowledged(nag_report(app)) == []


def test_a_cluster_file_finds_the_image(tmp_path: Path):
    content = yaml.safe_load((ROOT / "apps/p5_pretrain/cluster.yaml").read_text(encoding="utf-8"))
    text = (ROOT / "apps/tuned_image/README.md").read_text(encoding="utf-8")
    line = next(each for each in text.splitlines() if each.startswith("image:"))
    content["fleets"][0]["image"] = yaml.safe_load(line)["image"]
    content["fleets"][0]["capacity"].pop("end", None)
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    plan = plan_cluster(load_cluster(path), base_dir=tmp_path)
    assert plan.fleets[0].image.ssm_parameter == "/imagebuilder/training-images/gpu"
    assert plan.fleets[0].image.root_device_name == "/dev/xvda"
