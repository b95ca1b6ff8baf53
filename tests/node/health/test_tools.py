"""No tool whose absence, failure or nonsense would let a node pass."""

from __future__ import annotations

import pytest

from ultracluster.node import health

TOOLS = ("nvidia-smi", "nv-fabricmanager", "systemctl", "journalctl", "chronyc", "fi_info", "ethtool")
FAULTS = {
    "says nothing": "",
    "fails": "echo 'it is broken' >&2; exit 9",
    "dies": "kill -9 $$",
    "says nonsense": "printf 'a\\0b\\xff:: <x> {\"\\n'",
}


def test_these_are_all_tools_that_light_checks_call(p5):
    health.light(p5.node())
    assert {call.split()[0] for call in p5.calls} == set(TOOLS)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_missing_tool_is_no_pass(p5, tool):
    (p5.root / "stubs" / tool).unlink()
    report = health.light(p5.node())
    assert report.status == 1
    assert any(tool in problem.message or "libfabric" in problem.message for problem in report.problems())


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_that_gives_no_answer_is_no_pass(p5, tool, fault):
    p5.command(tool, FAULTS[fault])
    report = health.light(p5.node())
    assert report.status == 1
    assert all("\n" not in problem.message for problem in report.problems())


def test_a_node_without_any_tool(p5):
    for tool in TOOLS:
        (p5.root / "stubs" / tool).unlink()
    report = health.light(p5.node())
    assert not report.healthy
    assert not report.fit, "no driver"
    passed = {result.check for result in report.results if result.status == "pass"}
    assert passed <= {"efa", "environment", "disk"}, "what sysfs and files tell"
