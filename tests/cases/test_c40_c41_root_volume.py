"""Fault cases C40 and C41: the root volume under a wrong device name, gp3 throughput without IOPS."""

from __future__ import annotations

import pytest

from support.fleets import fleet, ids
from ultracluster.plan.fleet import check_fleet, plan_fleet
from ultracluster.plan.images import Al2023, Ami, Dlami, SsmImage, Ubuntu
from ultracluster.plan.volumes import RootVolume

AMI = "ami-0123456789abcdef0"


@pytest.mark.parametrize(
    ("image", "device"),
    [
        (Dlami(os="ubuntu-22.04"), "/dev/sda1"),
        (Dlami(os="ubuntu-24.04"), "/dev/sda1"),
        (Dlami(os="al2023"), "/dev/xvda"),
        (Ubuntu(version="22.04"), "/dev/sda1"),
        (Ubuntu(version="24.04"), "/dev/sda1"),
        (Al2023(), "/dev/xvda"),
        (Ami(ami_id=AMI, os="ubuntu-24.04", root_device_name="/dev/xvda"), "/dev/xvda"),
    ],
)
def test_c40_the_size_goes_to_the_root_device_of_the_image(image, device):
    plan = plan_fleet(fleet(image=image, root_volume=RootVolume(size_gib=500)), subject="Train")
    assert (plan.root_volume.device_name, plan.root_volume.size_gib) == (device, 500)


@pytest.mark.parametrize(
    "image", [Ami(ami_id=AMI, os="ubuntu-24.04"), SsmImage(parameter="/images/train", os="al2023")]
)
def test_c40_an_own_image_is_asked_for_its_root_device(image):
    found = check_fleet(fleet(image=image), subject="Train")
    assert ids(found) == ["UC-IMG-006"]
    assert found[0].subject == "Train.image.root_device_name"


def test_c41_throughput_beyond_the_iops_is_refused():
    found = check_fleet(fleet(root_volume=RootVolume(throughput_mibps=1000, iops=3000)), subject="Train")
    assert ids(found) == ["UC-IMG-008"]
    assert "4000" in found[0].fix
    assert "750" in found[0].fix


def test_c41_iops_left_out_carry_the_throughput():
    plan = plan_fleet(fleet(root_volume=RootVolume(throughput_mibps=1000)), subject="Train")
    assert plan.root_volume.iops >= 4000


def test_c41_750_need_nothing_more():
    plan = plan_fleet(fleet(root_volume=RootVolume(throughput_mibps=750)), subject="Train")
    assert (plan.root_volume.iops, plan.root_volume.throughput_mibps) == (3000, 750)
