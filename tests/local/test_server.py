"""The server process: loopback only, its own port, its own state."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from ultracluster.local import LocalCloud, LocalSettings, LocalUsageError
from ultracluster.local.errors import missing_extra
from ultracluster.local.toolchain import cdk_environment, toolchain
from ultracluster_cli.local import local

pytestmark = pytest.mark.slow


def listening(pid):
    """Local addresses on which a process listens, from /proc: no tool has to be installed."""
    inodes = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        target = str(entry.readlink())
        if target.startswith("socket:"):
            inodes.add(target[8:-1])
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text(encoding="utf-8").splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                found.append(tuple(fields[1].split(":")))
    return found


def test_it_listens_on_one_port_of_the_loopback_interface_and_nowhere_else(cloud):
    pid = cloud.server.pid()
    assert listening(pid) == [("0100007F", f"{cloud.settings.port:04X}")]
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    assert [listening(child) for child in children.stdout.split()] == [[] for _ in children.stdout.split()]


def test_starting_twice_is_one_server(cloud):
    pid = cloud.server.pid()
    assert cloud.start() is False
    assert cloud.server.pid() == pid


def test_a_taken_port_is_refused_and_says_by_whom(cloud, tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        run = CliRunner().invoke(
            local, ["deploy", str(cluster(tmp_path)), "--port", str(port), "--state-dir", str(tmp_path / "s")]
        )
    assert run.exit_code == 2
    assert f"port {port}: 127.0.0.1:{port} is taken by another program; name a free port with --port" in run.output
    with pytest.raises(LocalUsageError, match="is taken by the embedded AWS of"):
        LocalCloud(LocalSettings(state_dir=tmp_path), port=cloud.settings.port).start()


def test_a_folder_has_one_server(cloud):
    other = cloud.settings.port + 1
    with pytest.raises(LocalUsageError, match=f"the server of .* runs on port {cloud.settings.port}"):
        LocalCloud(LocalSettings(state_dir=cloud.settings.state_dir), port=other)


def test_what_stands_survives_a_killed_server(tmp_path, free_port):
    cloud = LocalCloud(LocalSettings(state_dir=tmp_path / "state"), port=free_port())
    cloud.start()
    try:
        make_stack(cloud)
        before = cloud.inventory()
        pid = cloud.server.pid()
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while cloud.server.pid() is not None and time.monotonic() < deadline:
            time.sleep(0.05)
        again = LocalCloud(LocalSettings(state_dir=tmp_path / "state"))
        assert again.settings.port == cloud.settings.port
        assert again.start() is True
        assert again.inventory() == before
        (system,) = again.clients("fsx").describe_file_systems()["FileSystems"]
        assert system["LustreConfiguration"]["DeploymentType"] == "SCRATCH_2"
        status = CliRunner().invoke(local, ["status", "--state-dir", str(tmp_path / "state"), "--format", "json"])
        assert (status.exit_code, json.loads(status.stdout)["running"]) == (0, True)
        text = CliRunner().invoke(local, ["status", "--state-dir", str(tmp_path / "state")]).stdout
        assert "Kept: CREATE_COMPLETE in us-east-1, 2 resources" in text
        assert "FSx::FileSystem" in text
    finally:
        cloud.server.stop()
    stopped = CliRunner().invoke(local, ["status", "--state-dir", str(tmp_path / "state")])
    assert stopped.exit_code == 1
    assert "does not run" in stopped.output
    purged = CliRunner().invoke(local, ["destroy", "--purge", "--state-dir", str(tmp_path / "state")])
    assert purged.exit_code == 0
    assert not (tmp_path / "state").exists()


def test_a_cluster_file_that_is_not_there_is_bad_usage(tmp_path):
    run = CliRunner().invoke(local, ["deploy", str(tmp_path / "none.yaml"), "--state-dir", str(tmp_path)])
    assert run.exit_code == 2
    assert "there is no such file; name a cluster file" in run.output


def test_the_cdk_run_never_sees_the_users_account(tmp_path):
    settings = LocalSettings(state_dir=tmp_path)
    real = {
        "AWS_PROFILE": "production",
        "AWS_SESSION_TOKEN": "x",
        "CDK_DEFAULT_ACCOUNT": "999999999999",
        "HOME": "/home/me",
    }
    environment = cdk_environment(settings, toolchain(), {**real, "PATH": "/usr/bin"})
    assert "AWS_PROFILE" not in environment
    assert "AWS_SESSION_TOKEN" not in environment
    assert "CDK_DEFAULT_ACCOUNT" not in environment
    assert environment["HOME"] == "/home/me"
    assert environment["AWS_ENDPOINT_URL"] == settings.endpoint
    assert not Path(environment["AWS_CONFIG_FILE"]).exists()
    assert environment["PATH"].startswith(str(toolchain().node.parent))


def test_a_missing_package_is_named_with_the_way_to_install_it():
    error = missing_extra("ministack")
    assert error.exit_code == 2
    assert (
        "needs the package 'ministack', which is not installed; install it with: pip install 'cdk-ultracluster[local]'"
        in str(error)
    )


def cluster(folder):
    path = folder / "cluster.yaml"
    path.write_text("region: us-east-1\n", encoding="utf-8")
    return path


def make_stack(cloud):
    template = {
        "Resources": {
            "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}},
            "Scratch": {
                "Type": "AWS::FSx::FileSystem",
                "Properties": {
                    "FileSystemType": "LUSTRE",
                    "StorageCapacity": 1200,
                    "SubnetIds": ["subnet-0123456789abcdef0"],
                    "LustreConfiguration": {"DeploymentType": "SCRATCH_2"},
                },
            },
        }
    }
    client = cloud.clients("cloudformation")
    client.create_stack(StackName="Kept", TemplateBody=json.dumps(template))
    client.get_waiter("stack_create_complete").wait(StackName="Kept", WaiterConfig={"Delay": 1, "MaxAttempts": 20})
