"""The program that feeds the agent and the agent's configuration publish the table between them, no more, no less."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.bootstrap import request
from support.imds_server import Faults, ImdsServer
from support.machine import FakeImds
from ultracluster.facts.agent_metrics import agent_facts
from ultracluster.facts.nvidia_xid import critical_xids, xid_actions
from ultracluster.node import NodeError, metrics
from ultracluster.node.imds import Imds
from ultracluster.node.metrics import kernel, loop, neuron, nvidia, spot, statsd
from ultracluster.plan.agent_config import AgentProfile, agent_configuration, metrics_settings, published
from ultracluster.plan.node_program import node_program
from ultracluster.plan.node_settings import agent_profile

PROFILES = [
    AgentProfile(vendor=vendor, efa=efa, nitro_version=nitro, spot=spotted)
    for vendor in ("nvidia", "aws")
    for efa in (False, True)
    for nitro in (3, 4)
    for spotted in (False, True)
]
AGENT_SCHEMA = json.loads(Path(__file__).with_name("agent.schema.json").read_text(encoding="utf-8"))
PREFIX = {"nvidia_gpu": "nvidia_smi_", "efa": "", "mem": "mem_", "disk": "disk_"}


class Wire(dict):
    """What was sent: values by metric, and their kinds."""

    def __init__(self):
        super().__init__()
        self.kinds: dict[str, str] = {}

    def send(self, name, value, kind="c"):
        self.setdefault(name, []).append(value)
        assert self.kinds.setdefault(name, kind) == kind or name == "accelerator_faults"


@pytest.fixture
def wire(monkeypatch):
    sent = Wire()
    for module in (statsd, kernel, nvidia, neuron, spot):
        monkeypatch.setattr(module, "send", sent.send)
    return sent


@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_the_agent_takes_the_configuration_and_aggregates_by_fleet(profile):
    config = agent_configuration(profile, log_group_name="/ultracluster/demo")
    jsonschema.validate(config, AGENT_SCHEMA)
    metrics = config["metrics"]
    assert metrics["aggregation_dimensions"] == [["AutoScalingGroupName"]] == [list(agent_facts().dimensions)]
    assert set(metrics["append_dimensions"]) >= {"AutoScalingGroupName"}
    assert len(metrics["append_dimensions"]) > 1, "the agent does not roll up a set of the same size"
    assert metrics["namespace"] == profile.namespace


def configured(profile):
    """Names that the plug-ins of the agent publish, and those that it expects by StatsD."""
    sections = dict(agent_configuration(profile, log_group_name="x")["metrics"]["metrics_collected"])
    expected = set(sections.pop("statsd")["drop_original_metrics"])
    plugins = {PREFIX[name] + one for name, section in sections.items() for one in section["measurement"]}
    for section in sections.values():
        assert section["drop_original_metrics"] == section["measurement"]
    return plugins, expected


REPORT = {
    "neuron_runtime_data": [
        {
            "pid": 1,
            "report": {
                "neuroncore_counters": {
                    "neuroncores_in_use": {"0": {"neuroncore_utilization": 80.0}, "1": {"neuroncore_utilization": 40.0}}
                },
                "execution_stats": {
                    "error_summary": {
                        "generic": 0,
                        "numerical": 5,
                        "transient": 9,
                        "model": 0,
                        "runtime": 1,
                        "hardware": 2,
                    }
                },
                "memory_used": {"neuron_runtime_used_bytes": {"host": 1, "neuron_device": 8 * 2**30}},
            },
        },
        {"pid": 2, "error": "gone", "report": {}},
    ],
    "system_data": {
        "neuron_hw_counters": {
            "neuron_devices": [
                {"neuron_device_index": 0, "mem_ecc_uncorrected": 3, "sram_ecc_uncorrected": 1, "mem_ecc_corrected": 7}
            ]
        }
    },
    "neuron_hardware_info": {
        "neuron_device_count": 2,
        "neuron_device_memory_size": 32 * 2**30,
        "neuroncore_per_device_count": 4,
        "logical_neuroncore_config": 2,
    },
}
GPUS = ["40000, 81559, 0", "81000, 81559, 2", "0, 81559, [N/A]"]


def fake_smi(gpus=tuple(GPUS), rows=("No, No", "Yes, No", "0, 0")):
    return lambda *command: list(rows if any("remapped" in word for word in command) else gpus)


@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_program_and_agent_publish_exactly_the_table(profile, wire, monkeypatch, tmp_path):
    settings = metrics_settings(profile)
    monkeypatch.setattr(nvidia, "run", fake_smi())
    for name in settings["sources"]:
        match name:
            case "kernel":
                if profile.vendor == "nvidia":
                    wire.send("gpu_xid_critical", 1)
                    wire.send("gpu_xid_other", 1)
            case "nvidia":
                nvidia.ask({})
            case "neuron":
                neuron.read(REPORT, {})
            case "spot":
                spot.look(FakeImds(dict.fromkeys(spot.NOTICES, "now")), set())
    sent = {*wire, *settings["counters"], "node_heartbeat"}
    plugins, expected = configured(profile)
    assert sent == expected
    assert plugins | expected == set(published(profile))
    kinds = {"gauge": "g", "counter": "c"}
    for name, kind in wire.kinds.items():
        assert kinds[published(profile)[name].kind] == kind


def test_reliability_counters_only_where_the_nitro_card_has_them():
    assert "efa_retrans_timeout_events" in published(PROFILES[6])
    older = agent_profile(request("p4d.24xlarge"))
    assert older.nitro_version == 3
    assert {name for name in published(older) if "retrans" in name or "unresponsive" in name} == set()
    mixed = agent_profile(request("p5.48xlarge", "p4d.24xlarge"))
    assert mixed.nitro_version == 3


def test_gpus_use_memory_errors_and_remapping(wire, monkeypatch):
    totals: dict = {}
    monkeypatch.setattr(nvidia, "run", fake_smi())
    nvidia.ask(totals)
    nvidia.ask(totals)
    assert wire["accelerator_memory_percent"] == [99.31, 99.31]
    assert wire["gpu_ecc_uncorrected"] == [2, 0]
    assert wire["gpu_row_remap_faults"] == [1, 1]
    assert sum(wire["accelerator_faults"]) == 2 + 1 + 1


def test_a_driver_that_answers_nothing_sends_zeros(wire, monkeypatch):
    monkeypatch.setattr(nvidia, "run", lambda *_: [])
    nvidia.ask({})
    assert {name: values for name, values in wire.items() if any(values)} == {}


def test_a_driver_that_complains_in_place_of_values_ends_nothing(wire, monkeypatch):
    complaint = "Unable to determine the device handle for GPU0000:53:00.0: Unknown Error"
    monkeypatch.setattr(nvidia, "run", fake_smi(gpus=(complaint, *GPUS)))
    nvidia.ask({})
    assert wire["accelerator_memory_percent"] == [99.31]
    assert wire["gpu_ecc_uncorrected"] == [2]


def test_neuron_counts_idle_cores_and_only_what_grew(wire):
    totals: dict = {}
    neuron.read(REPORT, totals)
    neuron.read(REPORT, totals)
    assert wire["neuroncore_utilization"] == [30.0, 30.0], "120 percent over 2 x 4 / 2 logical cores"
    assert wire["accelerator_memory_percent"] == [12.5, 12.5]
    assert wire["neuron_execution_errors"] == [3, 3], "neither NaN nor recoverable ones"
    assert wire["neuron_ecc_uncorrected"] == [4, 0]


def test_an_idle_neuron_node_reports_zero_instead_of_nothing(wire):
    neuron.read({**REPORT, "neuron_runtime_data": None}, {})
    assert wire["neuroncore_utilization"] == [0.0]
    assert wire["accelerator_memory_percent"] == [0.0]


@given(st.lists(st.integers(0, 10**6)))
def test_growth_is_never_negative_and_adds_up_until_a_reset(totals):
    known: dict = {}
    steps = [statsd.growth(known, "x", total) for total in totals]
    assert all(step >= 0 for step in steps)
    rising = sorted(totals)
    known = {}
    assert sum(statsd.growth(known, "x", total) for total in rising) == (rising[-1] if rising else 0)


def test_spot_notices_count_once_each(wire):
    with ImdsServer() as service:
        imds, seen = Imds(service.url, attempts=1), set()
        service.set("events/recommendations/rebalance", "{}")
        spot.look(imds, seen)
        service.set("spot/instance-action", '{"action": "terminate"}')
        spot.look(imds, seen)
        spot.look(imds, seen)
    assert wire == {"spot_rebalance_recommendations": [1], "spot_interruption_notices": [1]}


def test_a_metadata_service_that_is_silent_counts_nothing_and_is_no_error(wire):
    with ImdsServer(faults=Faults(status=503)) as service:
        spot.look(Imds(service.url, attempts=1), set())
    spot.look(Imds("http://127.0.0.1:9", attempts=1), set())
    assert wire == {}


def test_every_xid_has_an_action_and_the_critical_ones_take_the_node_out():
    actions = xid_actions()
    assert set(actions.values()) == {"ignore", "monitor", "reboot", "isolate", "replace"}
    assert {48, 79, 95} <= set(critical_xids())
    assert not {13, 31, 43, 63} & set(critical_xids())


def fake_journal(tmp_path, lines):
    folder = tmp_path / "bin"
    folder.mkdir()
    journal = folder / "journalctl"
    journal.write_text(
        '#!/bin/bash\necho "$*" >>"$CALLS"\n' + "".join(f"echo '{line}'\n" for line in lines) + "sleep ${HOLD:-0}\n"
    )
    journal.chmod(0o755)
    return folder


KERNEL = [
    "2026-11-30T10:00:00+0000 ip-10-0-0-9 kernel: NVRM: Xid (PCI:0000:53:00): 79, pid=1, GPU has fallen off the bus.",
    "2026-11-30T10:00:01+0000 ip-10-0-0-9 kernel: NVRM: Xid (PCI:0000:53:00): 31, pid=2, MMU Fault",
    "2026-11-30T10:00:02+0000 ip-10-0-0-9 kernel: eth0: link up",
    "2026-11-30T10:00:03+0000 ip-10-0-0-9 kernel: NVRM: Xid (PCI:0000:64:00): 48, pid=3, DBE",
]


def test_the_kernel_s_messages_are_kept_and_its_xids_counted(wire, monkeypatch, tmp_path):
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("PATH", str(fake_journal(tmp_path, KERNEL)), prepend=os.pathsep)
    settings = {
        "kernel_log": str(tmp_path / "kernel.log"),
        "critical_xids": list(critical_xids()),
        "seen": str(tmp_path / "seen"),
    }
    kernel.watch(settings)
    assert (tmp_path / "kernel.log").read_text().splitlines() == KERNEL
    assert wire == {"gpu_xid_critical": [1, 1], "accelerator_faults": [1, 1], "gpu_xid_other": [1]}
    kernel.watch(settings)
    first, second = (tmp_path / "calls").read_text().splitlines()
    assert first == "-kf -o short-iso --no-tail", "what happened since the boot counts"
    assert second == "-kf -o short-iso -n 0", "and not again after a restart of the service"


def test_the_shipped_program_really_sends_to_the_agent(tmp_path):
    """As the unit starts it: the packed file, the settings of the plan, a UDP socket in place of the agent."""
    program = tmp_path / "ultracluster-node"
    program.write_bytes(node_program().data)
    settings = metrics_settings(agent_profile(request()))
    settings |= {"kernel_log": str(tmp_path / "kernel.log"), "seen": str(tmp_path / "seen"), "period_s": 1}
    (tmp_path / "etc/ultracluster").mkdir(parents=True)
    (tmp_path / "etc/ultracluster/node.json").write_text(json.dumps({"metrics": settings}))
    folder = fake_journal(tmp_path, KERNEL)
    smi = folder / "nvidia-smi"
    smi.write_text('#!/bin/bash\n[[ $* == *remapped* ]] && echo "No, No" || echo "1000, 81559, 1"\n')
    smi.chmod(0o755)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as agent:
        agent.bind(("127.0.0.1", 0))
        agent.settimeout(20)
        environment = {
            "PATH": f"{folder}{os.pathsep}{os.defpath}",
            "STATSD_PORT": str(agent.getsockname()[1]),
            "ULTRACLUSTER_ROOT": str(tmp_path),
            "CALLS": str(tmp_path / "calls"),
            "HOLD": "60",
        }
        with subprocess.Popen(
            [sys.executable, str(program), "metrics"], env=environment, start_new_session=True
        ) as process:
            try:
                sums: dict[str, float] = defaultdict(float)
                while sums["node_heartbeat"] < 2 or not sums["gpu_xid_critical"]:
                    name, rest = agent.recv(512).decode().split(":")
                    sums[name] += float(rest.split("|")[0])
            finally:
                os.killpg(process.pid, signal.SIGTERM)
    assert sums["gpu_xid_critical"] == 2
    assert sums["gpu_ecc_uncorrected"] == 1, "one error, not one per look"
    assert {"accelerator_faults", "gpu_xid_other"} <= sums.keys()


def test_a_source_that_dies_ends_the_program_so_that_the_heartbeat_stops(wire, monkeypatch):
    monkeypatch.setattr(loop, "send", wire.send)
    monkeypatch.setattr(kernel, "watch", lambda settings: None)
    assert loop.main({"sources": ["kernel"], "counters": [], "period_s": 0}) == 1


def test_a_node_without_settings_says_so(machine):
    with pytest.raises(NodeError, match="have no metrics; user data writes them"):
        metrics.run(argparse.Namespace(), machine.node())
