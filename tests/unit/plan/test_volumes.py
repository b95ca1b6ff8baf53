"""Root volumes: numbers that EBS takes, and IOPS that carry the throughput."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fleets import SUBJECT, ids
from ultracluster.facts.ebs import gp3
from ultracluster.plan.volumes import RootVolume, check_root_volume, plan_root_volume

sizes = st.integers(1, 65536)
iops = st.integers(3000, 80000)
throughputs = st.integers(125, 2000)


def check(**numbers):
    return check_root_volume(RootVolume(**numbers), subject=SUBJECT)


def is_taken_by_ebs(size_gib, iops, throughput_mibps):
    """The service's rules, written down once more."""
    return throughput_mibps * 4 <= iops and (iops <= 3000 or iops <= 500 * size_gib)


@given(sizes, st.none() | iops, st.none() | throughputs)
def test_a_plan_is_what_ebs_takes_or_there_is_a_finding(size, operations, throughput):
    volume = RootVolume(size_gib=size, iops=operations, throughput_mibps=throughput)
    found = check_root_volume(volume, subject=SUBJECT)
    if found:
        assert ids(found) == ["UC-IMG-008"]
        least = operations or max(3000, 4 * (throughput or 125))
        assert not is_taken_by_ebs(size, least, throughput or 125)
        return
    plan = plan_root_volume(volume, device_name="/dev/xvda", subject=SUBJECT)
    assert is_taken_by_ebs(plan.size_gib, plan.iops, plan.throughput_mibps)
    assert plan.size_gib == size
    assert operations in (None, plan.iops)
    assert throughput in (None, plan.throughput_mibps)


@given(throughputs)
def test_iops_left_out_are_the_fewest_that_carry_the_throughput(throughput):
    plan = plan_root_volume(RootVolume(throughput_mibps=throughput), device_name="/dev/xvda", subject=SUBJECT)
    assert plan.iops == max(3000, 4 * throughput)


def test_derived_iops_say_why():
    plan = plan_root_volume(RootVolume(throughput_mibps=1000), device_name="/dev/sda1", subject=SUBJECT)
    assert plan.decisions[0].value == "500 GiB at /dev/sda1, 4000 IOPS, 1000 MiB/s"
    assert "1000 MiB/s need 4000 IOPS" in plan.decisions[0].because


def test_defaults_are_what_comes_with_the_volume():
    plan = plan_root_volume(RootVolume(), device_name="/dev/xvda", subject=SUBJECT)
    assert (plan.size_gib, plan.iops, plan.throughput_mibps) == (500, 3000, 125)


@pytest.mark.parametrize(
    ("numbers", "place"),
    [
        ({"size_gib": 0}, "size_gib"),
        ({"size_gib": 65537}, "size_gib"),
        ({"iops": 2999}, "iops"),
        ({"iops": 80001}, "iops"),
        ({"throughput_mibps": 124}, "throughput_mibps"),
        ({"throughput_mibps": 2001, "iops": 80000}, "throughput_mibps"),
    ],
)
def test_numbers_out_of_range(numbers, place):
    found = check(**numbers)
    assert ids(found) == ["UC-IMG-008"]
    assert found[0].subject == f"fleets[0].root_volume.{place}"


@given(st.integers(1, 65536))
def test_most_iops_of_a_size(size):
    most = max(3000, min(80000, 500 * size))
    assert not check(size_gib=size, iops=most)
    if most < 80000:
        assert ids(check(size_gib=size, iops=most + 1)) == ["UC-IMG-008"]


def test_small_volume_for_derived_iops_names_the_size():
    found = check(size_gib=7, throughput_mibps=1000)
    assert ids(found) == ["UC-IMG-008"]
    assert "8 GiB or more" in found[0].fix


@pytest.mark.parametrize(("size", "expected"), [(75, ["UC-IMG-007"]), (300, [])])
def test_small_volume_for_a_large_image_is_a_warning(size, expected):
    volume = RootVolume(size_gib=size)
    plan = plan_root_volume(volume, device_name="/dev/xvda", recommended_size_gib=300, subject=SUBJECT)
    assert ids(plan.warnings) == expected


def test_limits_have_a_source():
    assert gp3().source == "ebs-gp3"
