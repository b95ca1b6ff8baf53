"""Images: one for every vendor, architecture and system, and the root device name that goes with it."""

from __future__ import annotations

import json
import re
from typing import get_args

import pytest

from support.fleets import ALL_TYPES, SUBJECT, ids
from ultracluster.facts.images import operating_systems, parameter_families, public_images, recommended_root_gib
from ultracluster.facts.instances import instance_type
from ultracluster.plan.image_options import OperatingSystem
from ultracluster.plan.images import Al2023, Ami, Dlami, SsmImage, Ubuntu, check_image, plan_image

AMI = "ami-0123456789abcdef0"
GPU_AL2023 = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id"
NEURON = "/aws/service/neuron/dlami/base/ubuntu-24.04/latest/image_id"


def check(image, *names):
    types = tuple(instance_type(name) for name in names or ("p5.48xlarge",))
    return check_image(image, instance_types=types, subject=SUBJECT)


def plan(image, *names):
    types = tuple(instance_type(name) for name in names or ("p5.48xlarge",))
    return plan_image(image, instance_types=types, subject=SUBJECT)


@pytest.mark.parametrize("facts", ALL_TYPES, ids=lambda facts: facts.name)
def test_the_default_image_fits_every_type(facts):
    decided = plan_image(Dlami(), instance_types=(facts,), subject=SUBJECT)
    assert decided.os == "al2023"
    assert decided.root_device_name == "/dev/xvda"
    assert decided.architecture == facts.architecture
    assert decided.has_accelerator_software
    assert ("neuron" in decided.ssm_parameter) == (facts.vendor == "aws")
    assert ("arm64" in decided.ssm_parameter) == (facts.architecture == "arm64")
    assert not decided.warnings


@pytest.mark.parametrize(
    ("image", "name", "parameter", "root"),
    [
        (Dlami(), "p5.48xlarge", GPU_AL2023, "/dev/xvda"),
        (
            Dlami(os="ubuntu-24.04"),
            "p6e-gb200.36xlarge",
            "/aws/service/deeplearning/ami/arm64/base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id",
            "/dev/sda1",
        ),
        (Dlami(os="ubuntu-24.04"), "trn2.48xlarge", NEURON, "/dev/sda1"),
        (
            Al2023(),
            "trn1.32xlarge",
            "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64",
            "/dev/xvda",
        ),
        (
            Ubuntu(version="22.04"),
            "p5.48xlarge",
            "/aws/service/canonical/ubuntu/server/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id",
            "/dev/sda1",
        ),
        (
            Ubuntu(),
            "p6e-gb200.36xlarge",
            "/aws/service/canonical/ubuntu/server/24.04/stable/current/arm64/hvm/ebs-gp3/ami-id",
            "/dev/sda1",
        ),
    ],
)
def test_public_images(image, name, parameter, root):
    decided = plan(image, name)
    assert (decided.ssm_parameter, decided.ami_id, decided.root_device_name) == (parameter, None, root)


def test_an_image_that_nobody_publishes_names_those_that_are():
    found = check(Dlami(os="ubuntu-22.04"), "trn2.48xlarge")
    assert ids(found) == ["UC-API-107"]
    assert found[0].fix == "use al2023, ubuntu-24.04"


def test_a_plain_image_is_a_warning():
    assert ids(plan(Ubuntu()).warnings) == ["UC-API-109"]
    assert plan(Ubuntu()).has_accelerator_software is False


def test_an_own_image_keeps_what_is_said_of_it():
    decided = plan(Ami(ami_id=AMI, os="ubuntu-22.04", root_device_name="/dev/xvda"))
    assert (decided.ami_id, decided.ssm_parameter, decided.root_device_name) == (AMI, None, "/dev/xvda")
    assert decided.is_ubuntu
    assert decided.has_accelerator_software is None


@pytest.mark.parametrize("image", [Ami(ami_id=AMI, os="al2023"), SsmImage(parameter="/own/train", os="al2023")])
def test_the_root_device_of_an_own_image_is_asked_for(image):
    found = check(image)
    assert ids(found) == ["UC-IMG-006"]
    assert found[0].subject == "fleets[0].image.root_device_name"
    assert "describe-images" in found[0].fix


@pytest.mark.parametrize("name", ["xvda", "/dev/", "/dev/sda 1"])
def test_a_root_device_that_is_none(name):
    assert ids(check(Ami(ami_id=AMI, os="al2023", root_device_name=name))) == ["UC-IMG-006"]


@pytest.mark.parametrize("ami_id", ["ami-123", "cr-0123456789abcdef0", "", "ami-0123456789ABCDEF0"])
def test_an_id_that_is_none(ami_id):
    assert ids(check(Ami(ami_id=ami_id, os="al2023", root_device_name="/dev/xvda"))) == ["UC-API-107"]


def test_what_the_deployment_fills_in_is_taken_as_it_is():
    assert check(Ami(ami_id="${Token[TOKEN.7]}", os="al2023", root_device_name="/dev/xvda")) == ()


def test_public_parameters_need_no_root_device():
    decided = plan(SsmImage(parameter=NEURON, os="ubuntu-24.04"), "trn2.48xlarge")
    assert decided.root_device_name == "/dev/sda1"
    assert decided.recommended_root_gib == recommended_root_gib("dlami")


def test_a_pinned_parameter():
    assert check(SsmImage(parameter=f"{GPU_AL2023}:17", os="al2023")) == ()
    assert ids(check(SsmImage(parameter="resolve:ssm:/x", os="al2023"))) == ["UC-API-107"]


@pytest.mark.parametrize(
    ("parameter", "os", "name", "expected"),
    [
        (NEURON, "ubuntu-24.04", "p5.48xlarge", ["UC-API-108"]),
        (GPU_AL2023, "al2023", "trn2.48xlarge", ["UC-API-108"]),
        (GPU_AL2023, "al2023", "p6e-gb200.36xlarge", ["UC-IMG-005"]),
        (GPU_AL2023, "ubuntu-24.04", "p5.48xlarge", ["UC-IMG-006"]),
        (NEURON, "al2023", "trn2.48xlarge", ["UC-IMG-006"]),
        (
            "/aws/service/canonical/ubuntu/server/noble/stable/current/arm64/hvm/ebs-gp3/ami-id",
            "ubuntu-22.04",
            "p5.48xlarge",
            ["UC-IMG-005", "UC-IMG-006"],
        ),
        ("/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-6.12-x86_64", "al2023", "p5.48xlarge", []),
    ],
)
def test_a_public_parameter_that_does_not_fit(parameter, os, name, expected):
    assert ids(check(SsmImage(parameter=parameter, os=os), name)) == expected


def test_a_system_that_no_node_runs():
    assert ids(check(Ami(ami_id=AMI, os="windows", root_device_name="/dev/sda1"))) == ["UC-API-107"]


def test_one_image_for_one_kind_of_type():
    assert check(Dlami(), "p5.48xlarge", "p5en.48xlarge") == ()
    assert ids(check(Dlami(), "p5.48xlarge", "trn2.48xlarge")) == ["UC-API-111"]
    assert ids(check(Dlami(), "p5.48xlarge", "p6e-gb200.36xlarge")) == ["UC-API-111"]


def test_the_data_file_is_consistent(root):
    document = json.loads((root / "constructs/ultracluster/facts/data/images.json").read_text())
    used = {row.source for row in (*public_images(), *parameter_families(), *operating_systems().values())}
    used |= {row["source"] for row in document["recommended_root_gib"].values()}
    assert used == set(document["sources"])
    assert all(row["url"].startswith("https://") for row in document["sources"].values())
    assert set(operating_systems()) == set(get_args(OperatingSystem))
    keys = [(row.kind, row.vendor, row.os, row.architecture) for row in public_images()]
    assert len(keys) == len(set(keys))
    for row in public_images():
        assert re.fullmatch(r"/aws/service/[a-z0-9/._-]+", row.ssm_parameter)
        assert any(row.ssm_parameter.startswith(family.prefix) for family in parameter_families())
        facts = next(item for item in ALL_TYPES if item.architecture == row.architecture)
        # The rules read the same name in the same way: architecture and system of every public image are recognised.
        found = check_image(SsmImage(parameter=row.ssm_parameter, os=row.os), instance_types=(facts,), subject="x")
        assert set(ids(found)) <= {"UC-API-108"}
