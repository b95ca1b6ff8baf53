"""UC-IMG-006 to 009 and 017: volumes of launch templates, instances and recipes."""

from __future__ import annotations

import pytest

from support.fabric import batch, group, launch_template, node_group, pcs
from support.policy import assert_finds, assert_not_judged, assert_passes
from support.storage import NOTHING, UNKNOWN, own_ids, template

UBUNTU = "{{resolve:ssm:/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id:3}}"
AMAZON = (
    "{{resolve:ssm:/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id:3}}"
)
PLAIN = "{{resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64:3}}"
AMI = "ami-0123456789abcdef0"


def ebs(name="/dev/xvda", size=500, **more):
    written = {"VolumeSize": size, "VolumeType": "gp3", "Encrypted": True, **more}
    return {"DeviceName": name, "Ebs": {key: value for key, value in written.items() if value is not None}}


def lt(*volumes, image=AMAZON, kind="p5.48xlarge"):
    more = {} if image is None else {"ImageId": image}
    return launch_template(None, kind, BlockDeviceMappings=list(volumes), **more)


def booted(*volumes, **more):
    return template(Lt=lt(*volumes, **more))


def instance(*volumes, image=UBUNTU):
    properties = {"ImageId": image, "BlockDeviceMappings": list(volumes)}
    return template(Node={"Type": "AWS::EC2::Instance", "Properties": properties})


def recipe(*volumes, parent="arn:aws:imagebuilder:us-east-1:aws:image/ubuntu-server-22-lts-x86/x.x.x"):
    properties = {"ParentImage": parent, "BlockDeviceMappings": list(volumes), "Components": []}
    return template(Recipe={"Type": "AWS::ImageBuilder::ImageRecipe", "Properties": properties})


# UC-IMG-006


@pytest.mark.parametrize(
    "found",
    [
        booted(ebs()),
        booted(ebs("/dev/sda1"), image=UBUNTU),
        booted(ebs("/dev/sda1"), ebs("/dev/xvda"), image=UBUNTU),
        booted(ebs("/dev/sdf"), image=UBUNTU),
        booted(image=UBUNTU),
        booted({"DeviceName": "/dev/xvda", "VirtualName": "ephemeral0"}, image=UBUNTU),
        recipe(ebs("/dev/sda1")),
        instance(ebs("/dev/sda1")),
        template(Lt=lt(ebs(), image=None), Nodes=node_group(AmiType="AL2023_x86_64_NVIDIA")),
        template(Lt=lt(ebs("/dev/sda1"), image=None), Nodes=pcs(AmiId=UBUNTU)),
    ],
)
def test_the_root_under_its_name(found):
    assert_passes("UC-IMG-006", found)


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (
            booted(ebs(), image=UBUNTU),
            "BlockDeviceMappings[0].DeviceName: /dev/xvda is not the root of Ubuntu 22.04 LTS",
        ),
        (booted(ebs("/dev/sda1")), "/dev/sda1 is not the root of Amazon Linux 2023"),
        (instance(ebs()), "/dev/xvda is not the root"),
        (recipe(ebs()), "/dev/xvda is not the root"),
        (template(Lt=lt(ebs("/dev/sda1"), image=None), Nodes=node_group(AmiType="AL2023_x86_64_NVIDIA")), "/dev/sda1"),
        (template(Lt=lt(ebs(), image=None), Nodes=pcs(AmiId=UBUNTU)), "/dev/xvda"),
    ],
)
def test_the_root_under_another_name(found, place):
    assert_finds("UC-IMG-006", found, place=place)
    assert own_ids(found) == {"UC-IMG-006"}


@pytest.mark.parametrize(
    "found",
    [
        booted(ebs(), image=AMI),
        booted(ebs(), image=UNKNOWN),
        booted(ebs(), image=None),
        booted(ebs(UNKNOWN), image=UBUNTU),
        template(Lt=lt(ebs(), image=None), Nodes=batch()),
        template(Lt=lt(ebs(), image=None), Nodes=pcs(AmiId=UBUNTU), More=pcs(AmiId=AMAZON)),
    ],
)
def test_a_root_name_that_cannot_be_known(found):
    assert_not_judged("UC-IMG-006", found)


# UC-IMG-007


@pytest.mark.parametrize(
    "found",
    [
        booted(ebs(size=300)),
        booted(ebs(size=None)),
        booted(ebs(size=30), image=PLAIN),
        booted(ebs(), ebs("/dev/sdf", 10)),
        recipe(ebs("/dev/sda1", 50)),
        recipe(),
        booted(),
    ],
)
def test_a_root_that_is_large_enough(found):
    assert_passes("UC-IMG-007", found)


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (booted(ebs(size=75)), "BlockDeviceMappings[0].Ebs.VolumeSize: 75 GiB fill up"),
        (booted(ebs("/dev/sdf", 10), ebs("/dev/sda1", "299"), image=UBUNTU), "[1].Ebs.VolumeSize: 299 GiB"),
        (instance(ebs("/dev/sda1", 100)), "100 GiB"),
        (recipe(ebs("/dev/sda1", 49)), "49 GiB"),
    ],
)
def test_a_root_that_fills_up(found, place):
    assert_finds("UC-IMG-007", found, place=place)
    assert own_ids(found) == {"UC-IMG-007"}


@pytest.mark.parametrize(
    "found", [booted(ebs(size=75), image=AMI), booted(ebs(size=UNKNOWN)), booted(ebs(), image=UNKNOWN)]
)
def test_a_root_that_cannot_be_known(found):
    assert_not_judged("UC-IMG-007", found)


# UC-IMG-008


def volume(**properties):
    return template(
        Disk={"Type": "AWS::EC2::Volume", "Properties": {"VolumeType": "gp3", "Encrypted": True, **properties}}
    )


@pytest.mark.parametrize(
    "found",
    [
        booted(ebs(Throughput=750)),
        booted(ebs(Throughput=1000, Iops=4000)),
        booted(ebs(Throughput="2000", Iops="8000")),
        booted(ebs(Iops=80000)),
        booted(ebs(size=None, Iops=80000)),
        booted(ebs(VolumeType="io2", Iops=100000)),
        booted(ebs(VolumeType=None, Throughput=5000)),
        volume(Size=100, Throughput=500),
    ],
)
def test_gp3_numbers_that_fit(found):
    assert_passes("UC-IMG-008", found)


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (booted(ebs(Throughput=1000, Iops=3000)), "Ebs.Throughput: 1000 MiB/s with 3000 IOPS"),
        (booted(ebs(Throughput=1000)), "Ebs.Throughput: 1000 MiB/s with 3000 IOPS"),
        (booted(ebs(Throughput=2001, Iops=80000)), "Throughput: 2001 MiB/s is outside"),
        (booted(ebs(Iops=80001)), "Iops: 80001 IOPS is outside"),
        (booted(ebs(Iops=2000)), "Iops: 2000 IOPS is outside"),
        (booted(ebs("/dev/sda1", 8, Iops=16000), image=None), "Iops: 16000 IOPS on 8 GiB"),
        (volume(Size=100, Throughput=1000), "Throughput: 1000 MiB/s"),
        (instance(ebs("/dev/sda1", Throughput=1000)), "1000 MiB/s"),
        (recipe(ebs("/dev/sda1", Throughput=1000)), "1000 MiB/s"),
    ],
)
def test_gp3_numbers_that_do_not_fit(found, place):
    assert_finds("UC-IMG-008", found, place=place)
    assert own_ids(found) == {"UC-IMG-008"}


@pytest.mark.parametrize(
    "more", [{"Throughput": UNKNOWN}, {"Throughput": 1000, "Iops": UNKNOWN}, {"VolumeType": UNKNOWN}]
)
def test_gp3_numbers_that_cannot_be_known(more):
    assert_not_judged("UC-IMG-008", booted(ebs(**more)))


FAST = {"Fast": {"Fn::Equals": [UNKNOWN, "fast"]}}


def test_rates_under_one_condition():
    rates = {"Throughput": {"Fn::If": ["Fast", 1000, NOTHING]}, "Iops": {"Fn::If": ["Fast", 4000, NOTHING]}}
    assert_passes("UC-IMG-008", template(conditions=FAST, Lt=lt(ebs(**rates))))


def test_image_and_root_name_under_one_condition():
    name, image = {"Fn::If": ["Fast", "/dev/sda1", "/dev/xvda"]}, {"Fn::If": ["Fast", UBUNTU, AMAZON]}
    assert_passes("UC-IMG-006", template(conditions=FAST, Lt=lt(ebs(name), image=image)))
    size, kind = {"Fn::If": ["Fast", 500, 30]}, {"Fn::If": ["Fast", AMAZON, PLAIN]}
    assert_passes("UC-IMG-007", template(conditions=FAST, Lt=lt(ebs(size=size), image=kind)))


# UC-IMG-009


@pytest.mark.parametrize(
    "found",
    [
        booted(ebs()),
        booted(ebs(Encrypted="true")),
        booted(ebs(), {"DeviceName": "/dev/sdb", "VirtualName": "ephemeral0"}),
        booted(ebs(), {"DeviceName": "/dev/sdc", "NoDevice": ""}),
        booted(),
    ],
)
def test_encrypted_volumes(found):
    assert_passes("UC-IMG-009", found)


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (booted(ebs(Encrypted=False)), "BlockDeviceMappings[0].Ebs.Encrypted: false: /dev/xvda"),
        (booted(ebs(Encrypted=None)), "Encrypted: absent"),
        (booted(ebs(), ebs("/dev/sdf", Encrypted=False), ebs("/dev/sdg", Encrypted=None)), "/dev/sdf, /dev/sdg not"),
    ],
)
def test_open_volumes(found, place):
    assert_finds("UC-IMG-009", found, place=place)
    assert own_ids(found) == {"UC-IMG-009"}


def test_encryption_that_cannot_be_known():
    assert_not_judged("UC-IMG-009", booted(ebs(Encrypted=UNKNOWN)))
    found = booted(ebs(Encrypted=UNKNOWN), ebs("/dev/sdf", Encrypted=False))
    assert_finds("UC-IMG-009", found, place="/dev/sdf")


# UC-IMG-017

KEY = {"Type": "AWS::KMS::Key", "Properties": {}}
ARN = "arn:aws:kms:us-east-1:111122223333:key/1111aaaa-22bb-33cc-44dd-555555eeeeee"


def fleets(*keys):
    made = {}
    for at, key in enumerate(keys):
        made[f"Lt{at}"] = lt(ebs(KmsKeyId=key))
        made[f"Fleet{at}"] = group(name=f"Lt{at}")
    return template(Key=KEY, Other=KEY, **made)


@pytest.mark.parametrize(
    "keys",
    [
        (None, None),
        (ARN, ARN),
        ({"Ref": "Key"}, {"Fn::GetAtt": ["Key", "Arn"]}),
        ({"Ref": "Key"},),
        (UNKNOWN, UNKNOWN),
        (ARN, ARN.rpartition("/")[2]),
        ("alias/train", "arn:aws:kms:us-east-1:111122223333:alias/train"),
    ],
)
def test_fleets_with_one_key(keys):
    assert_passes("UC-IMG-017", fleets(*keys))


@pytest.mark.parametrize(
    "keys",
    [(ARN, None), (None, {"Ref": "Key"}), ({"Ref": "Key"}, {"Ref": "Other"}), (ARN, {"Ref": "Key"}), (UNKNOWN, None)],
)
def test_fleets_with_unlike_keys(keys):
    assert_finds("UC-IMG-017", fleets(*keys), place="Lt1")
    assert own_ids(fleets(*keys)) == {"UC-IMG-017"}


def test_keys_that_cannot_be_known():
    assert_not_judged("UC-IMG-017", fleets(ARN, UNKNOWN))
    # An alias is a name of some key, and that of the service one of the default key.
    assert_not_judged("UC-IMG-017", fleets(ARN, "alias/train"))
    assert_not_judged("UC-IMG-017", fleets("alias/aws/ebs", None))


def test_a_launch_template_that_nobody_uses_is_no_fleet():
    found = fleets(ARN)
    found["Resources"]["Free"] = lt(ebs())
    assert_passes("UC-IMG-017", found)
