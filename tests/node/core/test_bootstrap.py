"""What user data carries brings the programs onto a node, whole and with the pinned digest, or gives the node up."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.aws_endpoint import CLOSE, LOST, TRUNCATE
from support.imds_server import Faults
from ultracluster.node import bootstrap
from ultracluster.plan.bare_source import bare_source

DATA = os.urandom(300_000)
DIGEST = hashlib.sha256(DATA).hexdigest()
KEY = "/assets-bucket/0123abcd.pyz"
URL = "s3:/" + KEY
DESTINATION = "/opt/ultracluster/ultracluster-node"


@pytest.fixture
def root(tmp_path) -> Path:
    """A node with its settings, before anything has run on it."""
    for folder in ("opt/ultracluster", "etc/ultracluster"):
        (tmp_path / folder).mkdir(parents=True)
    settings = {"group": "demo-train", "launch_hook": "ultracluster-launch"}
    (tmp_path / "etc/ultracluster/node.json").write_text(json.dumps(settings))
    return tmp_path


@pytest.fixture
def boot(service, cloud, root, monkeypatch):
    """Run it in this process, without its pauses; returns the status."""
    pauses = []
    monkeypatch.setattr(bootstrap, "ROOT", str(root))
    monkeypatch.setattr(bootstrap, "IMDS", service.url)
    monkeypatch.setattr(bootstrap.time, "sleep", pauses.append)
    monkeypatch.setenv("AWS_ENDPOINT_URL", cloud.url)

    def run(digest: str = DIGEST) -> int:
        return bootstrap.main(URL, digest, DESTINATION)

    run.pauses = pauses
    return run


def place(root: Path) -> Path:
    return root / DESTINATION.lstrip("/")


def left(root: Path) -> list[str]:
    return sorted(file.name for file in place(root).parent.glob("*"))


def log(root: Path) -> list[str]:
    return (root / "var/log/ultracluster/bootstrap.log").read_text().splitlines()


ABANDONED = {
    "AutoScalingGroupName": "demo-train",
    "LifecycleHookName": "ultracluster-launch",
    "LifecycleActionResult": "ABANDON",
}


def abandoned(service, cloud) -> bool:
    (params,) = cloud.of("CompleteLifecycleAction")
    assert params == {**ABANDONED, "InstanceId": service.values["meta-data/instance-id"]}
    return True


def test_a_node_gets_the_programs_and_takes_them_once(service, cloud, root, boot):
    cloud.objects[KEY] = DATA
    assert boot() == 0
    assert place(root).read_bytes() == DATA
    assert stat.S_IMODE(place(root).stat().st_mode) == 0o755
    assert left(root) == ["ultracluster-node"]
    assert boot() == 0, "already there"
    assert [call.action for call in cloud.calls] == ["GetObject"]
    assert cloud.refused == []


def test_a_proxy_of_the_image_is_no_way_to_the_metadata_service(cloud, boot, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    cloud.objects[KEY] = DATA
    assert boot() == 0


def test_an_older_version_of_the_image_is_replaced(cloud, root, boot):
    place(root).write_bytes(b"old")
    cloud.objects[KEY] = DATA
    assert boot() == 0
    assert place(root).read_bytes() == DATA


@pytest.mark.parametrize("fault", [403, 500, 503, CLOSE, TRUNCATE])
def test_what_passes_is_waited_for(cloud, root, boot, fault):
    cloud.objects[KEY] = DATA
    cloud.faults["GetObject"] = [fault, fault]
    assert boot() == 0
    assert place(root).read_bytes() == DATA
    assert boot.pauses == [0, 2, 5]


WRONG = {403: "status 403 .*of the test", CLOSE: "[Cc]losed|reset", TRUNCATE: "IncompleteRead"}


@pytest.mark.parametrize("fault", WRONG)
def test_what_stays_wrong_is_one_line_and_the_launch_is_abandoned(cloud, root, boot, capsys, fault):
    cloud.objects[KEY] = DATA
    cloud.faults["GetObject"] = [fault] * 10
    assert boot() == 1
    (line,) = log(root)
    assert line.split(" ", 1)[1].startswith("ultracluster: FAILED at fetch: ")
    assert re.search(WRONG[fault], line), line
    assert line in capsys.readouterr().err
    assert left(root) == []
    (params,) = cloud.of("CompleteLifecycleAction")
    assert params.items() >= ABANDONED.items()
    assert sum(boot.pauses) < 120, "a node that cannot start is not paid for long"


def test_another_content_is_never_installed_and_not_fetched_again(service, cloud, root, boot):
    cloud.objects[KEY] = DATA + b"x"
    assert boot() == 1
    (line,) = log(root)
    assert f"not {DIGEST}" in line
    assert left(root) == []
    assert [call.action for call in cloud.calls] == ["GetObject", "CompleteLifecycleAction"]


def test_a_missing_object_and_a_role_without_rights_name_the_address(service, cloud, root, boot):
    assert boot() == 1
    assert "status 404" in log(root)[0]
    assert KEY in log(root)[0]
    assert abandoned(service, cloud)


def test_a_node_without_a_role_says_so(service, cloud, root, boot):
    service.values["meta-data/iam/security-credentials/node-role"] = '{"Code": "Failed", "Message": "not yours"}'
    assert boot() == 1
    assert "the role gives no credentials: not yours" in log(root)[0]


def test_without_metadata_the_line_is_left_and_the_hook_times_out(service, cloud, root, boot, capsys):
    service.faults = Faults(status=500)
    assert boot() == 1
    assert "status 500" in log(root)[0]
    assert "hook not completed" in capsys.readouterr().err
    assert cloud.calls == []


def test_a_hook_that_answers_late_is_asked_again(service, cloud, root, boot, capsys):
    cloud.faults["CompleteLifecycleAction"] = [503, CLOSE]
    assert boot() == 1
    assert abandoned(service, cloud)
    assert "launch abandoned" in capsys.readouterr().err
    cloud.completed.clear()
    cloud.faults["CompleteLifecycleAction"] = [LOST]
    assert boot() == 1


def test_without_a_hook_nothing_is_reported(cloud, root, boot):
    (root / "etc/ultracluster/node.json").write_text('{"group": "g", "launch_hook": ""}')
    assert boot() == 1
    assert cloud.of("CompleteLifecycleAction") == []


def test_an_agent_of_the_image_carries_the_line_away_before_the_node_goes(service, cloud, root, boot):
    agent = root / bootstrap.AGENT.lstrip("/")
    agent.parent.mkdir(parents=True)
    agent.write_text(f'#!/bin/bash\necho "$* $(wc -l <{root}/var/log/ultracluster/bootstrap.log)" >{root}/agent\n')
    agent.chmod(0o755)
    assert boot() == 1
    configured = f"-a fetch-config -m ec2 -s -c file:{root}/opt/ultracluster/agent.json 1\n"
    assert (root / "agent").read_text() == configured
    assert bootstrap.FLUSH_S in boot.pauses
    assert abandoned(service, cloud)


def started(service, cloud, root: Path, digest: str, **options) -> subprocess.Popen[str]:
    """As user data starts it: the bare source in a file."""
    program = root / "opt/ultracluster/bootstrap.py"
    program.write_text(bare_source(Path(bootstrap.__file__).read_text(encoding="utf-8")))
    environment = {"ULTRACLUSTER_IMDS": service.url, "ULTRACLUSTER_ROOT": str(root), "AWS_ENDPOINT_URL": cloud.url}
    return subprocess.Popen(
        [sys.executable, str(program), URL, digest, DESTINATION], env=environment, stderr=subprocess.PIPE, text=True
    )


def test_the_file_that_user_data_carries_is_enough(service, cloud, root):
    cloud.objects[KEY] = DATA
    with started(service, cloud, root, DIGEST) as process:
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (0, "")
    assert place(root).read_bytes() == DATA
    with started(service, cloud, root, "0" * 64) as process:
        _, said = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "FAILED at fetch" in said
    assert abandoned(service, cloud)


def test_killed_at_any_moment_the_file_is_whole_or_absent_and_the_next_run_completes_it(service, cloud, root, boot):
    cloud.objects[KEY] = DATA * 40
    digest = hashlib.sha256(DATA * 40).hexdigest()
    for moment in range(8):
        with started(service, cloud, root, digest) as process:
            until = time.monotonic() + 5
            while process.poll() is None and len(cloud.calls) <= moment and time.monotonic() < until:
                os.sched_yield()
            process.send_signal(signal.SIGKILL)
        assert not place(root).exists() or hashlib.sha256(place(root).read_bytes()).hexdigest() == digest
        place(root).unlink(missing_ok=True)
    assert boot(digest) == 0
    assert left(root) == ["bootstrap.py", "ultracluster-node"]
