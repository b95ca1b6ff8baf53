from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.aws_endpoint import AwsEndpoint
from support.imds_server import ImdsServer

# The real program, with steps that only note that they ran; HANG stops in one of them, BREAK lets one fail.
DRIVER = """
import argparse, os, pathlib, sys, time
from ultracluster.node import boot
from ultracluster.node.host import Node, NodeError

ROOT = pathlib.Path(os.environ["ULTRACLUSTER_ROOT"])

def stub(name):
    def step(node):
        with (ROOT / "steps").open("a") as file:
            file.write(name + "\\n")
        if os.environ.get("HANG") == name:
            time.sleep(300)
        if os.environ.get("BREAK") == name:
            raise NodeError(f"{name} is broken; repair it")
        if os.environ.get("CRASH") == name:
            raise KeyError(name)
    return step

for name in boot.FIRST:
    if name != "user-script":
        boot.FIRST[name] = stub(name)
for name in boot.LATER:
    boot.LATER[name] = stub("later " + name)
sys.exit(boot.run(argparse.Namespace(first="--first" in sys.argv), Node(program="boot")))
"""
SETTINGS = {"schema": 1, "fleet": "train", "group": "demo-train", "launch_hook": "ultracluster-launch"}


class Booting:
    """A folder that looks like a node which boots."""

    def __init__(self, root: Path, service: ImdsServer, cloud: AwsEndpoint) -> None:
        self.root, self.service, self.cloud = root, service, cloud
        self.settings = dict(SETTINGS)
        (root / "etc/ultracluster").mkdir(parents=True)

    def start(self, *words: str, **environment: str) -> subprocess.Popen:
        (self.root / "etc/ultracluster/node.json").write_text(json.dumps(self.settings))
        environ = {
            "PATH": os.defpath,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "ULTRACLUSTER_ROOT": str(self.root),
            "ULTRACLUSTER_IMDS": self.service.url,
            "ULTRACLUSTER_FLUSH_SECONDS": "0",
            "AWS_ENDPOINT_URL": self.cloud.url,
            **environment,
        }
        return subprocess.Popen(
            [sys.executable, "-c", DRIVER, *words],
            env=environ,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def boot(self, *words: str, **environment: str) -> tuple[int, list[str]]:
        """Boot to the end; status and what was said."""
        with self.start(*words, **environment) as process:
            _, said = process.communicate(timeout=60)
        return process.returncode, said.splitlines()

    def script(self, body: str) -> None:
        file = self.root / "opt/ultracluster/user-script"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(body)

    @property
    def steps(self) -> list[str]:
        file = self.root / "steps"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def log(self) -> str:
        return (self.root / "var/log/ultracluster/bootstrap.log").read_text()

    @property
    def told(self) -> list[str]:
        """What the group was told, as far as it accepted it."""
        return [call["LifecycleActionResult"] for call in self.cloud.of("CompleteLifecycleAction")]


@pytest.fixture
def booting(tmp_path: Path) -> Iterator[Booting]:
    with ImdsServer() as service, AwsEndpoint() as cloud:
        yield Booting(tmp_path / "node", service, cloud)
        assert cloud.refused == []
