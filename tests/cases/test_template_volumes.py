"""Cases C40, C41, C43, C44 over synthesized templates: root volumes, encryption, scanners that cannot read tokens."""

from __future__ import annotations

import json

import aws_cdk as cdk
import pytest

from support.compute import data_of, imported_network, p5
from support.nag import nag_report, unacknowledged
from support.templates import launch_template_data, resources
from ultracluster.findings import FindingsError
from ultracluster.network.cluster_network import ClusterNetwork
from ultracluster.plan.capacity import Spot
from ultracluster.plan.images import Al2023, Ami, Dlami, SsmImage, Ubuntu
from ultracluster.plan.volumes import RootVolume
from ultracluster.spot.spot_training_fleet import SpotTrainingFleet

ENV = cdk.Environment(account="111122223333", region="us-east-1")


@pytest.mark.parametrize(
    ("image", "device"),
    [
        (Ubuntu(version="22.04"), "/dev/sda1"),
        (Ubuntu(), "/dev/sda1"),
        (Dlami(os="ubuntu-22.04"), "/dev/sda1"),
        (Al2023(), "/dev/xvda"),
        (Dlami(os="al2023"), "/dev/xvda"),
        (Ami(ami_id="ami-0123456789abcdef0", os="ubuntu-24.04", root_device_name="/dev/nvme0n1"), "/dev/nvme0n1"),
    ],
)
def test_c40_the_root_size_stands_under_the_device_name_of_the_image(stack, synth, image, device):
    p5(stack, image=image, root_volume=RootVolume(size_gib=500))
    (mapping,) = data_of(synth(stack))["BlockDeviceMappings"]
    assert (mapping["DeviceName"], mapping["Ebs"]["VolumeSize"]) == (device, 500)


@pytest.mark.parametrize(
    "image", [Ami(ami_id="ami-0123456789abcdef0", os="ubuntu-24.04"), SsmImage(parameter="/images/own", os="al2023")]
)
def test_c40_the_root_device_of_an_own_image_has_to_be_named(stack, image):
    with pytest.raises(FindingsError, match=r"root_device_name: .*UC-IMG-006"):
        p5(stack, image=image)


def test_c41_throughput_above_the_ratio_is_refused(stack):
    with pytest.raises(FindingsError, match=r"4000.*UC-IMG-008"):
        p5(stack, root_volume=RootVolume(throughput_mibps=1000, iops=3000))


def test_c41_iops_that_were_left_out_follow_the_throughput(stack, synth):
    p5(stack, root_volume=RootVolume(throughput_mibps=1000))
    assert data_of(synth(stack))["BlockDeviceMappings"][0]["Ebs"]["Iops"] >= 4000


def test_c41_the_default_iops_carry_750(stack, synth):
    p5(stack, root_volume=RootVolume(throughput_mibps=750))
    volume = data_of(synth(stack))["BlockDeviceMappings"][0]["Ebs"]
    assert (volume["Throughput"], volume["Iops"]) == (750, 3000)


def test_c43_every_launch_template_encrypts_its_volume_whoever_uses_it(stack, synth):
    network = imported_network(stack)
    p5(stack, "OnDemand", network=network)
    p5(stack, "Spot", network=network, capacity=Spot())
    SpotTrainingFleet(stack, "Mixed", network=network, instance_types=["p5.48xlarge", "p5en.48xlarge"], count=2)
    template = synth(stack)
    found = launch_template_data(template)
    assert len(found) == len(resources(template, "AWS::EC2::LaunchTemplate")) == 4
    for data in found:
        assert [mapping["Ebs"]["Encrypted"] for mapping in data["BlockDeviceMappings"]] == [True]


def test_c43_a_mixed_policy_makes_no_noise_in_cdk_nag(make_app):
    app = make_app()
    stack = cdk.Stack(app, "Test", env=ENV)
    SpotTrainingFleet(
        stack, "Mixed", network=imported_network(stack), instance_types=["p5.48xlarge", "p5en.48xlarge"], count=2
    )
    assert unacknowledged(nag_report(app)) == []


def test_c44_default_stacks_leave_scanners_nothing_unknown(make_app):
    """Rules go from group to group; the one address block, that of the VPC, is a literal."""
    app = make_app()
    network_stack, compute = cdk.Stack(app, "Network", env=ENV), cdk.Stack(app, "Compute", env=ENV)
    network = ClusterNetwork(network_stack, "Network", availability_zones=["us-east-1a"])
    p5(compute, network=network)
    report = nag_report(app)
    assert unacknowledged(report) == []
    assert "EC23" not in json.dumps(report)
    assert "intrinsic" not in json.dumps(report)
