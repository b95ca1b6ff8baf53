"""Settings that a fleet asks for: known names that a first boot can bring into force, carried to its nodes."""

from __future__ import annotations

import json

import pytest

from support.fleets import fleet, ids
from ultracluster.facts.lustre_client import lustre_client
from ultracluster.facts.node_tuning import boot_opt_ins, least_nodes, left_alone, opt_ins, tuning_rows, tuning_sources
from ultracluster.plan.bootstrap import BootstrapInputs, user_data_requests
from ultracluster.plan.fleet import check_fleet, plan_fleet
from ultracluster.plan.node_settings import node_settings
from ultracluster.plan.user_data_parts import Shared, Text
from ultracluster.spec.fleet import FleetSpec


def settings(**changes):
    plan = plan_fleet(fleet(**changes), subject="Train")
    inputs = BootstrapInputs(
        auto_scaling_group_name="train", metrics_namespace="UltraCluster", mounts=(), user_script=None
    )
    (request,) = user_data_requests(plan, inputs)
    parts = node_settings(request)
    return json.loads("".join(part.text for part in parts if isinstance(part, Text | Shared)))


def test_every_row_has_a_reason_a_source_and_a_stage():
    ids_ = [row.id for row in tuning_rows()]
    assert len(set(ids_)) == len(ids_)
    for row in tuning_rows():
        assert row.reason
        assert row.stages
        assert set(row.stages) <= {"image", "boot"}
        assert row.source
        assert set(row.source) <= set(tuning_sources())
        assert row.confidence in {"high", "medium", "low"}


def test_a_default_is_never_a_guess():
    """What a single report says is applied to nobody unasked."""
    assert [row.id for row in tuning_rows() if row.confidence == "low" and row.opt_in is None] == []


def test_opt_ins_are_those_of_the_rows_and_each_says_what_for():
    assert {row.opt_in for row in tuning_rows() if row.opt_in} == set(opt_ins())
    assert all(opt_ins().values())


def test_what_needs_the_type_is_not_set_in_an_image():
    of_types = {"fabric_manager", "families", "min_memory_gib", "min_vcpus", "min_nodes"}
    assert [row.id for row in tuning_rows() if of_types & set(row.scope) and "image" in row.stages] == []


def test_what_takes_a_reboot_is_no_matter_of_a_fleet():
    assert "low-latency-c-states" not in boot_opt_ins()
    found = check_fleet(fleet(tuning=("low-latency-c-states",)), subject="Train")
    assert ids(found) == ["UC-API-130"]
    assert "TunedImage" in found[0].fix


def test_a_name_that_nobody_knows():
    found = check_fleet(fleet(tuning=("faster",)), subject="Train")
    assert [each.subject for each in found] == ["Train.tuning"]
    assert "large-memory-writeback" in found[0].fix


def test_groups_of_lustre_clients_are_asked_for_like_every_other_setting():
    """One list of names in the fleet; the table of settings and that of Lustre share none."""
    assert not set(lustre_client().groups) & set(opt_ins())
    assert check_fleet(fleet(tuning=lustre_client().groups), subject="Train") == ()
    assert settings(tuning=("sequential-readers", "head-node"))["tuning"] == ["head-node", "sequential-readers"]
    description = str(FleetSpec.model_fields["tuning"].description)
    assert [name for name in (*boot_opt_ins(), *lustre_client().groups) if name not in description] == []


def test_names_get_to_the_nodes():
    assert settings(tuning=("lustre-tcp-buffers", "large-memory-writeback"))["tuning"] == [
        "large-memory-writeback",
        "lustre-tcp-buffers",
    ]
    assert "tuning" not in settings()


@pytest.mark.parametrize("more", [0, 1])
def test_large_fleets_know_how_large_they_are(more):
    size = least_nodes() - 1 + more
    assert settings(count=size).get("nodes") == (size if more else None)


def test_what_is_left_alone_says_why():
    assert all(each.reason and each.source in tuning_sources() for each in left_alone())
