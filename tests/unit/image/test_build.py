"""The plan of a tuned image: base, parts and build types, and what it refuses."""

from __future__ import annotations

import pytest

from ultracluster.findings import FindingsError
from ultracluster.plan.image_build import TunedImageRequest, check_tuned_image, plan_tuned_image
from ultracluster.plan.image_options import Al2023, Ami, Dlami, Ubuntu


def names(**changes):
    return [each.name for each in plan_tuned_image(TunedImageRequest(**changes), subject="image").components]


def ids(**changes):
    return [(each.rule_id, each.subject) for each in check_tuned_image(TunedImageRequest(**changes), subject="image")]


def test_parts_of_a_gpu_image_in_the_order_in_which_they_need_each_other():
    assert names(base=Dlami()) == [
        *("kernel", "programs", "nvidia", "gdrcopy", "efa", "lustre", "dcgm", "agent", "node-exporter"),
        *("tune", "test"),
    ]


def test_parts_of_a_neuron_image():
    assert names(base=Al2023(), vendor="aws") == [
        *("kernel", "programs", "neuron", "efa", "lustre", "agent", "node-exporter", "tune", "test")
    ]


def test_parts_can_be_left_out():
    assert "lustre" not in names(base=Dlami(), without=("lustre", "dcgm"))
    request = TunedImageRequest(base=Dlami(), without=("lustre",))
    text = plan_tuned_image(request, subject="image").components[-1].text
    assert "KERNEL_MODULES='nvidia efa gdrdrv'" in text


@pytest.mark.parametrize(
    ("base", "vendor", "architecture", "parent", "device"),
    [
        (Dlami(), "nvidia", "x86_64", "base-oss-nvidia-driver-gpu-amazon-linux-2023", "/dev/xvda"),
        (Dlami(), "nvidia", "arm64", "/ami/arm64/base-oss-nvidia-driver-gpu-amazon-linux-2023", "/dev/xvda"),
        (Dlami(os="ubuntu-24.04"), "aws", "x86_64", "/neuron/dlami/base/ubuntu-24.04", "/dev/sda1"),
        (Al2023(), "aws", "x86_64", "al2023-ami-kernel-default-x86_64", "/dev/xvda"),
        (Ubuntu(version="22.04"), "nvidia", "arm64", "/22.04/stable/current/arm64", "/dev/sda1"),
    ],
)
def test_base_by_its_public_parameter_with_the_root_name_of_its_system(base, vendor, architecture, parent, device):
    plan = plan_tuned_image(
        TunedImageRequest(base=base, vendor=vendor, architecture=architecture, without=("lustre",)), subject="image"
    )
    assert parent in plan.parent
    assert plan.root_device_name == device
    assert not plan.warnings


def test_types_without_accelerators_of_the_architecture_by_default():
    plan = plan_tuned_image(TunedImageRequest(base=Dlami(), architecture="arm64"), subject="image")
    assert all(name.startswith(("m7g", "m6g")) for name in plan.instance_types)
    asked = plan_tuned_image(TunedImageRequest(base=Dlami(), instance_types=("g6.xlarge",)), subject="image")
    assert asked.instance_types == ("g6.xlarge",)


def test_decisions_say_why():
    plan = plan_tuned_image(TunedImageRequest(base=Al2023()), subject="image")
    assert "newest kernel is booted before" in plan.decisions[0].because
    assert "stays" in plan_tuned_image(TunedImageRequest(base=Dlami()), subject="image").decisions[0].because


def test_all_faults_at_once():
    found = ids(base=Dlami(), opt_ins=("fast",), without=("kernel",), instance_types=("m7g.large",), root_gib=20)
    assert found == [
        ("UC-API-130", "image.opt_ins"),
        ("UC-API-130", "image.without"),
        ("UC-IMG-005", "image.instance_types"),
        ("UC-IMG-007", "image.root_gib"),
    ]


@pytest.mark.parametrize("change", [{"vendor": "amd"}, {"architecture": "riscv"}])
def test_a_vendor_or_architecture_that_nobody_knows(change):
    ((rule_id, subject),) = ids(base=Dlami(), **change)
    assert rule_id == "UC-API-130"
    assert subject == f"image.{next(iter(change))}"


def test_a_base_that_does_not_exist():
    with pytest.raises(FindingsError, match=r"no dlami image with ubuntu-22.04 for aws on x86_64; use al2023"):
        plan_tuned_image(TunedImageRequest(base=Dlami(os="ubuntu-22.04"), vendor="aws"), subject="image")


def test_an_image_is_no_base():
    given = Ami(ami_id="ami-0123456789abcdef0", os="al2023")
    assert ids(base=given) == [("UC-API-118", "image.base")]


def test_lustre_on_the_kernel_of_an_ubuntu_dlami_is_warned_of():
    plan = plan_tuned_image(TunedImageRequest(base=Dlami(os="ubuntu-22.04")), subject="image")
    assert [each.rule_id for each in plan.warnings] == ["UC-API-131"]
