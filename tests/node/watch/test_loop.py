"""The loop with a clock of the test: when it looks, how long it waits, what a jump of the time of day does."""

from __future__ import annotations

import json
import time
from collections import Counter

import pytest

from support.machine import FakeImds
from ultracluster.node.imds import ImdsError
from ultracluster.node.watch import loop
from ultracluster.node.watch.state import State

from .conftest import SPOT


class Imds(FakeImds):
    """Metadata that take their time, and may fail."""

    def __init__(self, values, clock):
        super().__init__(values)
        self.clock, self.fails, self.takes, self.asked = clock, False, 0.0, []

    def get(self, path):
        self.asked.append((self.clock.now, path))
        self.clock.now += self.takes
        if self.fails:
            raise ImdsError("silent")
        return super().get(path)


class Clock:
    """Seconds that only sleeping moves."""

    def __init__(self):
        self.now, self.wall = 1000.0, 1_796_000_000.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Run:
    """A watcher that starts nothing."""

    def __init__(self, machine, monkeypatch):
        self.clock = Clock()
        self.imds = Imds(machine.metadata, self.clock)
        self.node = machine.node(imds=self.imds, clock=self.clock, sleep=self.clock.sleep)
        monkeypatch.setattr(loop.Watcher, "_handle", lambda self: None)
        self.watcher = loop.Watcher(self.node, lambda: self.clock.wall)

    def until(self, seconds):
        end = self.clock.now + seconds
        while self.clock.now < end:
            self.clock.sleep(max(self.watcher.tick() - self.clock.now, 0))

    @property
    def notices(self):
        return State(self.node).notices


@pytest.fixture
def watched(machine, monkeypatch):
    machine.settings |= {"spot": True, "group": "demo"}
    return Run(machine, monkeypatch)


def test_each_source_has_its_period(watched):
    watched.until(120)
    counts = Counter(path for _, path in watched.imds.asked)
    assert abs(counts[SPOT] - 240) <= 2
    assert abs(counts["autoscaling/target-lifecycle-state"] - 60) <= 2
    assert abs(counts["events/recommendations/rebalance"] - 24) <= 2
    assert 2 <= counts["events/maintenance/scheduled"] <= 6


def test_a_slow_service_never_puts_more_than_one_other_look_between_two_for_an_interruption(watched):
    watched.imds.takes = 0.9
    watched.until(120)
    paths = [path for _, path in watched.imds.asked]
    gaps = [b - a for a, b in zip(indexes(paths), indexes(paths)[1:], strict=False)]
    assert max(gaps) <= 2


def indexes(paths):
    return [index for index, path in enumerate(paths) if path == SPOT]


def test_a_silent_service_is_asked_less_and_less_and_at_once_when_it_is_back(watched, capsys):
    watched.until(10)
    watched.imds.fails = True
    started = len(watched.imds.asked)
    watched.until(60)
    assert len(watched.imds.asked) - started < 25, "about every four seconds"
    watched.imds.fails = False
    watched.imds.values[SPOT] = "{}"
    watched.until(4.5)
    assert list(watched.notices) == ["spot-interruption terminate"]
    events = [json.loads(line)["event"] for line in capsys.readouterr().out.splitlines()]
    assert events == ["watching", "metadata-silent", "metadata-back", "notice"]


@pytest.mark.parametrize(("jump", "seconds"), [(0, 120), (-40, 120), (60, 60), (3600, 120), (-3600, 120)])
def test_a_wrong_time_of_day_never_takes_the_two_minutes_away(watched, jump, seconds):
    when = watched.clock.wall + 120
    watched.clock.wall += jump
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
    watched.imds.values[SPOT] = json.dumps({"action": "terminate", "time": stamp})
    watched.until(1)
    (notice,) = watched.notices.values()
    assert notice["deadline"] - watched.clock.now == pytest.approx(seconds, abs=1.1)


def test_a_jump_after_the_notice_moves_no_deadline(watched):
    watched.imds.values[SPOT] = "{}"
    watched.until(1)
    before = dict(watched.notices)
    watched.clock.wall += 86400
    watched.until(5)
    assert watched.notices == before


def test_a_state_file_that_cannot_be_read_is_begun_again(watched, machine):
    machine.write("/run/ultracluster/notice.json", "{")
    assert State(watched.node).notices == {}
