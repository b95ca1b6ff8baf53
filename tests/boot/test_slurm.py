"""Slurm of Debian's packages takes the generated topology, places jobs by it, and drains a node after a fault."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support import gpus
from support.machine import Machine
from support.slurm import running
from support.topology import fleet, records
from ultracluster.node import health
from ultracluster.node.health.output import metrics
from ultracluster.node.topology import arranged
from ultracluster.node.topology.output import render
from ultracluster.node.topology.records import parse_records
from ultracluster.node.topology.tree import Topology
from ultracluster.plan.node_program import node_program

XID79 = "79, GPU has fallen off the bus."


def instances() -> list[dict[str, object]]:
    """Three leaves of three P5, a fourth layer of two P6-B200 below, and one instance whose place is unknown."""
    deep = [
        {"InstanceId": f"i-000d{n}", "NetworkNodes": ["nn-top", "nn-mid000", "nn-deep", f"nn-deepleaf{n}"]}
        for n in range(2)
    ]
    return [*records(3, 3), *deep, {"InstanceId": "i-000ff"}]


@pytest.fixture(scope="module")
def folder():
    """A short path: a socket lies in it."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as made:
        yield Path(made)


@pytest.fixture(scope="module")
def topology() -> Topology:
    every = instances()
    names = "".join(f"{each['InstanceId']} q-{n}\n" for n, each in enumerate(every, 1))
    return arranged(parse_records(json.dumps({"Instances": every})), names)


@pytest.fixture(scope="module")
def slurm(folder, topology):
    with running(folder, topology.hosts, topology=render(topology, "tree"), plugin="topology/tree") as cluster:
        yield cluster


def shown(cluster):
    """`scontrol show topology`: switch to the hosts below it and its level."""
    found = {}
    for line in cluster.command("scontrol", "show", "topology").splitlines():
        words = dict(word.split("=", 1) for word in line.split())
        hosts = cluster.command("scontrol", "show", "hostnames", words["Nodes"]).split()
        found[words["SwitchName"]] = (int(words["Level"]), set(hosts))
    return found


def below(switch):
    """Hosts below a switch of ours."""
    return {*switch.hosts, *(host for child in switch.children for host in below(child))}


def height(switch):
    """Layers of switches below it."""
    return 1 + max(map(height, switch.children)) if switch.children else 0


def test_slurm_sees_the_tree_that_was_generated(slurm, topology):
    assert shown(slurm) == {switch.name: (height(switch), below(switch)) for switch in topology.switches}


def test_slurm_reads_host_lists_as_they_are_meant(slurm, topology):
    for line in render(topology, "tree").splitlines():
        name, hosts = re.match(r"SwitchName=(\S+) (?:Nodes=(\S+))?", line).groups()
        if hosts:
            wanted = next(switch.hosts for switch in topology.switches if switch.name == name)
            assert slurm.command("scontrol", "show", "hostnames", hosts).split() == wanted


@pytest.mark.parametrize("size", [2, 3])
def test_a_job_that_fits_on_a_leaf_gets_one(slurm, topology, size):
    placed = slurm.command("srun", f"-N{size}", "--switches=1", "printenv", "SLURMD_NODENAME").split()
    assert len(placed) == size
    assert any(set(placed) <= set(switch.hosts) for switch in topology.switches)


def test_a_job_over_everything_spans_the_tree(slurm, topology):
    placed = slurm.command("srun", f"-N{len(topology.hosts)}", "printenv", "SLURMD_NODENAME").split()
    assert set(placed) == set(topology.hosts)


def test_a_thousand_nodes_are_taken():
    built = arranged(parse_records(json.dumps(fleet(1024))))
    first, *others = built.hosts
    conf = render(built, "tree")
    with (
        tempfile.TemporaryDirectory(prefix="slurm-") as short,
        running(Path(short), [first], topology=conf, plugin="topology/tree", silent=others) as cluster,
    ):
        found = shown(cluster)
    assert {name: hosts for name, (_, hosts) in found.items()} == {each.name: below(each) for each in built.switches}


@pytest.fixture
def faulty(tmp_path):
    """A node of which a GPU has fallen off the bus, with the report that the checks leave."""
    machine = gpus.healthy(Machine(tmp_path / "node"))
    gpus.install(machine, journal=[gpus.xid_line(1, XID79)])
    report = health.light(machine.node())
    assert report.action == "replace"
    machine.write("/run/ultracluster/health.json", report.json())
    return machine


class TestDrain:
    @pytest.fixture
    def act(self, slurm, faulty, tmp_path):
        """The packed program, as the unit calls it."""
        program = tmp_path / "ultracluster-node"
        program.write_bytes(node_program().data)

        def run(*arguments):
            return subprocess.run(
                [sys.executable, "-I", program, "health", "act", *arguments],
                env={**slurm.environ, "ULTRACLUSTER_ROOT": str(faulty.root)},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )

        return run

    def test_the_node_is_drained_with_the_fault_as_its_reason_and_once_only(self, slurm, act):
        done = act("--drain", "--node-name", "q-5")
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert "DRAIN" in slurm.state("q-5")
        reasons = slurm.command("sinfo", "--noheader", "--list-reasons", "--format", "%N %200E")
        assert re.match(r"q-5 ultracluster: GPU 0000:54:00: XID 79: GPU fell off the bus", reasons)
        assert "DRAIN" not in slurm.state("q-4")
        placed = slurm.command("srun", "-N3", "--switches=1", "printenv", "SLURMD_NODENAME").split()
        assert "q-5" not in placed
        # Somebody looked at it and put it back: the same fault does not drain it again.
        slurm.command("scontrol", "update", "nodename=q-5", "state=resume")
        slurm.wait("q-5 in service", lambda: slurm.state("q-5") == {"IDLE"})
        done = act("--drain", "--node-name", "q-5")
        assert "done before for every fault" in done.stderr
        assert "DRAIN" not in slurm.state("q-5")

    def test_a_dry_run_drains_nothing(self, slurm, act):
        done = act("--drain", "--node-name", "q-6", "--dry-run")
        assert done.returncode == 0
        assert "drain: would act: ultracluster: GPU 0000:54:00" in done.stderr
        assert "DRAIN" not in slurm.state("q-6")

    def test_a_name_that_slurm_does_not_know_is_one_line(self, act):
        done = act("--drain", "--node-name", "nobody")
        assert done.returncode == 1
        assert "Node nobody not found" in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("fault", [None, XID79, '63, a "quoted" text with \\ and {braces}'])
def test_promtool_finds_nothing_wrong_with_the_metrics(tmp_path, fault):
    machine = gpus.healthy(Machine(tmp_path / "node"))
    gpus.install(machine, journal=[gpus.xid_line(1, fault)] if fault else [])
    written = metrics(health.light(machine.node()), now=1764540000.0)
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=written, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
