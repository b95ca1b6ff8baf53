"""The names that users import: each one resolves, is described, and costs nothing before it is used."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import ultracluster
from support.sources import project

CONSTRUCTS = {
    "ClusterDashboard",
    "ClusterNetwork",
    "DataRepository",
    "EfaPlacementGroup",
    "FleetAlarms",
    "LustreFileSystem",
    "SharedHome",
    "SpotTrainingFleet",
    "TrainingBucket",
    "TrainingFleet",
}
PURE = {
    "CapacityBlock",
    "OnDemand",
    "Reservation",
    "Spot",
    "catalog",
    "catalog_with_records",
    "instance_type",
    "load_cluster",
    "plan_cluster",
}


@pytest.mark.parametrize("name", ultracluster.__all__)
def test_every_exported_name_resolves(name: str) -> None:
    value = getattr(ultracluster, name)
    if isinstance(value, type) or callable(value):
        assert (value.__doc__ or "").strip(), f"{name} says nothing about itself"


def test_the_promised_names_are_exported() -> None:
    assert set(ultracluster.__all__) >= CONSTRUCTS | PURE


def test_exports_are_sorted_listed_and_offered_to_completion() -> None:
    assert len(set(ultracluster.__all__)) == len(ultracluster.__all__)
    assert set(ultracluster.__all__) <= set(dir(ultracluster))


def test_the_version_is_that_of_the_project() -> None:
    assert ultracluster.__version__ == project()["project"]["version"]


def test_an_unknown_name_is_an_attribute_error_like_anywhere_else() -> None:
    with pytest.raises(AttributeError, match="TrainingFleeet"):
        _ = ultracluster.TrainingFleeet


@pytest.mark.parametrize("name", sorted(PURE))
def test_a_pure_name_loads_no_cdk(name: str) -> None:
    code = f"import sys, ultracluster; ultracluster.{name}; sys.exit('jsii' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_exported_construct_is_the_one_of_its_module() -> None:
    fleet = ultracluster.TrainingFleet
    assert importlib.import_module(fleet.__module__).TrainingFleet is fleet
