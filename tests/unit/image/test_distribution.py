"""Regions, retention and the name of the parameter."""

from __future__ import annotations

import pytest

from ultracluster.plan.image_distribution import (
    ImageRegion,
    ImageRetention,
    check_parameter,
    check_regions,
    check_retention,
)

KEY = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"


def subjects(found):
    return [each.subject for each in found]


def test_regions_that_can_be_carried_out():
    regions = [
        ImageRegion(region="us-east-1", shared_with=("444455556666",)),
        ImageRegion(region="us-west-2", key_arn=KEY, shared_with=("444455556666",)),
        ImageRegion(region="eu-west-1"),
    ]
    assert list(check_regions(regions, home="us-east-1", subject="image")) == []


@pytest.mark.parametrize(
    ("regions", "wrong"),
    [
        ([ImageRegion(region="us-west-2"), ImageRegion(region="us-west-2")], "image.regions"),
        ([ImageRegion(region="us-west-2", shared_with=("444455556666",))], "image.regions[0].key_arn"),
        ([ImageRegion(region="us-west-2", copied_to=("444455556666",))], "image.regions[0].key_arn"),
        ([ImageRegion(region="us-east-1", key_arn=KEY)], "image.regions[0].key_arn"),
        ([ImageRegion(region="us-east-1", shared_with=("everyone",))], "image.regions[0]"),
    ],
)
def test_regions_that_cannot(regions, wrong):
    assert subjects(check_regions(regions, home="us-east-1", subject="image")) == [wrong]


def test_the_newest_images_always_stay():
    assert list(check_retention(ImageRetention(), subject="image")) == []
    assert ImageRetention().keep_newest >= 1


@pytest.mark.parametrize(
    "change", [{"keep_newest": 0}, {"keep_newest": 11}, {"after_days": 0}, {"spare_launched_within_days": 366}]
)
def test_numbers_that_image_builder_does_not_take(change):
    assert subjects(check_retention(ImageRetention(**change), subject="image")) == [
        f"image.retention.{next(iter(change))}"
    ]


@pytest.mark.parametrize("name", ["/images/train", "imagebuilder/x", "/imagebuilder/a b", "/imagebuilder/" + "a" * 100])
def test_names_that_image_builder_may_not_write(name):
    assert subjects(check_parameter(name, subject="image")) == ["image.parameter_name"]


def test_a_name_that_it_may():
    assert list(check_parameter("/imagebuilder/train/latest", subject="image")) == []
