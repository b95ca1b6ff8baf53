"""UC-EKS-004 to 007, 022 and 023: images of managed node groups."""

from __future__ import annotations

import pytest

from support.fabric import entry
from support.orchestrators import (
    MIME,
    NONE,
    P5,
    SCRIPT,
    either,
    encoded,
    ids,
    launch_template,
    nodes,
    parameter,
    switch,
    template,
)
from support.orchestrators import (
    node_pair as pair,
)
from support.policy import assert_finds, assert_not_judged, assert_passes, judged

AMI = "ami-0123456789abcdef0"
JOINS = encoded(MIME.format("text/x-shellscript", "#!/bin/bash\n/etc/eks/bootstrap.sh train"))
TRN2 = "trn2.48xlarge"


def group_of(types, image, parameters=None, conditions=None):
    """A node group without a launch template."""
    return template(parameters, conditions, Nodes=nodes(LaunchTemplate=None, InstanceTypes=types, AmiType=image))


# UC-EKS-004


@pytest.mark.parametrize(
    ("types", "image", "said"),
    [
        ([TRN2], "AL2023_x86_64_NVIDIA", "AL2023_x86_64_NVIDIA on trn2.48xlarge, which needs the Neuron driver"),
        (["inf2.48xlarge"], "AL2023_x86_64_STANDARD", "which needs the Neuron driver"),
        ([P5], "AL2023_x86_64_NEURON", "AL2023_x86_64_NEURON on p5.48xlarge, which needs the NVIDIA driver"),
        ([P5], "AL2023_x86_64_STANDARD", "which needs the NVIDIA driver"),
        ([P5], "BOTTLEROCKET_x86_64", "which needs the NVIDIA driver"),
        (["p6e-gb200.36xlarge"], "AL2023_x86_64_NVIDIA", "which is arm64"),
        ([P5], "AL2023_ARM_64_NVIDIA", "which is x86_64"),
        # A size that the catalogue does not list, of a family that it does.
        (["g6.xlarge"], "AL2023_x86_64_STANDARD", "on g6.xlarge, which needs the NVIDIA driver"),
    ],
)
def test_an_image_without_the_driver(types, image, said):
    found = group_of(types, image)
    assert_finds("UC-EKS-004", found, place=f"Nodes AmiType: {image} on")
    assert_finds("UC-EKS-004", found, place=said)
    assert ids("EKS", found) == {"UC-EKS-004"}


@pytest.mark.parametrize(
    ("types", "image"),
    [
        ([TRN2], "AL2023_x86_64_NEURON"),
        ([TRN2], "AL2_x86_64_GPU"),
        ([TRN2], "BOTTLEROCKET_x86_64"),
        ([P5], "AL2023_x86_64_NVIDIA"),
        ([P5, "p5en.48xlarge"], "BOTTLEROCKET_x86_64_NVIDIA_FIPS"),
        (["p6e-gb200.36xlarge"], "AL2023_ARM_64_NVIDIA"),
        ([P5], "CUSTOM"),
        (["m7i.large"], "AL2023_x86_64_STANDARD"),
    ],
)
def test_an_image_with_the_driver(types, image):
    assert_passes("UC-EKS-004", group_of(types, image))


def test_the_type_of_the_launch_template_counts():
    assert_finds("UC-EKS-004", pair(AmiType="AL2023_x86_64_NEURON"), place=P5)


def test_an_own_image_decides():
    own = {"InstanceType": P5, "ImageId": AMI, "UserData": JOINS}
    assert not judged(pair(own, AmiType="AL2023_x86_64_NEURON")).of("UC-EKS-004")


@pytest.mark.parametrize(
    ("types", "image"),
    [(["p9.48xlarge"], "AL2023_x86_64_STANDARD"), ([{"Ref": "Kind"}], "AL2023_x86_64_NVIDIA"), ([P5], "AL2027_x86_64")],
)
def test_types_and_images_outside_the_catalogue(types, image):
    assert_not_judged("UC-EKS-004", group_of(types, image, {"Kind": parameter()}))


@pytest.mark.parametrize(("swapped", "expected"), [(False, set()), (True, {"UC-EKS-004"})])
def test_type_and_image_under_one_condition(swapped, expected):
    parameters, conditions = switch()
    images = ("AL2023_x86_64_NEURON", "AL2023_x86_64_NVIDIA")
    found = group_of(
        [either("Big", TRN2, P5)], either("Big", *(reversed(images) if swapped else images)), parameters, conditions
    )
    assert ids("EKS", found) == expected


# UC-EKS-005


@pytest.mark.parametrize("types", [[P5], [TRN2], ["m7i.large", "g4dn.xlarge"]])
def test_no_image_for_accelerators(types):
    found = group_of(types, None)
    assert_finds("UC-EKS-005", found, place=f"Nodes AmiType: absent for {', '.join(types)}")
    assert ids("EKS", found) == {"UC-EKS-005"}


def test_no_image_is_needed():
    assert_passes("UC-EKS-005", group_of(["m7i.large"], None))
    assert_passes("UC-EKS-005", group_of([P5], "AL2023_x86_64_NVIDIA"))
    assert_passes("UC-EKS-005", pair({"InstanceType": P5, "ImageId": AMI, "UserData": JOINS}, AmiType=None))


def test_no_image_and_unknown_types():
    assert_not_judged("UC-EKS-005", group_of([{"Ref": "Kind"}], None, {"Kind": parameter()}))
    elsewhere = template(Nodes=nodes(LaunchTemplate={"Name": "theirs"}, InstanceTypes=[P5], AmiType=None))
    assert_not_judged("UC-EKS-005", elsewhere)


@pytest.mark.parametrize(("one", "other", "expected"), [(P5, "m7i.large", set()), ("m7i.large", P5, {"UC-EKS-005"})])
def test_image_and_type_under_one_condition(one, other, expected):
    parameters, conditions = switch()
    image = either("Big", "AL2023_x86_64_NVIDIA", NONE)
    assert ids("EKS", group_of([either("Big", one, other)], image, parameters, conditions)) == expected


# UC-EKS-006


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ([P5, "trn1.32xlarge"], "InstanceTypes[1]: trn1.32xlarge beside p5.48xlarge"),
        (
            ["p6-b200.48xlarge", P5, "p6e-gb200.36xlarge"],
            "[2]: p6e-gb200.36xlarge beside p6-b200.48xlarge",
        ),
    ],
)
def test_two_vendors(types, said):
    found = group_of(types, "AL2023_x86_64_NVIDIA")
    assert_finds("UC-EKS-006", found, place=said)
    assert ids("EKS", found) == {"UC-EKS-006"}


@pytest.mark.parametrize("types", [[P5], [P5, "p5en.48xlarge"], [TRN2, "trn1.32xlarge"]])
def test_one_vendor(types):
    assert_passes("UC-EKS-006", group_of(types, "CUSTOM"))


def test_an_unknown_vendor():
    assert_not_judged("UC-EKS-006", group_of([P5, {"Ref": "Kind"}], "CUSTOM", {"Kind": parameter()}))


def test_vendors_under_opposite_conditions():
    parameters, conditions = switch()
    types = [either("Big", P5, TRN2), either("Big", "p5en.48xlarge", "trn1.32xlarge")]
    assert_passes("UC-EKS-006", group_of(types, "CUSTOM", parameters, conditions))
    types[1] = either("Big", "trn1.32xlarge", "p5en.48xlarge")
    assert_finds("UC-EKS-006", group_of(types, "CUSTOM", parameters, conditions))


# UC-EKS-007


def with_image(image, parameters=None):
    return pair({"InstanceType": P5, "ImageId": image, "UserData": JOINS}, parameters, AmiType="CUSTOM")


@pytest.mark.parametrize(
    "image",
    [
        "resolve:ssm:/aws/service/eks/optimized-ami/1.34/recommended/image_id",
        {"Fn::Sub": "resolve:ssm:/aws/service/eks/optimized-ami/${Kubernetes}/image_id"},
    ],
)
def test_an_image_that_ec2_would_resolve(image):
    found = with_image(image, {"Kubernetes": parameter()})
    assert_finds("UC-EKS-007", found, place="Lt LaunchTemplateData.ImageId: resolve:ssm:/aws/service/eks")
    assert ids("EKS", found) == {"UC-EKS-007"}


@pytest.mark.parametrize(
    "image",
    [
        AMI,
        {"Ref": "Image"},
        {"Ref": "Parameter"},
        "{{resolve:ssm:/aws/service/eks/optimized-ami/1.34/recommended/image_id}}",
        {"Fn::GetAtt": ["Built", "ImageId"]},
    ],
)
def test_an_image_that_is_an_id(image):
    of_ssm = "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"
    parameters = {
        "Image": parameter("AWS::EC2::Image::Id"),
        "Parameter": parameter(of_ssm, Default="/aws/service/eks/optimized-ami/1.34/recommended/image_id"),
    }
    found = with_image(image, parameters)
    found["Resources"]["Built"] = {"Type": "AWS::ImageBuilder::Image", "Properties": {}}
    assert_passes("UC-EKS-007", found)


def test_an_image_of_another_consumer():
    assert_passes("UC-EKS-007", template(Lt=launch_template(ImageId="resolve:ssm:/team/image")))


@pytest.mark.parametrize("image", [{"Ref": "Text"}, {"Fn::Sub": "${Text}-suffix"}])
def test_an_image_that_is_not_known(image):
    assert_not_judged("UC-EKS-007", with_image(image, {"Text": parameter()}))


# UC-EKS-022

CONFIG = """apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: train
    apiServerEndpoint: https://example.com
    certificateAuthority: Y2VydA==
    cidr: 10.100.0.0/16
"""
TOML = '[settings.kubernetes.system-reserved]\ncpu = "10m"\n'


def with_user_data(text, parameters=None, **group):
    data = text if isinstance(text, dict) else encoded(text)
    return pair({"InstanceType": P5, "UserData": data}, parameters, **group)


@pytest.mark.parametrize(
    ("text", "group", "said"),
    [
        ("#!/bin/bash\necho hello", {}, "it begins with '#!/bin/bash', EKS merges MIME multipart only"),
        (CONFIG, {}, "it begins with 'apiVersion: node.eks.aws/v1alpha1'"),
        ("#cloud-config\nruncmd: []", {}, "it begins with '#cloud-config'"),
        ("#!/bin/bash", {"AmiType": "BOTTLEROCKET_x86_64_NVIDIA"}, "Bottlerocket takes settings in TOML"),
        (SCRIPT, {"AmiType": "BOTTLEROCKET_x86_64_NVIDIA"}, "begins with 'MIME-Version: 1.0', Bottlerocket takes"),
        ({"Fn::Base64": {"Fn::Sub": "#!/bin/bash\necho ${AWS::Region}"}}, {}, "it begins with '#!/bin/bash'"),
    ],
)
def test_user_data_of_another_form(text, group, said):
    found = with_user_data(text, **group)
    assert_finds("UC-EKS-022", found, place="Lt LaunchTemplateData.UserData: it begins with")
    assert_finds("UC-EKS-022", found, place=said)
    assert ids("EKS", found) == {"UC-EKS-022"}


def test_user_data_without_a_stated_image():
    text = encoded("#!/bin/bash")
    plain = pair({"InstanceType": "m7i.large", "UserData": text}, AmiType=None)
    assert_finds("UC-EKS-022", plain)


@pytest.mark.parametrize(
    ("text", "group"),
    [
        (SCRIPT, {}),
        (MIME.format("application/node.eks.aws", CONFIG), {}),
        (TOML, {"AmiType": "BOTTLEROCKET_x86_64_NVIDIA"}),
        ("<powershell></powershell>", {"AmiType": "WINDOWS_CORE_2022_x86_64"}),
        ({"Fn::Base64": {"Fn::Sub": SCRIPT.replace("hello", "${AWS::Region}")}}, {}),
    ],
)
def test_user_data_that_can_be_merged(text, group):
    assert_passes("UC-EKS-022", with_user_data(text, **group))


def test_user_data_of_an_own_image_is_its_own():
    own = {"InstanceType": P5, "ImageId": AMI, "UserData": encoded("#!/bin/bash\n/etc/eks/bootstrap.sh train")}
    assert_passes("UC-EKS-022", pair(own, AmiType="CUSTOM"))


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ({"Fn::Base64": {"Ref": "Text"}}, {}),
        ({"Fn::Base64": {"Fn::Join": ["\n", [{"Ref": "Text"}, "echo"]]}}, {}),
        (SCRIPT, {"AmiType": "AL2027_x86_64_NVIDIA"}),
        (SCRIPT, {"LaunchTemplate": {"Name": "theirs"}}),
    ],
)
def test_user_data_that_is_not_known(text, group):
    assert_not_judged("UC-EKS-022", with_user_data(text, {"Text": parameter()}, **group))


@pytest.mark.parametrize(("swapped", "expected"), [(False, set()), (True, {"UC-EKS-022"})])
def test_user_data_and_image_under_one_condition(swapped, expected):
    parameters, conditions = switch()
    image = ("BOTTLEROCKET_x86_64_NVIDIA", "AL2023_x86_64_NVIDIA")
    data = {"InstanceType": P5, "UserData": either("Big", encoded(TOML), encoded(SCRIPT))}
    found = pair(data, parameters, conditions, AmiType=either("Big", *(reversed(image) if swapped else image)))
    assert ids("EKS", found) == expected


# UC-EKS-023


def own_image(user_data, parameters=None):
    data = {"InstanceType": P5, "ImageId": AMI}
    data |= {} if user_data is None else {"UserData": user_data}
    return pair(data, parameters, AmiType="CUSTOM")


@pytest.mark.parametrize(
    ("user_data", "said"),
    [
        (None, f"Lt LaunchTemplateData.ImageId: {AMI} without user data, so the nodes of Nodes never join"),
        (
            encoded(MIME.format("application/node.eks.aws", "kind: NodeConfig\nspec:\n  kubelet: {}\n")),
            "UserData: its NodeConfig lacks name, apiServerEndpoint, certificateAuthority, cidr, which an own image",
        ),
        (
            encoded(MIME.format("application/node.eks.aws", CONFIG.replace("cidr", "range"))),
            "its NodeConfig lacks cidr,",
        ),
    ],
)
def test_an_own_image_that_never_joins(user_data, said):
    found = own_image(user_data)
    assert_finds("UC-EKS-023", found, place=said)
    assert ids("EKS", found) == {"UC-EKS-023"}


@pytest.mark.parametrize(
    "text",
    [
        MIME.format("application/node.eks.aws", CONFIG),
        CONFIG,
        "#!/bin/bash\n/etc/eks/bootstrap.sh train",
        "#!/bin/bash\nnodeadm init --config-source file:///etc/node.yaml",
        '[settings.kubernetes]\ncluster-name = "train"\n',
    ],
)
def test_an_own_image_that_joins(text):
    assert_passes("UC-EKS-023", own_image(encoded(text)))


def test_values_of_the_cluster_are_filled_in_later():
    text = CONFIG.replace("https://example.com", "${Cluster.Endpoint}").replace("Y2VydA==", "${Ca}")
    assert_passes("UC-EKS-023", own_image({"Fn::Base64": {"Fn::Sub": text}}, {"Ca": parameter()}))


def test_no_own_image():
    assert_passes("UC-EKS-023", pair())
    assert_passes("UC-EKS-023", template(Lt=launch_template(ImageId=AMI)))


@pytest.mark.parametrize(
    "user_data",
    [
        encoded("#!/bin/bash\naws s3 cp s3://bucket/join.sh . && ./join.sh"),
        {"Ref": "Text"},
        {"Fn::Base64": {"Fn::Sub": "kind: NodeConfig\n${Text}"}},
    ],
)
def test_an_own_image_of_which_little_is_known(user_data):
    assert_not_judged("UC-EKS-023", own_image(user_data, {"Text": parameter()}))


def test_image_and_user_data_under_one_condition():
    parameters, conditions = switch()
    data = {"InstanceType": P5, "ImageId": either("Big", AMI, NONE), "UserData": either("Big", JOINS, NONE)}
    image = either("Big", "CUSTOM", "AL2023_x86_64_NVIDIA")
    assert ids("EKS", pair(data, parameters, conditions, AmiType=image)) == set()
    data["UserData"] = either("Big", NONE, SCRIPT_DATA)
    assert ids("EKS", pair(data, parameters, conditions, AmiType=image)) == {"UC-EKS-023"}


SCRIPT_DATA = encoded(SCRIPT)


def test_interfaces_play_no_part():
    assert_passes("UC-EKS-004", pair({"InstanceType": P5, "NetworkInterfaces": [entry(0, 0)]}))
