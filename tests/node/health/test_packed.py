"""The packed program on a pretended node, with metadata and AWS over the wire: from a fault to its measure."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from support import gpus
from support.aws_endpoint import AwsEndpoint
from support.imds_server import ImdsServer
from ultracluster.plan.node_program import node_program


@pytest.fixture
def run(p5, tmp_path):
    """Runs the program as a unit would; calls of AWS are those of `run.cloud`."""
    program = tmp_path / "ultracluster-node"
    program.write_bytes(node_program().data)
    p5.write("/etc/ultracluster/node.json", json.dumps({"schema": 1, **p5.settings}))
    with ImdsServer() as metadata, AwsEndpoint() as cloud:
        metadata.values |= {
            "meta-data/instance-type": "p5.48xlarge",
            "meta-data/instance-id": "i-0123456789abcdef0",
        }
        environ = {
            **p5.node().environ,
            "ULTRACLUSTER_ROOT": str(p5.root),
            "ULTRACLUSTER_IMDS": metadata.url,
            "AWS_ENDPOINT_URL": cloud.url,
        }

        def program_of_a_node(*arguments):
            command = [sys.executable, "-I", program, "health", *arguments]
            return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)

        program_of_a_node.cloud = cloud
        yield program_of_a_node


def test_a_healthy_node_in_seconds(run):
    started = time.monotonic()
    report = json.loads(run("--light", "--format", "json").stdout)
    assert time.monotonic() - started < 20, "seconds, on a machine with much else to do"
    assert report["healthy"] is True
    # The root volume is that of this machine, however full it is.
    assert {each["check"] for each in report["results"] if each["status"] not in {"pass", "skipped"}} <= {"disk"}
    assert run("act", "--unhealthy").returncode == 0
    assert run.cloud.calls == []


def test_a_broken_node_is_marked_once(p5, run):
    gpus.install(p5, journal=[gpus.xid_line(0, "79, GPU has fallen off the bus.")])
    assert run("--light").returncode == 1
    for _ in range(2):
        assert run("act", "--unhealthy").returncode == 0
    assert run.cloud.of("SetInstanceHealth") == [
        {
            "InstanceId": "i-0123456789abcdef0",
            "HealthStatus": "Unhealthy",
            "ShouldRespectGracePeriod": "false",
        }
    ]
    assert run.cloud.refused == []


def test_a_measure_that_aws_refuses_is_one_line_and_is_taken_next_time(p5, run):
    gpus.install(p5, journal=[gpus.xid_line(0, "79, GPU has fallen off the bus.")])
    run("--light")
    run.cloud.faults["SetInstanceHealth"] = [403]
    done = run("act", "--unhealthy")
    assert done.returncode == 1
    assert "ultracluster health: unhealthy: SetInstanceHealth is refused with status 403" in done.stderr
    assert run("act", "--unhealthy").returncode == 0
    assert len(run.cloud.of("SetInstanceHealth")) == 1


def test_bad_usage_is_told(run):
    done = run("--light", "--deep")
    assert done.returncode == 2
    assert "not allowed with" in done.stderr
