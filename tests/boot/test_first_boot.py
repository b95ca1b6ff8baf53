"""The first boot of a node, twice: on an image that lacks the driver, and on one that has everything."""

from __future__ import annotations

import json

from ultracluster.plan.node_program import node_program


def test_unfit_cloud_init_reads_the_document_from_the_metadata_service(unfit):
    assert unfit.looks["cloud"] == "aws"


def test_unfit_node_gives_itself_up_with_one_clear_line(unfit):
    lines = [line for line in unfit.looks["log"].splitlines() if "FAILED" in line]
    assert len(lines) == 1, unfit.looks["log"]
    assert "FAILED at health" in lines[0]
    assert "nvidia-smi is not on this node" in lines[0]
    assert unfit.hooks == ["ultracluster-launch: ABANDON"]
    assert json.loads(unfit.looks["boot"])["status"] == "failed"


def test_unfit_node_does_not_run_the_users_script(unfit):
    assert "the user was here" not in unfit.looks["log"]


def test_every_call_is_signed_as_aws_wants_it(moved):
    assert moved.refused == []


def test_document_is_clean(fit):
    assert "Valid" in fit.looks["schema"], fit.looks["schema"]
    assert "error" not in fit.looks["cloud-init"].lower()
    assert fit.looks["cloud-init"].startswith("status: done"), fit.looks["cloud-init"]


def test_programs_are_the_pinned_ones(fit):
    assert fit.looks["digest"].split()[0] == node_program().sha256


def test_node_reports_ready_once(fit):
    assert fit.hooks == ["ultracluster-launch: ABANDON", "ultracluster-launch: CONTINUE"]
    assert json.loads(fit.looks["boot"])["status"] == "ready"
    assert "FAILED" not in fit.looks["log"].partition("ready")[2]
    assert "the user was here" in fit.looks["log"]


def test_agent_gets_the_fleets_configuration(fit):
    assert "file:/opt/ultracluster/agent.json" in fit.looks["agent"]


def test_units_are_healthy(fit):
    assert fit.looks["failed"] == ""
    assert fit.looks["state"] == "running"
    assert fit.looks["units"].split() == ["active"] * 4


def test_units_are_what_systemd_understands(fit):
    assert fit.looks["verify"] == ""


def test_tuning_is_in_force(fit):
    assert fit.looks["tune"] == "status 0"
    assert "DefaultLimitMEMLOCK=infinity" in fit.looks["limits"]
    assert "DefaultLimitNOFILE=131072" in fit.looks["limits"]
    assert fit.looks["login"].split() == ["unlimited", "131072"]
    assert "apt-daily.timer" in fit.looks["masked"]
    assert "apt-daily" not in fit.looks["timers"]


def test_clock_follows_the_time_service(fit):
    assert "^* 169.254.169.123" in fit.looks["clock"]


def test_every_check_passes_or_does_not_apply(fit):
    report = json.loads(fit.looks["health"])
    bad = [result for result in report["results"] if result["status"] not in ("pass", "skipped")]
    assert bad == []
    passed = {result["check"] for result in report["results"] if result["status"] == "pass"}
    assert {"driver", "accelerators", "nvlink", "fabric_manager", "scratch", "clock", "disk"} <= passed
