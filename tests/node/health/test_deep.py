"""Deep checks: DCGM's severities, collectives against their floors, EFA from a device to itself."""

from __future__ import annotations

import argparse

import pytest

from support import efa, gpus
from support.outputs import GIB, NCCOM, NCCOM_FAILED, dcgm3, dcgm4, nccl, neuron_ls, warning
from ultracluster.node import health, lustre
from ultracluster.node.health.collectives import floor_for, judge, parse_nccl
from ultracluster.node.host import NodeError, ToolMissing
from ultracluster.node.results import Verdicts
from ultracluster.plan.node_facts import node_facts


@pytest.fixture
def idle(p5):
    """A P5 on which the tools for deep checks are, and find nothing."""
    p5.command("dcgmi", gpus.shell(dcgm4()))
    p5.command("all_reduce_perf", gpus.shell(nccl([(GIB, 430, 0), (8 * GIB, 478.5, 0)])))
    p5.command("fi_pingpong")
    return p5


def deep(machine, name, level=None):
    return [each for each in health.deep(machine.node(), level=level).results if each.check == name]


def test_an_idle_healthy_node_passes(idle):
    report = health.deep(idle.node(), level=3)
    assert (report.status, report.healthy) == (0, True)
    assert idle.called("dcgmi") == ["dcgmi diag -r 3 -j -p pcie.gpu_nvlinks_expected_up=18"]
    assert "all_reduce over 1 nodes: 478.5 GB/s at 8 GiB; no floor is known" in report.json()


class TestDcgm:
    @pytest.mark.parametrize(
        ("severity", "action"),
        [
            (1, "monitor"),
            (2, "isolate"),
            (3, "isolate"),
            (4, "isolate"),
            (5, "monitor"),
            (6, "reset"),
            (0, "isolate"),
            (9, "isolate"),
        ],
    )
    def test_its_severities_lead_to_actions(self, idle, severity, action):
        idle.command("dcgmi", gpus.shell(dcgm4({"pcie": warning(severity, "GPU 3 has\n a slow link")})) + "exit 226")
        (result,) = deep(idle, "dcgm")
        assert (result.status, result.action) == ("fail", action)
        assert result.message == "pcie on GPU 3: GPU 3 has a slow link"

    def test_dcgm_3(self, idle):
        idle.command("dcgmi", gpus.shell("Successfully ran diagnostic.\n" + dcgm3()))
        assert deep(idle, "dcgm")[0].status == "pass"
        idle.command("dcgmi", gpus.shell(dcgm3("Fail")))
        (result,) = deep(idle, "dcgm")
        assert (result.action, result.message) == ("isolate", "Diagnostic on GPU 0: GPU 0 is slow")
        idle.command("dcgmi", gpus.shell(dcgm3("Warn")))
        assert deep(idle, "dcgm")[0].action == "monitor"

    @pytest.mark.parametrize(
        "body",
        [
            gpus.shell(dcgm4()[:300]),
            gpus.shell('{"DCGM Diagnostic": {"runtime_error": "no host engine"}}'),
            gpus.shell('{"DCGM Diagnostic": {"test_categories": []}}'),
            gpus.shell(dcgm4()) + "exit 1",
            "echo 'Error: unable to establish a connection to the specified host: localhost' ; exit 255",
        ],
    )
    def test_anything_else_is_unknown(self, idle, body):
        idle.command("dcgmi", body)
        assert [result.status for result in deep(idle, "dcgm")] == ["unknown"]

    def test_a_missing_tool_is_unknown(self, p5):
        report = health.deep(p5.node())
        assert {each.check for each in report.results if each.status == "unknown"} == {
            "dcgm",
            "collective",
            "efa_loopback",
        }
        assert (report.status, report.healthy, report.fit) == (1, False, True)

    @pytest.mark.parametrize(("version", "status"), [("4.2.3", "unknown"), ("4.5.2", "pass"), ("none", "pass")])
    def test_a_release_that_does_not_know_the_gpus_proves_nothing(self, idle, version, status):
        idle.metadata["instance-type"] = "p6-b300.48xlarge"
        idle.settings["types"] = {"p6-b300.48xlarge": {"efa": 16}}
        body = (
            f'if [[ $1 == --version ]]; then printf "\\ndcgmi  version: {version}\\n"; exit; fi\n{gpus.shell(dcgm4())}'
        )
        idle.command("dcgmi", body)
        assert [result.status for result in deep(idle, "dcgm")] == [status]

    def test_every_level_has_a_time_limit(self):
        levels = node_facts()["health"]["dcgm"]["levels"]
        limits = [levels[str(level)]["timeout_s"] for level in (1, 2, 3, 4)]
        assert limits == sorted(limits)
        assert levels["2"]["timeout_s"] == 900


class TestCollectives:
    FACTS = node_facts()["collectives"]

    def judged(self, rows, nodes, *, name="p5.48xlarge", collective="all_reduce"):
        return judge(
            parse_nccl(nccl(rows)),
            collective=collective,
            nodes=nodes,
            kind=node_facts()["types"][name],
            facts=self.FACTS,
            verdicts=Verdicts(node_facts()["health"]),
        )

    @pytest.mark.parametrize(("nodes", "share"), [(1, None), (2, 1.0), (3, 0.85), (7, 0.85), (8, 0.85), (512, 0.85)])
    def test_floors_by_number_of_nodes(self, nodes, share):
        assert floor_for(self.FACTS, "all_reduce", nodes) == share
        assert floor_for(self.FACTS, "alltoall", nodes) == (0.07 if nodes >= 8 else None)

    @pytest.mark.parametrize(
        ("name", "floor"),
        [("p4d.24xlarge", 42.5), ("p5.48xlarge", 340), ("p6-b300.48xlarge", 680), ("p6e-gb200.36xlarge", 170)],
    )
    def test_a_floor_is_a_share_of_what_the_fabric_carries(self, name, floor):
        assert self.judged([(8 * GIB, floor, 0)], 8, name=name).status == "pass"
        low = self.judged([(8 * GIB, floor - 0.5, 0)], 8, name=name)
        assert (low.status, low.action) == ("fail", "monitor"), "never taken out for bandwidth alone"

    def test_small_messages_prove_nothing(self):
        result = self.judged([(128 * 2**20, 289, 0)], 16)
        assert result.status == "unknown"
        assert "the floor holds from 8 GiB on" in result.message

    def test_wrong_values_isolate_whatever_the_bandwidth(self):
        result = self.judged([(GIB, 400, 3), (8 * GIB, 480, 0)], 8)
        assert (result.status, result.action) == ("fail", "isolate")

    def test_without_efa_there_is_no_line_rate(self):
        assert self.judged([(8 * GIB, 1, 0)], 8, name="inf2.48xlarge").status == "pass"

    @pytest.mark.parametrize("shape", [{}, {"root": False}, {"prefix": "[1,0]<stdout>:"}, {"prefix": "0: "}])
    def test_output_as_launchers_pass_it_on(self, shape):
        rows = parse_nccl(nccl([(GIB, 430.25, 0), (8 * GIB, 478.5, 1)], **shape))
        assert [(row.size, row.gbytes_per_s, row.wrong) for row in rows] == [(GIB, 430.25, 0), (8 * GIB, 478.5, 1)]

    def test_the_tool_is_found_where_the_dlami_has_it(self, idle):
        (idle.root / "stubs/all_reduce_perf").unlink()
        body = "#!/bin/bash\n" + gpus.shell(nccl([(8 * GIB, 470, 0)]))
        idle.write("/usr/local/cuda-12.8/efa/test-cuda-12.8/all_reduce_perf", body, mode=0o755)
        assert deep(idle, "collective")[0].status == "pass"

    def test_judging_a_run_over_many_nodes(self, p5, tmp_path, capsys):
        parser = argparse.ArgumentParser()
        health.arguments(parser)
        file = tmp_path / "out"
        file.write_text(nccl([(8 * GIB, 330, 0)]))
        assert health.run(parser.parse_args(["judge", str(file), "--nodes", "16"]), p5.node()) == 1
        assert capsys.readouterr().out == (
            "fail: all_reduce over 16 nodes: 330 GB/s at 8 GiB; 0.85 of the line rate of 400 GB/s is 340\n"
        )
        file.write_text(nccl([(8 * GIB, 370, 0)]))
        assert health.run(parser.parse_args(["judge", str(file), "--nodes", "16"]), p5.node()) == 0
        assert health.run(parser.parse_args(["judge", str(file), "--nodes", "0"]), p5.node()) == 2
        with pytest.raises(NodeError, match="cannot be read"):
            health.run(parser.parse_args(["judge", str(tmp_path / "none"), "--nodes", "2"]), p5.node())


class TestNeuron:
    @pytest.fixture
    def trn2(self, idle):
        idle.metadata["instance-type"] = "trn2.48xlarge"
        idle.settings["types"] = {"trn2.48xlarge": {"efa": 16}}
        idle.command("neuron-ls", gpus.shell(neuron_ls(16)))
        idle.write("/sys/devices/virtual/neuron_device/neuron0/stats/hardware/mem_ecc_uncorrected/total", "0")
        idle.command("nccom-test", gpus.shell(NCCOM))
        return idle

    def test_a_collective_over_all_logical_cores(self, trn2):
        (result,) = deep(trn2, "neuron_collective")
        assert result.message == "all-reduce over 64 cores: 102.36 GB/s"
        assert trn2.called("nccom-test") == ["nccom-test -r 64 -b 32MB -e 1GB -f 2 -d fp32 --check allr"]
        assert trn2.called("dcgmi") == []

    @pytest.mark.parametrize("body", [gpus.shell(NCCOM_FAILED), "echo 'Neuron DKMS Driver is not running!'; exit 1"])
    def test_one_that_fails(self, trn2, body):
        trn2.command("nccom-test", body)
        (result,) = deep(trn2, "neuron_collective")
        assert (result.status, result.action) == ("fail", "reboot")

    def test_a_missing_tool_is_unknown(self, trn2):
        (trn2.root / "stubs/nccom-test").unlink()
        assert deep(trn2, "neuron_collective")[0].status == "unknown"


class TestLoopback:
    def test_every_device_both_ways_without_the_short_cut(self, idle):
        idle.command("fi_pingpong", '[[ $FI_EFA_ENABLE_SHM_TRANSFER == 0 ]] && echo "$*" >>$STATE/pings')
        (result,) = deep(idle, "efa_loopback")
        assert result.message == "32 devices carry traffic to themselves"
        pings = idle.read("/state/pings").splitlines()
        assert len(pings) == 64
        assert sum(f"-d {efa.name(0)}-rdm " in ping for ping in pings) == 2
        assert sum(ping.endswith(" 127.0.0.1") for ping in pings) == 32

    def test_a_device_that_does_not_is_isolated(self, idle):
        idle.command(
            "fi_pingpong", f'[[ "$*" != *{efa.name(5)}-rdm*127.0.0.1 ]] || {{ echo "fi_cq_read: -5" >&2; exit 5; }}'
        )
        (result,) = deep(idle, "efa_loopback")
        assert (result.status, result.action) == ("fail", "isolate")
        assert result.message == f"{efa.name(5)}: fi_pingpong ended with status 5: fi_cq_read: -5"

    def test_without_libfabric_it_is_unknown(self, idle):
        (idle.root / "stubs/fi_info").unlink()
        assert deep(idle, "efa_loopback")[0].status == "unknown"


class TestLustre:
    @pytest.mark.parametrize(
        ("outcome", "status"),
        [
            ({"/fsx": {"sent": 9}}, "pass"),
            (NodeError("/fsx is not reached over EFA"), "fail"),
            (ToolMissing("lnetctl"), "unknown"),
        ],
    )
    def test_data_moves_the_counters_of_efa(self, idle, monkeypatch, outcome, status):
        idle.settings["mounts"] = [{"kind": "lustre", "path": "/fsx", "source": "x", "efa": True}]

        def verify(node):
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(lustre, "verify_efa", verify)
        assert deep(idle, "lustre_traffic")[0].status == status
