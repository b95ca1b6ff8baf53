"""From a notice to the end of a node, with the real program, real processes and services on this machine."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from support.aws_endpoint import HANG
from support.imds_server import Faults
from ultracluster.node.watch import trainers

from .conftest import SPOT, eventually

SOON = '{"action": "terminate", "time": "%s"}'


def in_two_minutes(seconds: float = 120) -> str:
    return SOON % time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def completed(station) -> list[dict]:
    return station.cloud.of("CompleteLifecycleAction")


def test_an_interruption_signals_runs_hooks_tells_aws_and_lets_the_group_go_on(station):
    station.hook("20-second", 'echo "second $ULTRACLUSTER_NOTICE $ULTRACLUSTER_LEAVING" >>order')
    station.hook("10-first", 'echo "first, ${ULTRACLUSTER_SECONDS:0:2} s left" >>order; exit 3')
    station.watch()
    trainer, signals = station.trainer("time.sleep(1); sys.exit(0)")
    bystander, untouched = station.trainer(register=None)
    station.service.set(SPOT, in_two_minutes())
    eventually(lambda: completed(station))
    assert trainer.poll() == 0, "the group was told after the process had saved its work"
    assert bystander.poll() is None
    assert not untouched.exists()
    assert len(signals.read_text().split()) == 1
    assert (station.root / "order").read_text() == "first, 11 s left\nsecond spot-interruption 1\n"
    (event,) = station.cloud.of("AWSEvents.PutEvents")
    (entry,) = event["Entries"]
    detail = json.loads(entry["Detail"])
    assert (entry["Source"], detail["kind"], detail["leaving"]) == ("ultracluster.node", "spot-interruption", True)
    assert (detail["instance-id"], detail["group"]) == ("i-0123456789abcdef0", "demo-train")
    assert completed(station) == [
        {
            "AutoScalingGroupName": "demo-train",
            "LifecycleHookName": "ultracluster-terminate",
            "InstanceId": "i-0123456789abcdef0",
            "LifecycleActionResult": "CONTINUE",
        }
    ]
    assert [(line["hook"], line["result"]) for line in station.events("hook")] == [
        ("10-first", "status 3"),
        ("20-second", "status 0"),
    ]
    eventually(lambda: not station.events("hook-left-out"))
    time.sleep(1.2)
    assert len(completed(station)) == 1, "the hook is completed once"


def test_a_node_that_the_group_ends_is_not_held_for_five_minutes(station):
    station.settings["spot"] = False
    station.watch()
    trainer, _ = station.trainer()
    station.service.set("autoscaling/target-lifecycle-state", "Terminated")
    started = time.monotonic()
    eventually(lambda: completed(station))
    assert time.monotonic() - started < 8
    assert trainer.wait(5) == 0
    assert station.events("notice")[0]["notice"] == "termination"
    assert not [request for request in station.service.requests if "spot" in request.path], "no Spot, no look for it"


def test_two_notices_of_one_departure_signal_and_run_hooks_once(station):
    station.hook("10-drain", "echo drained >>order; sleep 1")
    station.watch()
    _, signals = station.trainer("pass")
    trainer, _ = station.trainer("time.sleep(3); sys.exit(0)")
    station.service.set(SPOT, in_two_minutes(10))
    station.service.set("autoscaling/target-lifecycle-state", "Terminated")
    eventually(lambda: len(station.events("lifecycle")) == 2, 40)
    assert trainer.poll() == 0
    assert (station.root / "order").read_text() == "drained\n"
    assert len(signals.read_text().split()) == 1, "a second signal could end the saving of the checkpoint"
    assert len(completed(station)) == 1, "the second completion found nothing waiting"


def test_a_process_that_does_not_end_holds_the_node_up_to_the_deadline(station):
    station.watch()
    station.trainer("pass")
    station.service.set(SPOT, in_two_minutes(9))
    eventually(lambda: completed(station))
    assert station.events("deadline")


def test_a_recommendation_runs_hooks_and_leaves_the_work_alone(station):
    station.hook("10-note", 'echo "$ULTRACLUSTER_NOTICE $ULTRACLUSTER_LEAVING" >>order')
    station.watch()
    trainer, signals = station.trainer()
    station.service.set("events/recommendations/rebalance", '{"noticeTime": "2026-11-05T08:22:00Z"}')
    eventually(lambda: station.events("hook"))
    eventually(lambda: station.cloud.of("AWSEvents.PutEvents"))
    assert (station.root / "order").read_text() == "rebalance 0\n"
    assert trainer.poll() is None
    assert not signals.exists()
    assert completed(station) == []


def test_a_process_that_registers_after_the_notice_is_signalled_too(station):
    station.watch()
    station.service.set(SPOT, in_two_minutes())
    eventually(lambda: station.events("notice"))
    trainer, _ = station.trainer()
    assert trainer.wait(5) == 0


def test_another_signal_than_term(station):
    station.watch()
    trainer, signals = station.trainer("sys.exit(10 if number == signal.SIGUSR1 else 0)", register="SIGUSR1")
    station.service.set(SPOT, in_two_minutes())
    assert trainer.wait(5) == 10
    assert signals.exists()


@pytest.mark.slow
def test_a_hook_that_hangs_is_killed_with_its_children_and_the_next_one_runs(station):
    station.hook("10-hangs", 'trap "" TERM; sleep 300 & echo $! >child; wait; sleep 300')
    station.hook("20-next", "echo next >>order")
    station.watch()
    station.service.set(SPOT, in_two_minutes(20))
    eventually(lambda: len(station.events("hook")) == 2, 40)
    first, second = station.events("hook")
    assert first["result"].startswith("killed after")
    assert second["result"] == "status 0"
    assert trainers.start_time(int((station.root / "child").read_text())) is None
    eventually(lambda: completed(station), 20)


def test_a_hook_that_anybody_may_write_is_left_out(station):
    station.hook("10-open", "echo open >>order")
    (station.hooks / "10-open").chmod(0o777)
    station.hook("20-backup.bak", "echo backup >>order")
    station.watch()
    station.service.set(SPOT, in_two_minutes())
    eventually(lambda: completed(station))
    assert not (station.root / "order").exists()
    assert [line["hook"] for line in station.events("hook-left-out")] == ["10-open"]


def test_a_notice_that_is_withdrawn_is_logged_and_forgotten(station):
    station.hook("10-slow", "touch begun; sleep 2")
    station.hook("20-never", "echo ran >>order")
    station.watch()
    _, signals = station.trainer("pass")
    station.service.set(SPOT, in_two_minutes())
    eventually(signals.exists)
    eventually((station.root / "run/ultracluster/notice.json").exists)
    eventually((station.root / "begun").exists)
    station.service.set(SPOT, None)
    eventually(lambda: station.events("withdrawn"))
    assert not (station.root / "run/ultracluster/notice.json").exists()
    eventually(lambda: station.events("stopped"))
    assert not (station.root / "order").exists(), "hooks that did not run yet stay out"
    assert completed(station) == []
    station.service.set(SPOT, in_two_minutes(100))
    eventually(lambda: len(signals.read_text().split()) == 2), "a new notice signals again"


@pytest.mark.parametrize("moment", ["signalled", "hook", "waiting", "lifecycle"])
def test_killed_at_any_moment_the_watcher_goes_on_and_does_nothing_twice(station, moment):
    station.hook("10-drain", "echo drained >>order")
    watcher = station.watch()
    _, signals = station.trainer("time.sleep(3); sys.exit(0)")
    station.service.set(SPOT, in_two_minutes())
    eventually(lambda: station.events(moment))
    watcher.send_signal(signal.SIGKILL)
    watcher.wait()
    station.watch()
    eventually(lambda: station.events("lifecycle"), 30)
    time.sleep(1.5)
    assert len(signals.read_text().split()) == 1
    assert (station.root / "order").read_text() == "drained\n"
    assert len(completed(station)) == 1


def test_a_handler_that_is_killed_is_started_again_and_takes_up_the_rest(station):
    station.hook("10-first", "echo first >>order")
    station.hook("20-slow", "echo slow >>order; exec sleep 2")
    station.watch()
    station.service.set(SPOT, in_two_minutes())
    eventually(lambda: (station.root / "order").exists() and "slow" in (station.root / "order").read_text())
    for pid in handlers(station):
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: completed(station))
    assert (station.root / "order").read_text().split() == ["first", "slow", "slow"], "the one that was cut short again"


def handlers(station) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if str(station.program).encode() in words and b"--handle" in words:
            found.append(int(entry.name))
    return found


def test_a_network_without_a_way_to_eventbridge_holds_no_hook_up(station):
    station.cloud.faults["AWSEvents.PutEvents"] = [HANG] * 2
    station.hook("10-drain", "echo drained >>order")
    station.watch()
    trainer, _ = station.trainer()
    station.service.set(SPOT, in_two_minutes())
    started = time.monotonic()
    eventually(lambda: completed(station))
    assert time.monotonic() - started < 5
    assert trainer.wait(5) == 0
    assert (station.root / "order").exists()
    eventually(lambda: station.events("event"))
    assert "no answer from events" in station.events("event")[0]["why"]


class TestServiceIll:
    @pytest.mark.parametrize(
        "fault", [Faults(down=True), Faults(status=503), Faults(slow_s=3)], ids=["down", "503", "slow"]
    )
    def test_an_outage_is_one_line_and_a_notice_after_it_is_seen(self, station, fault):
        station.watch()
        trainer, _ = station.trainer()
        station.service.faults = fault
        eventually(lambda: station.events("metadata-silent"))
        time.sleep(2)
        assert len(station.events("metadata-silent")) == 1
        station.service.set(SPOT, in_two_minutes())
        station.service.faults = Faults()
        assert trainer.wait(8) == 0
        assert station.events("metadata-back")[0]["failures"] >= 2

    def test_a_service_that_answers_slowly_still_gives_the_notice(self, station):
        station.service.faults = Faults(slow_s=0.4)
        station.watch()
        trainer, signals = station.trainer()
        noticed = time.time()
        station.service.set(SPOT, in_two_minutes())
        assert trainer.wait(8) == 0
        assert float(signals.read_text()) - noticed < 2.5

    def test_tokens_that_end_early_cost_nothing(self, station):
        station.watch()
        trainer, _ = station.trainer()
        station.service.expire_tokens()
        station.service.set(SPOT, in_two_minutes())
        assert trainer.wait(5) == 0
        assert station.events("metadata-silent") == []

    def test_an_outage_takes_no_notice_back(self, station):
        station.watch()
        _, signals = station.trainer("pass")
        station.service.set(SPOT, in_two_minutes())
        eventually(signals.exists)
        station.service.faults = Faults(down=True)
        eventually(lambda: station.events("metadata-silent"))
        station.service.faults = Faults()
        eventually(lambda: station.events("metadata-back"))
        assert station.events("withdrawn") == []
        assert len(signals.read_text().split()) == 1

    def test_aws_out_of_reach_is_said_and_holds_nothing_else_up(self, station):
        station.cloud.faults = {"CompleteLifecycleAction": [500] * 40, "AWSEvents.PutEvents": [500] * 40}
        station.watch()
        trainer, _ = station.trainer()
        station.service.set(SPOT, in_two_minutes())
        assert trainer.wait(5) == 0
        eventually(lambda: station.events("event"))
        assert station.events("event")[0]["failed"] == 1
