"""How notices are written, and what is made of those that are not written so."""

from __future__ import annotations

import calendar
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.facts.node_watch import watch_facts
from ultracluster.fleet import defaults
from ultracluster.node.watch import sources
from ultracluster.plan.node_facts import node_facts

NOW = calendar.timegm((2026, 11, 30, 12, 0, 0))
EVENT = {
    "NotBefore": "21 Jan 2027 09:00:43 GMT",
    "Code": "system-reboot",
    "Description": "scheduled reboot",
    "EventId": "instance-event-0d59937288b749b32",
    "NotAfter": "21 Jan 2027 09:17:23 GMT",
    "State": "active",
}


@given(st.integers(0, 4 * 10**9))
def test_both_ways_of_writing_a_time(moment):
    parts = time.gmtime(moment)
    assert sources.seconds(time.strftime("%Y-%m-%dT%H:%M:%SZ", parts)) == moment
    assert sources.seconds(time.strftime("%d %b %Y %H:%M:%S GMT", parts)) == moment


@given(st.text())
def test_anything_else_is_no_time_and_no_fault(text):
    assert sources.seconds(text) is None or text.strip()


@given(st.one_of(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps)))
def test_no_answer_of_the_service_is_a_fault_of_the_program(text):
    for read in (sources.spot, sources.rebalance, sources.lifecycle, sources.maintenance):
        assert isinstance(read(text), dict)
    assert len(sources.spot(text)) == 1, "what cannot be read still is a notice"


def test_interruptions():
    assert sources.spot(None) == {}
    text = '{"action": "terminate", "time": "2026-11-30T12:02:00Z"}'
    assert sources.spot(text) == {"spot-interruption terminate 2026-11-30T12:02:00Z": NOW + 120}
    assert sources.spot('{"action": "hibernate"}') == {"spot-interruption hibernate": None}


@pytest.mark.parametrize("state", ["InService", "Standby", "Detached", "Warmed:Stopped", "Warmed:Terminated", ""])
def test_states_that_are_no_end_of_a_running_node(state):
    assert sources.lifecycle(state) == {}


def test_the_end_that_the_group_decided():
    assert sources.lifecycle("Terminated") == {"termination": None}
    assert sources.lifecycle(None) == {}, "a node that is in no group"


def test_maintenance_that_is_planned_and_that_is_done():
    name = "maintenance system-reboot instance-event-0d59937288b749b32"
    when = sources.seconds("2027-01-21T09:00:43Z")
    assert sources.maintenance(json.dumps([EVENT])) == {name: when}
    assert sources.maintenance(json.dumps([{**EVENT, "State": "completed"}, {**EVENT, "State": "canceled"}])) == {}
    assert sources.maintenance("[]") == sources.maintenance(None) == {}


def made(machine, wall) -> dict[str, sources.Source]:
    return {source.kind: source for source in sources.sources(machine.node(), wall)}


def test_work_is_saved_when_maintenance_is_about_to_begin_and_not_before(machine):
    machine.metadata["events/maintenance/scheduled"] = json.dumps([EVENT])
    begins = sources.seconds("2027-01-21T09:00:43Z")
    now = [begins - 601]
    source = made(machine, lambda: now[0])["maintenance-start"]
    assert source.leaving
    assert not source.completes, "the node stays in its group"
    assert source.look(machine.node()) == {}
    now[0] += 1
    assert source.look(machine.node()) == {"maintenance-start system-reboot instance-event-0d59937288b749b32": begins}


class TestCapacityBlock:
    END = "2026-11-30T12:45:00Z"

    def source(self, machine, now, kind="p5.48xlarge"):
        machine.metadata["instance-type"] = kind
        machine.settings["capacity_block_end"] = self.END
        return made(machine, lambda: now[0])["capacity-block-end"]

    def test_ten_minutes_before_the_fleet_is_scaled_in(self, machine):
        now = [NOW - 1.0]
        source = self.source(machine, now)
        assert [source.look(machine.node()) for _ in range(3)] == [{}, {}, {}]
        now[0] = NOW
        assert source.look(machine.node()) == {}, "once could be a jump of the clock"
        assert source.look(machine.node()) == {f"capacity-block-end {self.END}": NOW + 600}

    def test_an_ultraserver_is_reclaimed_earlier(self, machine):
        now = [NOW - 34.9 * 60]
        source = self.source(machine, now, "p6e-gb200.36xlarge")
        source.look(machine.node())
        assert source.look(machine.node())

    def test_a_clock_that_jumps_and_comes_back_gives_no_notice(self, machine):
        now = [NOW - 3600.0]
        source = self.source(machine, now)
        for moment in (NOW + 9000, NOW - 3570, NOW + 9000, NOW - 3540):
            now[0] = moment
            assert source.look(machine.node()) == {}

    def test_an_end_that_cannot_be_read_is_never(self, machine):
        machine.settings["capacity_block_end"] = "soon"
        source = made(machine, lambda: NOW)["capacity-block-end"]
        assert [source.look(machine.node()) for _ in range(3)] == [{}, {}, {}]

    def test_no_block_no_look(self, machine):
        assert "capacity-block-end" not in made(machine, lambda: NOW)


def test_a_fleet_that_is_not_on_spot_is_not_asked_for_interruptions(machine):
    machine.settings["spot"] = False
    assert set(made(machine, lambda: NOW)) == {"termination", "maintenance", "maintenance-start"}


def test_the_facts_agree_with_the_fleet():
    rows = {row["kind"]: row for row in watch_facts()["notices"]}
    assert rows["termination"]["notice_s"] == defaults.TERMINATE_HOOK_TIMEOUT_S
    assert rows["spot-interruption"]["poll_s"] == 0.5
    assert node_facts()["types"]["p5.48xlarge"]["block_lead_s"] == 35 * 60
    assert all(row["poll_s"] <= row["notice_s"] / 5 for row in rows.values())
