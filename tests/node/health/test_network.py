"""Losses on the network since the last look."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import efa, gpus
from ultracluster.node.health.network import STATE, parse_statistics


def counter(machine, card, name, count):
    machine.write(f"/sys/class/infiniband/{efa.name(card)}/ports/1/hw_counters/{name}", f"{count}\n")


def test_what_was_lost_before_the_first_look_is_no_fault(p5, found):
    counter(p5, 0, "rx_drops", 700)
    assert found()["network"].status == "pass"
    assert found()["network"].status == "pass", "counters that stand still are no fault either"


def test_growth_is_told_by_device_and_counter(p5, found):
    counter(p5, 3, "unresponsive_remote_events", 0)
    counter(p5, 3, "rx_bytes", 5)
    found()
    counter(p5, 3, "unresponsive_remote_events", 2)
    counter(p5, 3, "rx_bytes", 10**12)
    p5.command("ethtool", gpus.shell(gpus.ethtool(bw_in_allowance_exceeded=10, queue_0_tx_cnt=10**9)))
    result = found()["network"]
    assert (result.status, result.action) == ("fail", "monitor")
    name = f"{efa.name(3)}/unresponsive_remote_events"
    assert result.value == {name: 2, "ens32/bw_in_allowance_exceeded": 6}
    assert result.message == f"since the last look: ens32/bw_in_allowance_exceeded +6, {name} +2"
    assert found()["network"].status == "pass", "told once"


def test_counters_that_began_anew_are_no_loss(p5, found):
    counter(p5, 0, "rx_drops", 9)
    found()
    counter(p5, 0, "rx_drops", 1)
    assert found()["network"].status == "pass"


@pytest.mark.parametrize("text", ["{", "[1]", '{"x": "y"}', ""])
def test_a_broken_state_is_begun_anew(p5, found, text):
    p5.write(STATE, text)
    assert found()["network"].status == "pass"


def test_a_missing_tool_is_told_and_stops_no_launch(p5, found):
    (p5.root / "stubs/ethtool").unlink()
    assert (found()["network"].status, found()["network"].action) == ("fail", "monitor")


def test_output_without_counters_is_unknown(p5, found):
    p5.command("ethtool", "echo 'no stats available'")
    assert found()["network"].status == "unknown"


@given(st.dictionaries(st.from_regex(r"\A[a-z][a-z0-9_]{0,20}\Z"), st.integers(0, 2**64 - 1), min_size=1))
def test_every_counter_is_read(counters):
    text = "NIC statistics:\n" + "".join(f"     {name}: {count}\n" for name, count in counters.items())
    assert parse_statistics(text) == counters
