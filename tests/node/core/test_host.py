"""What every program of a node stands on: paths, settings, commands, retries."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ultracluster.node.host import Node, NodeError, ToolMissing, ToolTimeout


def test_paths_lie_below_the_root(machine):
    node = machine.node()
    assert node.path("/sys/block") == machine.root / "sys/block"
    assert Node().path("/sys/block").as_posix() == "/sys/block"
    assert Node(environ={"ULTRACLUSTER_ROOT": "/srv/root"}).path("/etc").as_posix() == "/srv/root/etc"


def test_settings_are_what_user_data_wrote_and_empty_without(machine):
    assert machine.node(settings=None).settings == {}
    machine.write("/etc/ultracluster/node.json", '{"schema": 1, "fleet": "train"}')
    assert machine.node(settings=None).settings["fleet"] == "train"


@pytest.mark.parametrize("text", ["{", "[]", '"x"', ""])
def test_broken_settings_are_one_line(machine, text):
    machine.write("/etc/ultracluster/node.json", text)
    with pytest.raises(NodeError, match=r"^\S*node\.json is no JSON.*; write it again$"):
        _ = machine.node(settings=None).settings


def test_a_source_tree_has_no_facts_and_says_so(machine):
    with pytest.raises(NodeError, match=r"facts/types\.json is missing beside the program; run the built"):
        _ = machine.node(facts=None).facts["types"]


class TestRun:
    def test_output_status_and_arguments_without_a_shell(self, machine):
        machine.command("tool", 'printf "%s\\n" "$@"; echo oops >&2; exit 3')
        done = machine.node().run("tool", "a b", "$HOME", check=False)
        assert (done.stdout, done.stderr, done.status) == ("a b\n$HOME\n", "oops\n", 3)

    def test_a_failure_is_its_last_line(self, machine):
        machine.command("tool", "echo first >&2; echo 'device is busy' >&2; exit 32")
        with pytest.raises(NodeError, match=r"^tool ended with status 32: device is busy$"):
            machine.node().run("tool")

    def test_a_missing_tool_has_its_own_error(self, machine):
        with pytest.raises(ToolMissing, match="nvidia-smi is not on this node"):
            machine.node().run("nvidia-smi")

    def test_tools_are_found_where_a_unit_has_no_path(self, machine):
        assert not machine.node().has("fi_info")
        machine.write("/opt/amazon/efa/bin/fi_info", "#!/bin/sh\necho here\n", mode=0o755)
        assert machine.node().run("fi_info").stdout == "here\n"

    def test_input_and_environment(self, machine):
        machine.command("tool", 'cat; echo "$COLOUR"')
        assert machine.node().run("tool", input="x\n", env={"COLOUR": "blue"}).stdout == "x\nblue\n"

    def test_a_hanging_command_is_killed_with_all_that_it_started(self, machine):
        machine.command("tool", 'sleep 300 & echo $! >"$STATE/child"; wait')
        started = time.monotonic()
        with pytest.raises(ToolTimeout, match=r"tool did not end within 0\.5 s and was killed"):
            machine.node().run("tool", timeout=0.5)
        assert time.monotonic() - started < 5
        child = int((machine.state / "child").read_text())
        assert gone(child)

    def test_a_command_that_left_a_child_with_its_output_open_does_not_hang_for_ever(self, machine):
        machine.command("tool", 'sleep 300 & echo $! >"$STATE/child"; exit 0')
        with pytest.raises(ToolTimeout):
            machine.node().run("tool", timeout=0.5)
        assert gone(int((machine.state / "child").read_text()))


def gone(pid: int) -> bool:
    """Whether a process ended, waiting for a moment; a zombie has ended."""
    for _ in range(50):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


def test_retries_stop_at_the_first_success_and_raise_the_last_error(machine):
    calls = []

    def third_time() -> int:
        calls.append(1)
        if len(calls) < 3:
            raise NodeError(f"attempt {len(calls)}")
        return 42

    assert machine.node().retry(5, 2, third_time) == 42
    assert machine.slept == [2, 2]
    calls.clear()
    with pytest.raises(NodeError, match="attempt 2"):
        machine.node().retry(2, 1, third_time)


class TestInstanceType:
    def test_catalogue_and_fleet_together(self, machine):
        machine.settings["types"] = {"p5.48xlarge": {"efa": 16, "lustre_efa": None}}
        found = machine.node().instance_type()
        assert (found["name"], found["accelerators"], found["efa"], found["lustre_efa"]) == ("p5.48xlarge", 8, 16, None)

    def test_another_type_than_the_fleet_has(self, machine):
        machine.settings["types"] = {"p4d.24xlarge": {"efa": 4}}
        with pytest.raises(NodeError, match=r"p5\.48xlarge is none of the types of this fleet.*p4d\.24xlarge"):
            machine.node().instance_type()

    def test_a_type_that_only_the_fleet_knows(self, machine):
        machine.metadata["instance-type"] = "p9.48xlarge"
        machine.settings["types"] = {"p9.48xlarge": {"accelerators": 8, "efa": 4}}
        assert machine.node().instance_type()["accelerators"] == 8

    def test_a_type_that_nobody_knows(self, machine):
        machine.metadata["instance-type"] = "p9.48xlarge"
        with pytest.raises(NodeError, match="not in the catalogue"):
            machine.node().instance_type()
