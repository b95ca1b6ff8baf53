"""The first boot of a node, on an image that has everything, and on one that lacks the driver."""

from __future__ import annotations

import json
import subprocess

import pytest

from support.bootstrap import cloud_config
from ultracluster.plan.node_program import node_program


def test_cloud_init_reads_the_document_from_the_metadata_service(fit):
    assert fit.looks["cloud"] == "aws"
    assert json.loads(fit.looks["cloud-init"])["v1"]["errors"] == []


def test_every_call_is_signed_as_aws_wants_it(moved):
    assert moved.refused == []


def test_document_has_the_schema_of_cloud_init(cloud, guest_root):
    document = "#cloud-config\n" + json.dumps(cloud_config(cloud.imds.values["user-data"]))
    # On a file system of its own, because the root is kept and shared.
    script = 'mount -t tmpfs none "$1/tmp"; cat >"$1/tmp/x"; chroot "$1" cloud-init schema --config-file /tmp/x'
    ran = subprocess.run(
        ["unshare", "--mount", "bash", "-c", script, "bash", guest_root / "root"],
        input=document,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "Valid" in ran.stdout


def test_programs_are_the_pinned_ones(fit):
    assert fit.looks["digest"].split()[0] == node_program().sha256


def test_node_reports_ready_once(fit):
    assert fit.hooks == ["ultracluster-launch: CONTINUE"]
    assert json.loads(fit.looks["boot"])["status"] == "ready"
    assert "FAILED" not in fit.looks["log"]
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
    assert fit.looks["masked"].split() == ["masked", "masked"]
    assert fit.looks["timers"].split() == ["inactive", "inactive"]


def test_clock_follows_the_time_service(fit):
    assert "^* 169.254.169.123" in fit.looks["clock"]


def test_every_check_passes_or_does_not_apply(fit):
    report = json.loads(fit.looks["health"])
    bad = [result for result in report["results"] if result["status"] not in ("pass", "skipped")]
    assert bad == []
    passed = {result["check"] for result in report["results"] if result["status"] == "pass"}
    assert {"driver", "accelerators", "nvlink", "fabric_manager", "scratch", "clock", "disk"} <= passed


@pytest.fixture(scope="module")
def unfit(instance, moved, cloud):
    """Log lines and hooks of a first boot on an image without the driver: the document's script runs once more."""
    cloud.imds.set("instance-id", "i-00000000000000bad")
    instance.output("mv /usr/bin/nvidia-smi /root/; cp /var/lib/ultracluster/boot.json /root/; rm -f /root/user-script")
    instance.output("wc -l </var/log/ultracluster/bootstrap.log >/root/lines")
    script = instance.run("ULTRACLUSTER_FLUSH_SECONDS=1 bash /var/lib/cloud/instance/scripts/part-*", timeout_s=240)
    lines = instance.output("tail -n +$(($(cat /root/lines) + 1)) /var/log/ultracluster/bootstrap.log").splitlines()
    state = json.loads(instance.output("cat /var/lib/ultracluster/boot.json"))
    user_script = instance.run("test -e /root/user-script").status == 0
    instance.output("mv /root/nvidia-smi /usr/bin/; mv /root/boot.json /var/lib/ultracluster/")
    cloud.imds.set("instance-id", "i-0123456789abcdef0")
    calls = [call for call in cloud.aws.of("CompleteLifecycleAction") if call["InstanceId"] == "i-00000000000000bad"]
    return script.status, lines, state, user_script, calls


def test_unfit_node_gives_itself_up_with_one_clear_line(unfit):
    status, lines, state, _, _ = unfit
    assert status == 1
    (line,) = [line for line in lines if "FAILED" in line]
    assert "FAILED at health" in line
    assert "nvidia-smi is not on this node" in line
    assert state["status"] == "failed"


def test_unfit_node_abandons_its_launch_once(unfit):
    *_, calls = unfit
    assert [(call["LifecycleHookName"], call["LifecycleActionResult"]) for call in calls] == [
        ("ultracluster-launch", "ABANDON")
    ]


def test_unfit_node_does_not_run_the_users_script(unfit):
    *_, user_script, _ = unfit
    assert not user_script
