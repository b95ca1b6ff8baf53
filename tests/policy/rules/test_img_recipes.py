"""UC-IMG-002, 003, 005, 011, 013, 016 and 018: Image Builder."""

from __future__ import annotations

import json

import pytest

from support.policy import assert_finds, assert_not_judged, assert_passes
from support.storage import UNKNOWN, own_ids, template

PARENT = "arn:aws:imagebuilder:us-east-1:aws:image/ubuntu-server-22-lts-x86/x.x.x"
UPDATE = "arn:aws:imagebuilder:us-east-1:aws:component/update-linux/x.x.x"
REBOOT = "arn:aws:imagebuilder:us-east-1:aws:component/reboot-linux/1.0.1"
BOOTS = "arn:aws:imagebuilder:us-east-1:aws:component/simple-boot-test-linux/1.0.0"
OWN = "arn:aws:imagebuilder:us-east-1:111122223333:component/mine/1.0.0"

NVIDIA = "sh NVIDIA-Linux-x86_64-580.126.20.run --silent"
EFA = "cd aws-efa-installer && ./efa_installer.sh -y"
GPU_TEST, EFA_TEST = "nvidia-smi -L", "fi_info -p efa"


def bash(*commands, phase="build"):
    return phase, {"name": "Run", "action": "ExecuteBash", "inputs": {"commands": list(commands)}}


def action(name, **inputs):
    return "build", {"name": name, "action": name, "inputs": inputs}


def component(*steps):
    phases = {}
    for phase, step in steps:
        phases.setdefault(phase, []).append(step)
    document = {"schemaVersion": 1.0, "phases": [{"name": name, "steps": found} for name, found in phases.items()]}
    properties = {"Name": "c", "Version": "1.0.0", "Platform": "Linux", "Data": json.dumps(document)}
    return {"Type": "AWS::ImageBuilder::Component", "Properties": properties}


def recipe(*components, parent=PARENT, **made):
    """A recipe of components, given by their ARN or as the steps of one of the template."""
    listed = []
    for at, each in enumerate(components):
        if isinstance(each, tuple):
            made[f"C{at}"] = component(*each)
            listed.append({"ComponentArn": {"Fn::GetAtt": [f"C{at}", "Arn"]}})
        else:
            listed.append({"ComponentArn": each})
    properties = {"Name": "r", "Version": "1.0.0", "ParentImage": parent, "Components": listed}
    return template(Recipe={"Type": "AWS::ImageBuilder::ImageRecipe", "Properties": properties}, **made)


TESTED = bash(GPU_TEST, EFA_TEST, "lfs --version", "neuron-ls", phase="test")

# UC-IMG-002


@pytest.mark.parametrize(
    "found",
    [
        recipe(UPDATE, REBOOT, (bash(NVIDIA), TESTED)),
        recipe((bash(NVIDIA), TESTED), UPDATE),
        recipe(UPDATE, (action("Reboot"), bash(EFA), TESTED)),
        recipe((action("UpdateOS"), bash("exit 194"), bash(EFA), TESTED)),
        recipe((action("UpdateOS", exclude=["kernel*"]), bash(NVIDIA), TESTED)),
        recipe((bash("dnf versionlock add kernel"), action("UpdateOS"), bash(NVIDIA), TESTED)),
        recipe((bash("apt-mark hold linux-image-aws linux-aws", "apt-get dist-upgrade -y", NVIDIA), TESTED)),
        recipe((bash("yum update -y --exclude=kernel*", NVIDIA), TESTED)),
        recipe((bash("apt-get update -y", "apt-get upgrade -y", "yum update -y aws-cli", NVIDIA), TESTED)),
        recipe(UPDATE, (bash(f"# {NVIDIA}", f"{EFA} --skip-kmod"),)),
        recipe(UPDATE, BOOTS),
        recipe((bash("reboot later", phase="test"), bash("yum update -y"), action("Reboot"), bash(EFA), TESTED)),
    ],
)
def test_a_reboot_or_no_need_of_one(found):
    assert_passes("UC-IMG-002", found)


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (recipe(UPDATE, (bash(NVIDIA), TESTED)), "Components[1].ComponentArn: the NVIDIA driver is installed after"),
        (recipe(UPDATE, BOOTS, (bash(EFA), TESTED)), "the EFA driver"),
        (recipe((action("UpdateOS"), bash("dnf install -y lustre-client"), TESTED)), "the Lustre client"),
        (
            recipe((bash("yum update -y && yum install -y gcc", "yum install -y aws-neuronx-dkms-2.*"), TESTED)),
            "Neuron",
        ),
        (recipe((bash("yum -y update; yum install -y \\\n  kmod-nvidia-open"), TESTED)), "NVIDIA"),
        (recipe((bash("apt full-upgrade -y", "apt-get install -y nvidia-driver-580"), TESTED)), "NVIDIA"),
        (recipe((bash("dnf upgrade -y kernel", NVIDIA), TESTED)), "NVIDIA"),
        (recipe(UPDATE, REBOOT, (action("UpdateOS"), bash(NVIDIA), TESTED)), "after the kernel update of"),
        (recipe((bash("yum versionlock list", "yum update -y", NVIDIA), TESTED)), "NVIDIA"),
    ],
)
def test_modules_of_the_old_kernel(found, place):
    assert_finds("UC-IMG-002", found, place=place)
    assert own_ids(found) == {"UC-IMG-002"}


@pytest.mark.parametrize("between", [OWN, UNKNOWN, {"Fn::ImportValue": "component"}])
def test_a_component_between_that_cannot_be_known(between):
    assert_not_judged("UC-IMG-002", recipe(UPDATE, between, (bash(NVIDIA), TESTED)))


def test_a_document_that_cannot_be_read():
    made = {"C": {"Type": "AWS::ImageBuilder::Component", "Properties": {"Uri": "s3://demo-bucket/component.yaml"}}}
    assert_not_judged("UC-IMG-002", recipe(UPDATE, {"Ref": "C"}, (bash(NVIDIA), TESTED), **made))
    made["C"]["Properties"] = {"Data": "phases: [unclosed"}
    assert_not_judged("UC-IMG-002", recipe(UPDATE, {"Ref": "C"}, (bash(NVIDIA), TESTED), **made))


def test_a_document_with_parameters_is_read():
    steps = "      - name: R\n        action: Reboot\n      - name: ${Unknown}\n"
    data = {"Fn::Sub": f"phases:\n  - name: build\n    steps:\n{steps}"}
    made = {"C": {"Type": "AWS::ImageBuilder::Component", "Properties": {"Data": data}}}
    assert_passes("UC-IMG-002", recipe(UPDATE, {"Ref": "C"}, (bash(NVIDIA), TESTED), **made))


# UC-IMG-003


@pytest.mark.parametrize(
    "found",
    [
        recipe((bash(NVIDIA), bash(GPU_TEST, phase="test"))),
        recipe((bash(EFA), bash("modinfo efa", phase="validate"))),
        recipe((bash(NVIDIA),), (bash("dkms status", phase="test"),)),
        recipe((bash("apt-get install -y jq"),)),
        recipe(UPDATE),
    ],
)
def test_what_is_tested(found):
    assert_passes("UC-IMG-003", found)


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (recipe((bash(NVIDIA),)), "Components: no test phase looks for the NVIDIA driver"),
        (recipe((bash(NVIDIA, GPU_TEST),)), "the NVIDIA driver"),
        (recipe((bash(NVIDIA), bash(EFA), bash(GPU_TEST, phase="test"))), "looks for the EFA driver"),
        (recipe((bash(EFA), bash("echo fine", phase="test"))), "the EFA driver"),
        (recipe((bash(EFA),), BOOTS), "the EFA driver"),
    ],
)
def test_what_is_not_tested(found, place):
    assert_finds("UC-IMG-003", found, place=place)
    assert own_ids(found) == {"UC-IMG-003"}


def test_tests_that_cannot_be_known():
    assert_not_judged("UC-IMG-003", recipe((bash(NVIDIA),), OWN))


# UC-IMG-005 and UC-IMG-016


def build(found, *types, tests=None, kind="AWS::ImageBuilder::Image"):
    more = {} if tests is None else {"ImageTestsConfiguration": {"ImageTestsEnabled": tests}}
    infrastructure = {"InstanceTypes": list(types)} if types else {}
    found["Resources"] |= {
        "Built": {
            "Type": kind,
            "Properties": {
                "ImageRecipeArn": {"Fn::GetAtt": ["Recipe", "Arn"]},
                "InfrastructureConfigurationArn": {"Ref": "Where"},
                **more,
            },
        },
        "Where": {"Type": "AWS::ImageBuilder::InfrastructureConfiguration", "Properties": infrastructure},
    }
    return found


@pytest.mark.parametrize("kind", ["AWS::ImageBuilder::Image", "AWS::ImageBuilder::ImagePipeline"])
def test_built_on_another_architecture(kind):
    found = build(recipe(UPDATE), "c7i.large", "c7g.large", kind=kind)
    assert_finds("UC-IMG-005", found, place="Where InstanceTypes[1]: c7g.large is arm64")
    assert own_ids(found) == {"UC-IMG-005"}


@pytest.mark.parametrize(
    "found",
    [
        build(recipe(UPDATE), "c7i.large", "g5.xlarge"),
        build(recipe(UPDATE, parent=PARENT.replace("x86/", "arm64/")), "c7g.large"),
        build(recipe(UPDATE)),
    ],
)
def test_built_on_the_architecture(found):
    assert_passes("UC-IMG-005", found)


@pytest.mark.parametrize(
    "found",
    [
        build(recipe(UPDATE, parent="ami-0123456789abcdef0"), "c7i.large"),
        build(recipe(UPDATE), UNKNOWN),
        build(recipe(UPDATE), "mac2.metal"),
    ],
)
def test_an_architecture_that_cannot_be_known(found):
    assert_not_judged("UC-IMG-005", found)


GPU = (bash(NVIDIA), bash(GPU_TEST, phase="test"))


@pytest.mark.parametrize(
    "found",
    [
        build(recipe(GPU), "g5.xlarge", "p5.48xlarge", "gr6.4xlarge"),
        build(recipe(GPU), "c6i.4xlarge", tests=False),
        build(recipe((bash("nvidia-smi"),)), "c6i.4xlarge"),
        build(recipe((bash("nvidia-smi || echo none", phase="test"),)), "c6i.4xlarge"),
        build(recipe((bash("modinfo nvidia", phase="test"),)), "c6i.4xlarge"),
        build(recipe((bash("neuron-ls", phase="test"),)), "trn1.2xlarge", "inf2.xlarge"),
        build(recipe(GPU)),
    ],
)
def test_tested_with_the_device(found):
    assert_passes("UC-IMG-016", found)


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (
            build(recipe(GPU), "c6i.4xlarge"),
            "Where InstanceTypes[0]: c6i.4xlarge has no device for the test 'nvidia-smi -L'",
        ),
        (build(recipe(GPU), "g5.xlarge", "g4ad.xlarge"), "g4ad.xlarge"),
        (build(recipe(GPU), "trn1.2xlarge"), "trn1.2xlarge"),
        (build(recipe((bash("neuron-ls", phase="test"),)), "g5.xlarge"), "neuron-ls"),
        (build(recipe(GPU), "m7i.large", kind="AWS::ImageBuilder::ImagePipeline"), "m7i.large"),
    ],
)
def test_tested_without_the_device(found, place):
    assert_finds("UC-IMG-016", found, place=place)
    assert own_ids(found) == {"UC-IMG-016"}


@pytest.mark.parametrize("kind", [UNKNOWN, "q9.large"])
def test_devices_that_cannot_be_known(kind):
    assert_not_judged("UC-IMG-016", build(recipe(GPU), kind))


def test_a_recipe_of_elsewhere():
    found = build(recipe(GPU), "c6i.4xlarge")
    found["Resources"]["Built"]["Properties"]["ImageRecipeArn"] = UNKNOWN
    assert_not_judged("UC-IMG-016", found)


def test_types_and_tests_under_one_condition():
    kind, tests = {"Fn::If": ["Gpu", "g5.xlarge", "c6i.large"]}, {"Fn::If": ["Gpu", True, False]}
    gpu = {"Gpu": {"Fn::Equals": [UNKNOWN, "gpu"]}}
    assert_passes("UC-IMG-016", {"Conditions": gpu, **build(recipe(GPU), kind, tests=tests)})


# UC-IMG-011


@pytest.mark.parametrize("kind", ["AWS::ImageBuilder::ImageRecipe", "AWS::ImageBuilder::ContainerRecipe"])
def test_the_number_of_components(kind):
    def of(count):
        properties = {"ParentImage": PARENT, "Components": [{"ComponentArn": OWN}] * count}
        return template(Recipe={"Type": kind, "Properties": properties})

    assert_passes("UC-IMG-011", of(20))
    assert_finds("UC-IMG-011", of(21), place="Components: 21 components, a recipe has at most 20")
    assert own_ids(of(21)) == {"UC-IMG-011"}
    unknown = template(Recipe={"Type": kind, "Properties": {"ParentImage": PARENT, "Components": UNKNOWN}})
    assert_not_judged("UC-IMG-011", unknown)


# UC-IMG-013

CLONE = "git clone -b v1.14.2 https://github.com/aws/aws-ofi-nccl.git"


def installer(version):
    return f"curl -O https://efa-installer.amazonaws.com/aws-efa-installer-{version}.tar.gz"


@pytest.mark.parametrize(
    "found",
    [
        recipe((bash(installer("1.48.0"), EFA), TESTED)),
        recipe((bash(CLONE), TESTED)),
        recipe((bash(installer("1.38.1"), EFA, CLONE), TESTED)),
    ],
)
def test_the_plugin_is_there_once(found):
    assert_passes("UC-IMG-013", found)


@pytest.mark.parametrize(
    "found",
    [
        recipe((bash(installer("1.39.0"), EFA, CLONE), TESTED)),
        recipe((bash(installer("1.48.0"), EFA), TESTED), (bash(CLONE),)),
        recipe((bash(installer("1.38.0"), installer("1.50.0"), EFA, CLONE.replace("git clone", "wget")), TESTED)),
    ],
)
def test_the_plugin_is_there_twice(found):
    assert_finds("UC-IMG-013", found, place="aws-ofi-nccl is built beside the one that the EFA installer (1.")
    assert own_ids(found) == {"UC-IMG-013"}


def test_an_installer_that_cannot_be_known():
    assert_not_judged("UC-IMG-013", recipe((bash(installer("${VERSION}"), EFA, CLONE), TESTED)))


# UC-IMG-018


def shared(**permissions):
    entry = {"Region": "us-east-1", "AmiDistributionConfiguration": {"LaunchPermissionConfiguration": permissions}}
    properties = {"Name": "d", "Distributions": [entry]}
    return template(D={"Type": "AWS::ImageBuilder::DistributionConfiguration", "Properties": properties})


def test_who_may_launch_an_image():
    assert_passes("UC-IMG-018", shared(UserIds=["111122223333"]))
    assert_passes("UC-IMG-018", shared())
    found = shared(UserGroups=["all"])
    assert_finds(
        "UC-IMG-018", found, place="Distributions[0].AmiDistributionConfiguration.LaunchPermissionConfiguration."
    )
    assert own_ids(found) == {"UC-IMG-018"}
    assert_not_judged("UC-IMG-018", shared(UserGroups=[UNKNOWN]))
