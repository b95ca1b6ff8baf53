"""Measures after a fault: only when asked, only for what is heavy enough, once per fault."""

from __future__ import annotations

import argparse
import json

import pytest

from support import gpus
from ultracluster.node import health
from ultracluster.node.aws import Aws, AwsError
from ultracluster.node.host import NodeError

XID79 = "79, GPU has fallen off the bus."


@pytest.fixture
def calls(monkeypatch):
    """Calls to AWS, answered with success."""
    made = []
    monkeypatch.setattr(Aws, "query", lambda self, *arguments: made.append(arguments) or "")
    return made


@pytest.fixture
def act(p5, calls):
    """Check the node, then take measures."""
    p5.command("scontrol", 'if [[ $1 == show ]]; then echo "NodeName=$3 State=IDLE+CLOUD ThreadsPerCore=2"; fi')
    p5.command("kubectl")

    def run(*arguments, check=True):
        parser = argparse.ArgumentParser()
        health.arguments(parser)
        if check:
            health.run(parser.parse_args(["--light"]), p5.node())
        return health.run(parser.parse_args(["act", "--node-name", "q-1", *arguments]), p5.node(program="health"))

    return run


def fault(machine, index=1, text=XID79):
    gpus.install(machine, journal=[gpus.xid_line(index, text)])


def test_without_being_asked_nothing_is_done(p5, act, calls, capsys):
    fault(p5)
    assert act() == 2
    assert "ask for --unhealthy, --drain, --taint" in capsys.readouterr().err
    assert calls == []
    assert p5.called("scontrol") == p5.called("kubectl") == []


def test_a_healthy_node_is_left_alone(p5, act, calls, capsys):
    assert act("--unhealthy", "--drain", "--taint") == 0
    assert "drain: no fault leads to reset or worse" in capsys.readouterr().err
    assert calls == []
    assert p5.called("scontrol") == p5.called("kubectl") == []


def test_all_measures(p5, act, calls, capsys):
    fault(p5)
    assert act("--unhealthy", "--drain", "--taint", "--kubeconfig", "/root/admin.conf") == 0
    (call,) = calls
    assert call == (
        "autoscaling",
        "SetInstanceHealth",
        "2011-01-01",
        {"InstanceId": "i-0123456789abcdef0", "HealthStatus": "Unhealthy", "ShouldRespectGracePeriod": "false"},
    )
    assert p5.called("scontrol") == [
        "scontrol show node q-1 --oneliner",
        "scontrol update nodename=q-1 state=drain reason=ultracluster: GPU 0000:54:00: XID 79: GPU fell off the bus",
    ]
    taint = "ultracluster/unfit=true:NoSchedule"
    assert p5.called("kubectl") == [f"kubectl --kubeconfig /root/admin.conf taint node q-1 {taint} --overwrite"]
    assert "q-1 is drained: ultracluster: GPU 0000:54:00: XID 79" in capsys.readouterr().err


def test_once_per_fault(p5, act, capsys):
    fault(p5)
    act("--drain")
    act("--drain")
    assert len(p5.called("scontrol update")) == 1
    assert "drain: done before for every fault" in capsys.readouterr().err
    fault(p5, index=2)
    act("--drain")
    assert len(p5.called("scontrol update")) == 2, "another GPU is another fault"


def test_a_dry_run_does_nothing_and_leaves_the_measure_to_be_taken(p5, act, calls, capsys):
    fault(p5)
    assert act("--unhealthy", "--drain", "--taint", "--dry-run") == 0
    assert "drain: would act: ultracluster: GPU 0000:54:00" in capsys.readouterr().err
    assert calls == []
    assert p5.called("scontrol") == []
    act("--drain")
    assert len(p5.called("scontrol update")) == 1


def test_only_what_nothing_else_heals_replaces_the_instance(p5, act, calls):
    gpus.install(p5, xml=gpus.smi_xml(changed={0: {"dram_uncorrectable": "1"}}))
    assert act("--unhealthy", "--drain") == 0
    assert calls == []
    assert len(p5.called("scontrol update")) == 1
    assert act("--unhealthy", "--from", "reboot") == 0
    assert len(calls) == 1


def test_an_unknown_action_is_refused(p5, act):
    fault(p5)
    with pytest.raises(NodeError, match="no action 'explode'; one of none, monitor, reset"):
        act("--drain", "--from", "explode")


@pytest.mark.parametrize("state", ["IDLE+DRAIN", "DRAINED", "MIXED+DRAIN+CLOUD"])
def test_a_node_that_somebody_drained_keeps_their_reason(p5, act, state, capsys):
    fault(p5)
    p5.command("scontrol", f"echo NodeName=q-1 State={state} Reason=by hand")
    assert act("--drain") == 0
    assert p5.called("scontrol update") == []
    assert "q-1 is drained already" in capsys.readouterr().err


def test_a_measure_that_fails_is_tried_again_and_the_others_are_taken(p5, act, monkeypatch, capsys):
    fault(p5)
    p5.command("scontrol", "echo 'slurm_load_node error: Unable to contact slurm controller' >&2; exit 1")
    assert act("--drain", "--taint") == 1
    assert "drain: scontrol ended with status 1: slurm_load_node error" in capsys.readouterr().err
    assert len(p5.called("kubectl")) == 1

    def refuse(self, *arguments):
        raise AwsError("SetInstanceHealth is refused with status 403 AccessDenied: no permission", "AccessDenied")

    monkeypatch.setattr(Aws, "query", refuse)
    assert act("--unhealthy") == 1
    p5.command("scontrol", "[[ $1 != show ]] || echo State=IDLE")
    assert act("--drain") == 0
    assert len(p5.called("scontrol update")) == 1


def test_scontrol_is_found_where_schedulers_put_it(p5, act):
    fault(p5)
    (p5.root / "stubs/scontrol").unlink()
    body = '#!/bin/bash\necho "$*" >>"$STATE/slurm"\n[[ $1 != show ]] || echo State=IDLE\n'
    p5.write("/opt/aws/pcs/scheduler/slurm-25.05/bin/scontrol", body, mode=0o755)
    assert act("--drain") == 0
    assert p5.read("/state/slurm").splitlines()[1].startswith("update nodename=q-1 state=drain")


def test_a_long_reason_is_cut(p5, act):
    gpus.install(p5, journal=[gpus.xid_line(n, XID79) for n in range(8)])
    act("--drain")
    (call,) = p5.called("scontrol update")
    assert len(call.split("reason=")[1]) == 200


class TestReport:
    def test_it_comes_from_the_last_run_or_from_a_file(self, p5, act, tmp_path):
        fault(p5)
        act("--drain", "--dry-run")
        report = json.loads(p5.read("/run/ultracluster/health.json"))
        report["results"] = [each for each in report["results"] if each["check"] == "xid"]
        p5.write("/srv/report.json", json.dumps(report))
        (p5.root / "run/ultracluster/health.json").unlink()
        assert act("--drain", "--report", "/srv/report.json", check=False) == 0

    @pytest.mark.parametrize("text", [None, "", "{", "[]", '{"results": 7}'])
    def test_anything_else_is_refused_in_one_line(self, p5, act, text):
        if text is not None:
            p5.write("/run/ultracluster/health.json", text)
        with pytest.raises(NodeError, match="is no report of the checks"):
            act("--drain", check=False)

    def test_garbled_results_are_passed_over(self, p5, act):
        p5.write(
            "/run/ultracluster/health.json",
            json.dumps({"results": [7, {}, {"status": "fail", "action": "x", "fault": "y"}]}),
        )
        assert act("--drain", check=False) == 0
        assert p5.called("scontrol") == []
