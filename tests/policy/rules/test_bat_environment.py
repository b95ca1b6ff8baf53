"""UC-BAT-008, 016, 017, 019, 020 and 022: what an environment of Batch launches."""

from __future__ import annotations

import pytest

from support.orchestrators import NONE, P5, either, environment, ids, launch_template, parameter, switch, template
from support.policy import assert_finds, assert_not_judged, assert_passes, judged

UNKNOWN = {"Ref": "Text"}


def made(parameters=None, conditions=None, /, **more):
    return template({"Text": parameter(), **(parameters or {})}, conditions, Env=environment(**more))


# UC-BAT-008


@pytest.mark.parametrize(
    ("types", "place"),
    [
        (
            ["p4d.24xlarge", "optimal"],
            "Env ComputeResources.InstanceTypes[1]: optimal beside p4d.24xlarge: jobs",
        ),
        (["default_x86_64", "trn2"], "InstanceTypes[0]: default_x86_64 beside trn2"),
        (["g4dn.xlarge", "m7i", "default_arm64"], "InstanceTypes[2]: default_arm64 beside g4dn.xlarge, m7i"),
    ],
)
def test_a_bundle_beside_accelerators(types, place):
    found = made(InstanceTypes=types)
    assert_finds("UC-BAT-008", found, place=place)
    assert ids("BAT", found) == {"UC-BAT-008"}


@pytest.mark.parametrize("types", [[P5], ["optimal"], ["optimal", "m7i"], ["p5", "p5e"], []])
def test_exact_types_or_a_bundle(types):
    assert_passes("UC-BAT-008", made(InstanceTypes=types))


def test_types_that_are_not_known():
    assert_not_judged("UC-BAT-008", made(InstanceTypes=["optimal", UNKNOWN]))
    assert_not_judged("UC-BAT-008", made(InstanceTypes=UNKNOWN))


@pytest.mark.parametrize(("other", "expected"), [("m7i", set()), (P5, {"UC-BAT-008"})])
def test_bundle_and_type_under_one_condition(other, expected):
    parameters, conditions = switch()
    types = [either("Big", "optimal", NONE), either("Big", other, P5)]
    assert ids("BAT", made(parameters, conditions, InstanceTypes=types)) == expected


# UC-BAT-016


@pytest.mark.parametrize(
    ("strategy", "kind", "wanted"),
    [
        ("SPOT_CAPACITY_OPTIMIZED", "EC2", "SPOT"),
        ("SPOT_PRICE_CAPACITY_OPTIMIZED", "EC2", "SPOT"),
        ("spot_capacity_optimized_prioritized", "ec2", "SPOT"),
        ("BEST_FIT_PROGRESSIVE_ORDERED", "SPOT", "EC2"),
    ],
)
def test_a_strategy_of_another_type(strategy, kind, wanted):
    found = made(AllocationStrategy=strategy, Type=kind)
    place = f"Env ComputeResources.AllocationStrategy: {strategy} with Type {kind.upper()}, Batch takes it with"
    assert_finds("UC-BAT-016", found, place=place)
    assert ids("BAT", found) == {"UC-BAT-016"}


@pytest.mark.parametrize(
    ("strategy", "kind"),
    [
        ("BEST_FIT_PROGRESSIVE", "EC2"),
        ("BEST_FIT_PROGRESSIVE", "SPOT"),
        ("BEST_FIT", "SPOT"),
        ("BEST_FIT_PROGRESSIVE_ORDERED", "EC2"),
        ("SPOT_CAPACITY_OPTIMIZED", "SPOT"),
        (None, "FARGATE"),
    ],
)
def test_a_strategy_of_the_type(strategy, kind):
    assert_passes("UC-BAT-016", made(AllocationStrategy=strategy, Type=kind))


def test_a_strategy_that_is_not_known():
    assert_not_judged("UC-BAT-016", made(AllocationStrategy=UNKNOWN))
    assert_not_judged("UC-BAT-016", made(AllocationStrategy="SPOT_CAPACITY_OPTIMIZED", Type=UNKNOWN))


@pytest.mark.parametrize(("kinds", "expected"), [(("SPOT", "EC2"), set()), (("EC2", "SPOT"), {"UC-BAT-016"})])
def test_strategy_and_type_under_one_condition(kinds, expected):
    parameters, conditions = switch()
    strategy = either("Big", "SPOT_CAPACITY_OPTIMIZED", "BEST_FIT_PROGRESSIVE")
    assert ids("BAT", made(parameters, conditions, AllocationStrategy=strategy, Type=either("Big", *kinds))) == expected


# UC-BAT-017


@pytest.mark.parametrize(
    ("strategy", "shown"), [("BEST_FIT", "BEST_FIT"), ("best_fit", "best_fit"), (None, "absent (BEST_FIT)")]
)
def test_an_environment_that_cannot_be_updated(strategy, shown):
    found = made(AllocationStrategy=strategy)
    place = f"Env ComputeResources.AllocationStrategy: {shown}, with which the environment takes no infrastructure"
    assert_finds("UC-BAT-017", found, place=place)
    assert ids("BAT", found) == {"UC-BAT-017"}


def test_an_environment_that_can_be_updated():
    assert_passes("UC-BAT-017", made())
    assert_passes("UC-BAT-017", made(AllocationStrategy=None, Type="FARGATE"))
    on_eks = made(AllocationStrategy=None)
    on_eks["Resources"]["Env"]["Properties"]["EksConfiguration"] = {"KubernetesNamespace": "batch"}
    assert_passes("UC-BAT-017", on_eks)
    unmanaged = {"Type": "AWS::Batch::ComputeEnvironment", "Properties": {"Type": "UNMANAGED"}}
    assert_passes("UC-BAT-017", template(Env=unmanaged))


def test_an_environment_of_which_little_is_known():
    assert_not_judged("UC-BAT-017", made(AllocationStrategy=UNKNOWN))
    assert_not_judged("UC-BAT-017", made(AllocationStrategy=None, Type=UNKNOWN))


# UC-BAT-019


@pytest.mark.parametrize(
    ("kind", "instead"), [("ECS_AL2", "use ECS_AL2023"), ("ECS_AL2_NVIDIA", "use ECS_AL2023_NVIDIA")]
)
def test_an_image_type_of_the_past(kind, instead):
    found = made(Ec2Configuration=[{"ImageType": kind}])
    place = f"Env ComputeResources.Ec2Configuration[0].ImageType: {kind}, with which Batch makes no environment since"
    assert_finds("UC-BAT-019", found, place=place)
    assert [fault.fix for fault in judged(found).judged.faults if fault.rule_id == "UC-BAT-019"] == [instead]
    assert ids("BAT", found) == {"UC-BAT-019"}


@pytest.mark.parametrize(
    "more",
    [
        {"Ec2Configuration": [{"ImageType": "ECS_AL2023_NVIDIA"}]},
        {"Ec2Configuration": [{"ImageType": "EKS_AL2023_NVIDIA"}]},
        {"Ec2Configuration": [{"ImageType": "ECS_AL2", "ImageIdOverride": "ami-0123456789abcdef0"}]},
        {"Ec2Configuration": [{"ImageType": "ECS_AL2"}], "ImageId": "ami-0123456789abcdef0"},
        {},
    ],
)
def test_an_image_type_of_today(more):
    assert_passes("UC-BAT-019", made(**more))


def test_an_image_type_that_is_not_known():
    assert_not_judged("UC-BAT-019", made(Ec2Configuration=[{"ImageType": UNKNOWN}]))


@pytest.mark.parametrize(
    ("own", "expected"), [(("ami-0123456789abcdef0", NONE), set()), ((NONE, "ami-1"), {"UC-BAT-019"})]
)
def test_image_type_and_image_under_one_condition(own, expected):
    parameters, conditions = switch()
    entry = {"ImageType": either("Big", "ECS_AL2", "ECS_AL2023"), "ImageIdOverride": either("Big", *own)}
    assert ids("BAT", made(parameters, conditions, Ec2Configuration=[entry])) == expected


# UC-BAT-020


def overrides(*targets, types=("p5", "p4d.24xlarge"), parameters=None):
    version = {"Fn::GetAtt": ["Lt", "LatestVersionNumber"]}
    place = {"LaunchTemplateId": {"Ref": "Lt"}, "Version": version}
    entries = [{**place, "TargetInstanceTypes": list(each)} for each in targets]
    made_of = {**place, "Overrides": entries}
    return template(
        parameters, None, Lt=launch_template(), Env=environment(LaunchTemplate=made_of, InstanceTypes=list(types))
    )


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (
            overrides(["p5"], ["p5.48xlarge"]),
            "LaunchTemplate.Overrides[1].TargetInstanceTypes[0]: p5.48xlarge and p5 (ComputeResources.LaunchTemplate.",
        ),
        (overrides(["p5.48xlarge", "p5"]), "Overrides[0].TargetInstanceTypes[1]: p5 and p5.48xlarge"),
        (overrides(["p4d.24xlarge"], ["p4d.24xlarge"]), "p4d.24xlarge and p4d.24xlarge"),
        (overrides(["c5.large"]), "TargetInstanceTypes[0]: c5.large is not among InstanceTypes of the environment"),
        (overrides(["optimal"], types=["optimal"]), "optimal is not among InstanceTypes"),
        (
            overrides(*([f"m{number}.large"] for number in range(11)), types=[f"m{number}" for number in range(11)]),
            "Env ComputeResources.LaunchTemplate.Overrides: 11 overrides, Batch takes 10",
        ),
    ],
)
def test_overrides_that_meet(found, place):
    assert_finds("UC-BAT-020", found, place=place)
    assert ids("BAT", found) == {"UC-BAT-020"}


@pytest.mark.parametrize(
    "found",
    [
        overrides(),
        overrides(["p5"], ["p4d.24xlarge"]),
        overrides(["p5.48xlarge"], ["p5.4xlarge"]),
        overrides(*([f"m{number}.large"] for number in range(10)), types=[f"m{number}" for number in range(10)]),
    ],
)
def test_overrides_that_stand_apart(found):
    assert_passes("UC-BAT-020", found)


@pytest.mark.parametrize(
    "found",
    [
        overrides([UNKNOWN], parameters={"Text": parameter()}),
        overrides(["p5"], types=["p5.48xlarge"]),
        overrides(["m5.large"], types=["optimal"]),
        overrides(["p5"], types=[UNKNOWN], parameters={"Text": parameter()}),
    ],
)
def test_overrides_that_are_not_known(found):
    assert_not_judged("UC-BAT-020", found)


# UC-BAT-022

PATH = "/aws/service/ecs/optimized-ami/amazon-linux-2/gpu/recommended/image_id"


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"ImageId": PATH}, "Env ComputeResources.ImageId: /aws/service/ecs/optimized-ami"),
        ({"ImageId": f"resolve:ssm:{PATH}"}, "ComputeResources.ImageId: resolve:ssm:/aws"),
        (
            {"Ec2Configuration": [{"ImageType": "ECS_AL2023_NVIDIA", "ImageIdOverride": PATH}]},
            "Ec2Configuration[0].ImageIdOverride: /aws/service",
        ),
        ({"ImageId": {"Fn::Sub": "/team/${Text}"}}, "ComputeResources.ImageId: /team/<Text> is no image id"),
    ],
)
def test_an_image_that_is_a_path(more, place):
    found = made(**more)
    assert_finds("UC-BAT-022", found, place=place)
    assert ids("BAT", found) == {"UC-BAT-022"}


@pytest.mark.parametrize(
    "image",
    [
        "ami-0123456789abcdef0",
        {"Ref": "Image"},
        {"Ref": "Parameter"},
        {"Ref": "Default"},
        "{{resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/recommended/image_id}}",
        None,
    ],
)
def test_an_image_that_is_an_id(image):
    parameters = {
        "Image": parameter("AWS::EC2::Image::Id"),
        "Parameter": parameter("AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", Default=PATH),
        "Default": parameter(Default="ami-0123456789abcdef0"),
    }
    assert_passes("UC-BAT-022", made(parameters, ImageId=image))


def test_an_image_that_is_not_known():
    assert_not_judged("UC-BAT-022", made(ImageId=UNKNOWN))


def test_the_form_of_a_public_template():
    """A path where the parameter is left empty."""
    conditions = {"NoImage": {"Fn::Equals": [{"Ref": "Image"}, ""]}}
    parameters = {"Image": parameter("AWS::EC2::Image::Id", Default="")}
    found = made(parameters, conditions, ImageId=either("NoImage", PATH, {"Ref": "Image"}))
    assert_finds("UC-BAT-022", found)
    assert_passes("UC-BAT-022", made(parameters, conditions, ImageId=either("NoImage", NONE, {"Ref": "Image"})))
