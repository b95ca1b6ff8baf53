"""UC-IMG-001 and 012: versions of recipes and components, and what is fetched."""

from __future__ import annotations

import json

import pytest

from support.policy import assert_finds, assert_not_judged, assert_passes
from support.storage import UNKNOWN, own_ids, template
from ultracluster.policy.compare import compare
from ultracluster.policy.document import Document
from ultracluster.policy.load import Loaded, assembly_of

# UC-IMG-001


def component(script="echo one", version="1.0.0", name="tools", **more):
    data = f"phases: [{{name: build, steps: [{{action: ExecuteBash, inputs: {{commands: ['{script}']}}}}]}}]"
    properties = {"Name": name, "Version": version, "Platform": "Linux", "Data": data, **more}
    return {"Type": "AWS::ImageBuilder::Component", "Properties": properties}


def recipe(version="1.0.0", parent="ami-0123456789abcdef0", kind="AWS::ImageBuilder::ImageRecipe", **more):
    listed = [{"ComponentArn": {"Fn::GetAtt": ["Tools", "Arn"]}}]
    properties = {"Name": "node", "Version": version, "ParentImage": parent, "Components": listed, **more}
    return {"Type": kind, "Properties": properties}


def changes(old, new, parameters=None):
    """Ids and places of what an update would do."""

    def loaded(resources):
        value = {"Parameters": parameters or {"Unknown": {"Type": "String"}}, "Resources": resources}
        return Loaded([assembly_of([Document("template", "", value)])])

    found = compare(loaded(old), loaded(new), wanted=lambda rule_id: rule_id.startswith("UC-IMG-"))
    return [f"{fault.rule_id} {fault.resource.logical_id} {fault.property_path}" for fault in found]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (component(), component()),
        (component(), component("echo two", "1.0.1")),
        (component(), component("echo two", name="other")),
        (component(version="1.0.x"), component("echo two", "1.0.x")),
        (component(), component(Tags={"build": "42"})),
        (component(version=UNKNOWN), component("echo two", UNKNOWN)),
    ],
)
def test_versions_that_tell_contents_apart(old, new):
    assert changes({"Tools": old}, {"Tools": new}) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (component(), component("echo two")),
        (component(), component(Description="other")),
        (component(version={"Ref": "Version"}), component("echo two", {"Ref": "Version"})),
    ],
)
def test_another_content_under_the_same_version(old, new):
    parameters = {"Version": {"Type": "String", "Default": "1.0.0"}}
    assert changes({"Tools": old}, {"Tools": new}, parameters) == ["UC-IMG-001 Tools Version"]


@pytest.mark.parametrize("kind", ["AWS::ImageBuilder::ImageRecipe", "AWS::ImageBuilder::ContainerRecipe"])
def test_a_recipe_has_the_versions_of_its_components(kind):
    old = {"Tools": component(), "Node": recipe(kind=kind)}
    newer = component("echo two", "1.0.1")
    assert changes(old, {"Tools": newer, "Node": recipe(kind=kind)}) == ["UC-IMG-001 Node Version"]
    assert changes(old, {"Tools": newer, "Node": recipe("1.0.1", kind=kind)}) == []
    assert changes(old, {"Tools": component(), "Node": recipe(parent="ami-1111111111111111a", kind=kind)}) == [
        "UC-IMG-001 Node Version"
    ]


def test_a_component_of_elsewhere_is_compared_as_it_is_written():
    old = recipe(Components=[{"ComponentArn": UNKNOWN}])
    assert changes({"Node": old}, {"Node": old}) == []
    other = recipe(Components=[{"ComponentArn": UNKNOWN}, {"ComponentArn": UNKNOWN}])
    assert changes({"Node": old}, {"Node": other}) == ["UC-IMG-001 Node Version"]


def test_what_is_new_or_gone_has_no_version_to_keep():
    assert changes({}, {"Tools": component()}) == []
    assert changes({"Tools": component()}, {}) == []


# UC-IMG-012

PASSING = [
    "curl -O https://efa-installer.amazonaws.com/aws-efa-installer-1.48.0.tar.gz",
    "git clone --branch v0.20.0 https://github.com/NVIDIA/pyxis.git",
    "wget https://raw.githubusercontent.com/NVIDIA/enroot/v3.5.0/setup.sh",
    "wget https://raw.githubusercontent.com/NVIDIA/enroot/2f8b1c0a9d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a/setup.sh",
    "# curl https://raw.githubusercontent.com/NVIDIA/enroot/main/setup.sh",
    "echo see https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html",
    "TOKEN=$(curl -s -X PUT http://169.254.169.254/latest/api/token)",
    "docker pull public.ecr.aws/docker/library/ubuntu:24.04",
    "apt-get install -y latest-tool",
    "curl -fsSL https://nvidia.github.io/libnvidia-container/stable/deb/libnvidia-container.list",
]
FAULTS = [
    "curl -O https://efa-installer.amazonaws.com/aws-efa-installer-latest.tar.gz",
    "wget https://raw.githubusercontent.com/NVIDIA/enroot/main/setup.sh",
    "curl -sL https://raw.githubusercontent.com/NVIDIA/enroot/refs/heads/feature/setup.sh",
    "curl -L https://github.com/NVIDIA/pyxis/archive/refs/heads/master.tar.gz",
    "curl -L https://github.com/NVIDIA/pyxis/releases/latest/download/pyxis.tar.gz",
    "docker run --rm nvcr.io/nvidia/k8s/dcgm-exporter:latest",
    "wget https://s3.amazonaws.com/amazoncloudwatch-agent/ubuntu/amd64/latest/amazon-cloudwatch-agent.deb",
]


def in_component(line):
    steps = [{"name": "Run", "action": "ExecuteBash", "inputs": {"commands": [line]}}]
    data = json.dumps({"phases": [{"name": "build", "steps": steps}]})
    return template(C={"Type": "AWS::ImageBuilder::Component", "Properties": {"Data": data}})


def in_launch_template(line):
    data = {"UserData": {"Fn::Base64": f"#!/bin/bash\n{line}\n"}}
    return template(C={"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}})


def in_instance(line):
    data = {"UserData": {"Fn::Base64": {"Fn::Sub": f"#!/bin/bash\n{line}\n"}}}
    return template(C={"Type": "AWS::EC2::Instance", "Properties": data})


PLACES = [in_component, in_launch_template, in_instance]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("line", PASSING)
def test_what_stays(place, line):
    assert_passes("UC-IMG-012", place(line))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("line", FAULTS)
def test_what_moves(place, line):
    assert_finds("UC-IMG-012", place(line), place="holds changes without a change of the template")
    assert own_ids(place(line)) == {"UC-IMG-012"}


def test_one_finding_names_the_first_three():
    lines = "\n".join(FAULTS[:5])
    assert_finds("UC-IMG-012", in_launch_template(lines), place="and 2 more")


def test_what_cannot_be_known():
    unknown = {"Type": "AWS::EC2::Instance", "Properties": {"UserData": UNKNOWN}}
    assert_not_judged("UC-IMG-012", template(Node=unknown))
    component = {"Type": "AWS::ImageBuilder::Component", "Properties": {"Uri": "s3://demo-bucket/c.yaml"}}
    assert_not_judged("UC-IMG-012", template(C=component))
