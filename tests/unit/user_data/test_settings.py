"""The settings file of a node: what its programs are told, value by value."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from support.bootstrap import HOME, LUSTRE, LUSTRE_EFA, files_of, planned, request, settings_of, written_files
from ultracluster.facts.instances import instance_type
from ultracluster.plan.agent_config import metrics_settings
from ultracluster.plan.bootstrap import BootstrapInputs, user_data_requests
from ultracluster.plan.capacity import CapacityBlock
from ultracluster.plan.fleet import FleetRequest, plan_fleet
from ultracluster.plan.node_facts import node_facts
from ultracluster.plan.node_settings import agent_profile
from ultracluster.plan.user_data import node_type


def test_a_node_knows_its_fleet_its_hooks_and_its_types():
    settings = settings_of(terminate_hook_name="ultracluster-terminate")
    assert settings == {
        "schema": 1,
        "fleet": "train",
        "group": "demo-train",
        "log_group": "/ultracluster/demo-train",
        "mounts": [],
        "vendor": "nvidia",
        "types": {"p5.48xlarge": {"efa": 32, "lustre_efa": 8}},
        "launch_hook": "ultracluster-launch",
        "terminate_hook": "ultracluster-terminate",
        "scratch": True,
        "spot": False,
        "suspend_zone_rebalancing": False,
        "metrics": metrics_settings(agent_profile(request())),
    }


@pytest.mark.parametrize("name", ["scratch", "spot", "suspend_zone_rebalancing"])
@pytest.mark.parametrize("value", [False, True])
def test_switches_arrive(name, value):
    assert settings_of(**{name: value})[name] is value


def test_mounts_stand_in_their_order_with_the_values_of_the_deployment():
    plan = planned(mounts=(LUSTRE, HOME))
    document = plan.text({name: f"<{name}>" for name in plan.slot_names})
    lustre, home = json.loads(written_files(document)["/etc/ultracluster/node.json"])["mounts"]
    assert lustre == {
        "kind": "lustre",
        "path": "/fsx",
        "source": "<lustre_0_dns_name>@tcp:/<lustre_0_mount_name>",
        "options": "noatime,flock,_netdev",
        "efa": False,
    }
    assert home == {
        "kind": "efs",
        "path": "/home/shared",
        "source": "<efs_1_file_system_id>:/",
        "options": "_netdev,noresvport,tls,iam,accesspoint=<efs_1_access_point_id>",
        "efa": False,
    }


def test_lustre_over_efa_follows_the_slowest_type():
    def decided(*names):
        plan = planned(*names, mounts=(LUSTRE_EFA,))
        over = next(decision.value for decision in plan.decisions if decision.subject.endswith("lustre"))
        settings = settings_of(*names, mounts=(LUSTRE_EFA,))
        return over, settings["mounts"][0]["efa"], [row["lustre_efa"] for row in settings["types"].values()]

    assert decided("p5.48xlarge") == ("over EFA", True, [8])
    assert decided("p6-b300.48xlarge") == ("over EFA", True, [16])
    assert decided("p5.48xlarge", "p4d.24xlarge") == ("over TCP", False, [8, None])
    assert decided("trn2.48xlarge") == ("over TCP", False, [None])


def test_a_type_of_the_library_is_named_and_one_of_the_user_carries_all_its_facts():
    known = instance_type("p5.48xlarge")
    own = replace(known, name="p9.48xlarge")
    settings = settings_of(node_types=(node_type(known, efa=32), node_type(own, efa=16)))
    assert settings["types"]["p5.48xlarge"] == {"efa": 32, "lustre_efa": 8}
    facts = node_facts()["types"]["p5.48xlarge"]
    assert settings["types"]["p9.48xlarge"] == {**facts, "efa": 16, "lustre_efa": 8}


def test_a_type_that_the_user_describes_anew_is_the_user_s():
    own = replace(instance_type("p5.48xlarge"), accelerator_count=4)
    assert settings_of(node_types=(node_type(own, efa=32),))["types"]["p5.48xlarge"]["accelerators"] == 4


@pytest.mark.parametrize("end", [None, datetime(2030, 1, 15, 11, 30, tzinfo=UTC)])
def test_the_end_of_a_capacity_block_is_told_when_it_is_known(end):
    fleet = FleetRequest(
        name="train",
        instance_types=("p5.48xlarge",),
        availability_zones=("us-east-1a",),
        count=4,
        capacity=CapacityBlock(reservation_id="cr-0123456789abcdef0", end=end),
    )
    inputs = BootstrapInputs(auto_scaling_group_name="g", metrics_namespace="N", mounts=(), user_script=None)
    (made,) = user_data_requests(plan_fleet(fleet, subject="f"), inputs)
    assert made.capacity_block_end == ("" if end is None else "2030-01-15T11:30:00Z")
    assert made.terminate_hook_name == "ultracluster-terminate"
    settings = settings_of(capacity_block_end=made.capacity_block_end)
    assert settings.get("capacity_block_end") == (made.capacity_block_end or None)


def test_names_with_other_characters_survive():
    assert settings_of(fleet_name='Zürich "1"')["fleet"] == 'Zürich "1"'


def test_the_agent_publishes_into_the_log_group_and_namespace_of_the_fleet():
    agent = json.loads(
        files_of(log_group_name="/ultracluster/x", metrics_namespace="Llama")["/opt/ultracluster/agent.json"]
    )
    files = agent["logs"]["logs_collected"]["files"]["collect_list"]
    assert {file["log_group_name"] for file in files} == {"/ultracluster/x"}
    assert agent["metrics"]["namespace"] == "Llama"


@pytest.mark.parametrize(("nodes", "mounts", "known"), [(4, [LUSTRE], True), (5, [LUSTRE], False), (4, [HOME], False)])
def test_a_small_fleet_knows_that_it_is_one_where_it_has_lustre(nodes, mounts, known):
    assert ("nodes" in settings_of(nodes=nodes, mounts=tuple(mounts))) is known
