"""What a reboot did not heal, and reports for machines and people."""

from __future__ import annotations

import argparse
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import gpus
from ultracluster.facts.node_health import actions
from ultracluster.facts.nvidia_xid import xid_actions
from ultracluster.node import health
from ultracluster.node.health.history import STATE, History
from ultracluster.node.health.output import metrics
from ultracluster.node.host import NodeError
from ultracluster.node.results import Report, Result, worst
from ultracluster.plan.node_facts import node_facts

FACTS = node_facts()["health"]
ECC = {3: {"dram_uncorrectable": "1"}}
DAY = 86400


def boot(machine, number):
    machine.write("/proc/sys/kernel/random/boot_id", f"0c1d5f2a-8d0e-4f6c-9b1a-{number:012d}\n")


def action(machine):
    return health.light(machine.node()).action


class TestEscalation:
    @pytest.fixture
    def faulty(self, p5):
        gpus.install(p5, xml=gpus.smi_xml(changed=ECC))
        return p5

    def test_uncorrected_memory_errors_reboot_and_again_replace(self, faulty):
        assert [action(faulty), action(faulty)] == ["reboot", "reboot"]
        boot(faulty, 2)
        report = health.light(faulty.node())
        assert report.action == "replace"
        assert report.because().endswith("1 uncorrected memory errors; again after a reboot")

    def test_another_gpu_is_another_fault(self, faulty):
        assert action(faulty) == "reboot"
        boot(faulty, 2)
        gpus.install(faulty, xml=gpus.smi_xml(changed={4: ECC[3]}))
        assert action(faulty) == "reboot"

    def test_a_gsp_timeout_reboots_and_again_replaces(self, p5):
        gpus.install(p5, journal=[gpus.xid_line(0, "119, pid=7, Timeout waiting for RPC from GSP")])
        assert action(p5) == "reboot"
        boot(p5, 2)
        assert action(p5) == "replace"

    def test_a_reset_that_did_not_help_becomes_a_reboot_then_a_replacement(self, p5):
        gpus.install(p5, nvlink=gpus.nvlink_status(inactive={3: [4]}))
        seen = []
        for number in range(3):
            boot(p5, number)
            seen.append(action(p5))
        assert seen == ["reset", "reboot", "reboot"]

    def test_a_mount_that_is_missing_again_is_no_broken_node(self, p5):
        p5.settings["mounts"] = [{"kind": "efs", "path": "/home", "source": "fs-2:/"}]
        assert action(p5) == "reboot"
        boot(p5, 2)
        assert action(p5) == "reboot"

    def test_an_image_of_a_faulty_node_starts_anew(self, faulty):
        assert action(faulty) == "reboot"
        boot(faulty, 2)
        faulty.metadata["instance-id"] = "i-0fffffffffffffff0"
        assert action(faulty) == "reboot"

    def test_old_sightings_do_not_count(self, p5):
        result = Result("gpu_memory", "fail", "reboot", "x", fault="ecc_uncorrected@GPU-1")
        for number, now, wanted in ((1, 0, "reboot"), (2, 31 * DAY, "reboot"), (3, 40 * DAY, "replace")):
            boot(p5, number)
            history = History(p5.node(), "i-1", now=lambda now=now: now)
            assert history.escalated([result], FACTS)[0].action == wanted
            history.write()

    @pytest.mark.parametrize(
        "text", ["{", "[]", '{"instance": "i-0123456789abcdef0", "faults": [1]}', '{"faults": {"a": 1}}', ""]
    )
    def test_a_broken_file_is_begun_anew(self, faulty, text):
        faulty.write(STATE, text)
        assert action(faulty) == "reboot"
        assert json.loads(faulty.read(STATE))["faults"]

    @given(
        st.recursive(
            st.none() | st.integers() | st.text(max_size=4),
            lambda inner: (
                st.lists(inner, max_size=2)
                | st.dictionaries(
                    st.sampled_from(["instance", "faults", "f", "boots", "last", "measures"]), inner, max_size=4
                )
            ),
        )
    )
    def test_a_file_of_any_shape_ends_in_no_traceback(self, tmp_path_factory, document):
        from support.machine import Machine

        machine = Machine(tmp_path_factory.mktemp("node"))
        faults = document if isinstance(document, dict) else {"f": document}
        machine.write(STATE, json.dumps({"instance": "i-1", "faults": faults}))
        history = History(machine.node(), "i-1")
        history.escalated([Result("c", "fail", "reboot", fault="f")], FACTS)
        history.take(["f"], "drain")
        history.write()
        assert History(machine.node(), "i-1").taken("f", "drain")


class TestScale:
    def test_one_scale_from_nothing_to_replacement(self):
        assert actions() == ("none", "monitor", "reset", "reboot", "isolate", "replace")
        assert set(FACTS["faults"].values()) <= set(actions())
        assert set(xid_actions().values()) <= {*actions(), "ignore"}
        assert set(FACTS["recurring"]["faults"]) <= set(FACTS["faults"])

    @given(st.lists(st.sampled_from(actions())))
    def test_the_heaviest_counts(self, found):
        heaviest = worst(found, actions())
        assert all(actions().index(each) <= actions().index(heaviest) for each in found)
        assert heaviest in found or not found

    @pytest.mark.parametrize(
        ("results", "fit", "healthy", "status"),
        [
            ((), True, True, 0),
            ((Result("a", "pass"), Result("b", "skipped")), True, True, 0),
            ((Result("a", "fail", "monitor"),), True, True, 1),
            ((Result("a", "unknown"),), True, False, 1),
            ((Result("a", "fail", "reset"),), False, False, 1),
            ((Result("a", "fail", "replace"), Result("b", "pass")), False, False, 1),
        ],
    )
    def test_when_a_node_is_fit_and_when_it_may_start(self, results, fit, healthy, status):
        report = Report(results, actions(), FACTS["unfit_from"], {})
        assert (report.fit, report.healthy, report.status) == (fit, healthy, status)


class TestOutput:
    def run(self, machine, *arguments):
        parser = argparse.ArgumentParser()
        health.arguments(parser)
        return health.run(parser.parse_args(arguments), machine.node())

    def test_text_has_one_line_per_result_and_a_verdict(self, p5, capsys):
        gpus.install(p5, xml=gpus.smi_xml(changed=ECC))
        assert self.run(p5, "--light") == 1
        lines = capsys.readouterr().out.splitlines()
        assert "fail    gpu_memory: GPU 0000:56:00: 1 uncorrected memory errors [reboot]" in lines
        assert lines[-1] == "i-0123456789abcdef0 p5.48xlarge: reboot (takes no work)"

    def test_a_healthy_node_says_so(self, p5, capsys):
        assert self.run(p5) == 0
        assert capsys.readouterr().out.splitlines()[-1] == "i-0123456789abcdef0 p5.48xlarge: healthy"

    def test_json_is_what_is_left_for_others(self, p5, capsys):
        self.run(p5, "--format", "json")
        printed = json.loads(capsys.readouterr().out)
        assert printed == json.loads(p5.read("/run/ultracluster/health.json"))
        assert (printed["schema"], printed["action"], printed["healthy"]) == (1, "none", True)
        assert {"check", "status", "action", "message", "value", "fault"} == set(printed["results"][0])

    def test_metrics_stand_where_the_exporter_looks(self, p5, capsys):
        self.run(p5)
        written = p5.read("/var/lib/node_exporter/textfile/ultracluster.prom")
        assert 'ultracluster_health_check{check="efa",status="pass"} 1\n' in written
        assert "ultracluster_health_fit 1\n" in written
        self.run(p5, "--textfile", "/srv/other.prom")
        assert "ultracluster_health_action 0\n" in p5.read("/srv/other.prom")
        (p5.root / "srv/other.prom").unlink()
        self.run(p5, "--textfile", "")
        assert list((p5.root / "srv").iterdir()) == []

    def test_no_room_is_one_line_after_the_report(self, p5, capsys):
        p5.write("/var/lib/node_exporter", "a file where a folder should be")
        with pytest.raises(NodeError, match="the report cannot be written"):
            self.run(p5)
        assert capsys.readouterr().out.endswith("healthy\n")

    def test_without_a_place_for_its_history_the_checks_still_count(self, p5):
        p5.write("/var/lib/ultracluster", "a file where a folder should be")
        gpus.install(p5, xml=gpus.smi_xml(changed=ECC))
        report = health.light(p5.node())
        assert report.action == "reboot"
        assert "earlier faults are not known" in report.because()

    def test_a_healthy_node_writes_no_history(self, p5):
        self.run(p5)
        assert not (p5.root / STATE.lstrip("/")).exists()

    @given(
        st.lists(
            st.builds(
                Result,
                st.text(max_size=8),
                st.sampled_from(["pass", "fail", "unknown", "skipped"]),
                st.sampled_from(actions()),
                st.text(max_size=8),
                st.none(),
                st.text(max_size=8),
            ),
            max_size=8,
        )
    )
    def test_metrics_are_one_sample_a_line_whatever_messages_say(self, results):
        report = Report(tuple(results), actions(), "reset", {})
        written = metrics(report, now=1764540000.4)
        lines = written.split("\n")
        assert lines[-1] == ""
        samples = [line for line in lines[:-1] if not line.startswith("#")]
        assert len(samples) == len(set(samples)), "no series twice"
        assert all(line.startswith("ultracluster_health_") and line.rsplit(" ", 1)[1].isdigit() for line in samples)
