"""The first boot: the order of the steps, what the group is told, and that it can be cut short anywhere."""

from __future__ import annotations

import signal
import time

import pytest

from support.aws_endpoint import LOST
from support.imds_server import Faults
from ultracluster.node import boot

STEPS = [step for step in boot.FIRST if step != "user-script"]
USER_SCRIPT = '#!/bin/bash\ncd "$ULTRACLUSTER_ROOT"\necho hello from the user\necho ran >>script\n'


def test_a_healthy_node_takes_every_step_and_goes_on(booting):
    booting.script(USER_SCRIPT)
    status, said = booting.boot("--first")
    assert status == 0, said
    assert booting.steps == STEPS == ["tune", "agent", "scratch", "mounts", "fabric", "health", "services"]
    assert booting.told == ["CONTINUE"]
    lines = booting.log.splitlines()
    assert "hello from the user" in lines
    names = [line.split("ultracluster: ")[1] for line in lines if "ultracluster: " in line]
    assert names == [*boot.FIRST, "ready", "hook ultracluster-launch: CONTINUE"]
    assert booting.boot("--first")[0] == 0
    assert len(booting.cloud.calls) == 1, "not even asked again"


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_fails_abandons_the_launch_with_one_line(booting, step):
    status, said = booting.boot("--first", BREAK=step)
    assert status == 1
    assert [line for line in said if "FAILED" in line] == [
        f"ultracluster boot: FAILED at {step}: {step} is broken; repair it"
    ]
    assert booting.log.count("FAILED") == 1
    assert booting.steps[-1] == step
    assert booting.told == ["ABANDON"]
    assert "ready" not in booting.log


def test_a_fault_of_ours_abandons_too_instead_of_leaving_the_node_to_wait(booting):
    status, said = booting.boot("--first", CRASH="mounts")
    assert status == 1
    assert any("FAILED at mounts: KeyError: 'mounts'" in line for line in said)
    assert booting.told == ["ABANDON"]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("#!/usr/bin/env bash\necho last words\nexit 7\n", "the user script ended with status 7; see its last lines"),
        ("echo no interpreter\n", "the user script cannot be run (Exec format error); begin it with a #! line"),
        ("#!/no/such/program\n", "the user script cannot be run (No such file or directory); begin it with a #! line"),
    ],
)
def test_a_user_script_that_fails_fails_the_launch(booting, script, why):
    booting.script(script)
    _, said = booting.boot("--first")
    assert f"ultracluster boot: FAILED at user-script: {why}" in said
    assert booting.told == ["ABANDON"]


def test_without_a_hook_nobody_is_told(booting):
    booting.settings["launch_hook"] = ""
    assert booting.boot("--first")[0] == 0
    assert booting.cloud.calls == []


def test_zone_rebalancing_is_suspended_where_it_is_asked_for(booting):
    booting.settings["suspend_zone_rebalancing"] = True
    assert booting.boot("--first")[0] == 0
    assert booting.cloud.of("SuspendProcesses") == [
        {"AutoScalingGroupName": "demo-train", "ScalingProcesses.member.1": "AZRebalance"}
    ]


def test_a_group_that_cannot_be_reached_leaves_the_hook_to_its_time_out(booting):
    booting.cloud.faults["CompleteLifecycleAction"] = [403] * 10
    started = time.monotonic()
    status, said = booting.boot("--first")
    assert status == 0
    assert time.monotonic() - started < 40
    assert [
        line for line in said if "hook ultracluster-launch not completed: CompleteLifecycleAction is refused" in line
    ]
    booting.cloud.faults.clear()
    assert booting.boot("--first")[0] == 0
    assert booting.told == ["CONTINUE"], "run again, it is made up for"
    assert booting.steps == STEPS, "and nothing else is done again"


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_the_next_boot_takes_it_up(booting, step):
    booting.script(USER_SCRIPT)
    with booting.start("--first", HANG=step) as process:
        while not booting.steps or booting.steps[-1] != step:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert booting.told == []
    assert booting.boot()[0] == 0, "the unit of the next boot, without --first"
    assert booting.told == ["CONTINUE"]
    assert booting.steps == [*STEPS[: STEPS.index(step) + 1], *STEPS]
    assert (booting.root / "script").read_text().split() == ["ran"], "once per instance"
    assert booting.boot()[0] == 0
    assert booting.steps[-3:] == ["later scratch", "later mounts", "later tune"]
    assert booting.told == ["CONTINUE"]


def test_killed_in_the_user_script_it_runs_again(booting):
    booting.script(
        '#!/bin/bash\ncd "$ULTRACLUSTER_ROOT"\necho ran >>script\n[[ -e once ]] || { touch once; exec sleep 300; }\n'
    )
    with booting.start("--first") as process:
        while not (booting.root / "once").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert booting.boot("--first")[0] == 0
    assert (booting.root / "script").read_text().split() == ["ran", "ran"]
    assert booting.told == ["CONTINUE"]


@pytest.mark.parametrize(("environment", "result"), [({}, "CONTINUE"), ({"BREAK": "health"}, "ABANDON")])
def test_killed_before_it_could_note_that_the_group_knows_the_hook_is_completed_once(booting, environment, result):
    booting.cloud.faults["CompleteLifecycleAction"] = [LOST]
    status, said = booting.boot("--first", **environment)
    assert booting.told == [result]
    assert any("was completed before" in line for line in said), "the call was carried out, its answer was lost"
    assert booting.boot("--first", **environment)[0] == status
    assert booting.told == [result]


def test_killed_while_the_agent_flushes_the_failure_stays_a_failure(booting):
    with booting.start("--first", BREAK="mounts", ULTRACLUSTER_FLUSH_SECONDS="300") as process:
        while "FAILED" not in (booting.log if (booting.root / "var/log/ultracluster/bootstrap.log").exists() else ""):
            time.sleep(0.01)
        time.sleep(0.3)
        process.send_signal(signal.SIGKILL)
    assert booting.boot("--first")[0] == 1
    assert booting.told == ["ABANDON"]
    assert booting.steps[-1] == "mounts", "nothing was tried again on a node that is given up"


def test_an_image_that_was_made_of_a_node_boots_as_a_new_one(booting):
    assert booting.boot("--first")[0] == 0
    booting.service.set("instance-id", "i-0fedcba9876543210")
    assert booting.boot("--first")[0] == 0
    assert booting.steps == STEPS * 2
    assert booting.told == ["CONTINUE", "CONTINUE"]


def test_a_state_file_that_was_cut_off_is_no_obstacle(booting):
    state = booting.root / "var/lib/ultracluster/boot.json"
    state.parent.mkdir(parents=True)
    state.write_text('{"instance": "i-01234')
    assert booting.boot("--first")[0] == 0
    assert booting.told == ["CONTINUE"]


def test_a_later_boot_tries_every_step_whatever_became_of_the_one_before(booting):
    assert booting.boot("--first")[0] == 0
    status, said = booting.boot(BREAK="later scratch")
    assert status == 1
    assert booting.steps[-3:] == ["later scratch", "later mounts", "later tune"]
    assert "ultracluster boot: FAILED at scratch: later scratch is broken; repair it" in said


def test_a_metadata_service_that_is_late_is_waited_for(booting):
    booting.service.faults = Faults(down=True, times=3)
    assert booting.boot("--first")[0] == 0
    assert booting.told == ["CONTINUE"]


def test_without_metadata_a_later_boot_still_brings_back_what_it_can(booting):
    assert booting.boot("--first")[0] == 0
    booting.service.faults = Faults(status=500)
    status, said = booting.boot()
    assert status == 1
    assert booting.steps[-3:] == ["later scratch", "later mounts", "later tune"]
    assert said[0].startswith("ultracluster boot: earlier runs are not known: the metadata service gives no answer")
    assert booting.told == ["CONTINUE"]


def test_without_metadata_a_first_boot_fails_with_one_line_and_the_next_one_takes_it_up(booting):
    booting.service.faults = Faults(status=500)
    status, said = booting.boot("--first")
    assert status == 1
    assert booting.steps == []
    (line,) = booting.log.splitlines()
    assert "ultracluster: FAILED at start: the metadata service gives no answer to" in line
    assert len(said) == 1
    booting.service.faults = Faults()
    assert booting.boot("--first")[0] == 0
    assert booting.told == ["CONTINUE"]


def test_two_boots_at_once_take_turns(booting):
    with booting.start("--first", HANG="scratch") as first:
        while "scratch" not in booting.steps:
            time.sleep(0.01)
        with booting.start() as unit:
            time.sleep(1)
            assert unit.poll() is None
            assert booting.steps[-1] == "scratch"
            first.send_signal(signal.SIGKILL)
            unit.communicate(timeout=60)
    assert booting.told == ["CONTINUE"]
