"""A Spot notice on a running node: training is told, saves its work, and the group hears that the node is done."""

from __future__ import annotations

import json
import time

import pytest

# What EC2 gives between the notice and the end of the instance.
NOTICE_S = 120
# The watcher looks twice a second and has one second by its own terms; software emulation on a busy machine gets more.
SIGNAL_S = 10
TRAINER = "systemd-run --unit=trainer --uid=nobody --property=KillMode=process /usr/local/bin/trainer"


@pytest.fixture
def trainer(node):
    """A training process that has registered itself."""
    node.output(f"rm -f /scratch/checkpoint.json; {TRAINER}")
    _until(lambda: "registered" in node.output("journalctl --unit=trainer --output=cat --no-pager"), 60)
    yield node
    node.run("systemctl stop trainer; systemctl reset-failed trainer")


@pytest.fixture
def interrupted(trainer, cloud):
    """After a Spot notice: when it was given, and what had been asked of AWS before."""
    before = len(cloud.aws.calls)
    cloud.imds.expire_tokens()  # the watcher has to renew its own
    started = time.time()
    ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started + NOTICE_S))
    cloud.imds.set("spot/instance-action", json.dumps({"action": "terminate", "time": ends}))
    yield started, before
    cloud.imds.set("spot/instance-action", None)
    _until(lambda: trainer.run("test -e /run/ultracluster/notice.json").status != 0, 60)


def test_spot_notice_within_two_minutes(interrupted, trainer, cloud):
    started, before = interrupted
    _until(lambda: _of(cloud, "CompleteLifecycleAction", before), NOTICE_S - (time.time() - started))
    (completed,) = _of(cloud, "CompleteLifecycleAction", before)
    assert completed.at - started < NOTICE_S
    assert completed.params["LifecycleHookName"] == "ultracluster-terminate"
    assert completed.params["LifecycleActionResult"] == "CONTINUE"
    assert completed.params["InstanceId"] == cloud.imds.values["meta-data/instance-id"]

    saved = json.loads(trainer.output("cat /scratch/checkpoint.json"))
    assert saved["steps"] > 0
    assert 0 <= saved["told_at"] - started + 0.5 < SIGNAL_S  # half a second for the difference of the clocks
    assert saved["told_at"] < completed.at + 0.5

    (event,) = _of(cloud, "AWSEvents.PutEvents", before)
    detail = json.loads(event.params["Entries"][0]["Detail"])
    assert detail["kind"] == "spot-interruption"
    assert detail["leaving"] is True


def test_watcher_stays_small(node):
    pid = node.output("systemctl show --value --property=MainPID ultracluster-watch")
    resident = int(node.output(f"awk '/^VmRSS/ {{print $2}}' /proc/{pid}/status"))
    assert resident < 15 * 1024


def _of(cloud, action, before):
    return [call for call in cloud.aws.calls[before:] if call.action == action and call.status == 200]


def _until(true, timeout_s):
    deadline = time.monotonic() + timeout_s
    while not (found := true()):
        assert time.monotonic() < deadline, f"not within {timeout_s:.0f} s"
        time.sleep(0.3)
    return found
