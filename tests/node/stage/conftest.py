"""S3 on loopback, and the transfer tool itself."""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.s3 import Bucket, environment, served
from ultracluster.node import stage


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory) -> Iterator[str]:
    """The embedded AWS."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with served(tmp_path_factory.mktemp("s3"), port) as address:
        yield address


@pytest.fixture
def bucket(endpoint):
    return Bucket(endpoint)


@pytest.fixture
def host(machine, endpoint):
    """A node with s5cmd and a scratch file system."""
    tool = shutil.which("s5cmd", path=str(Path(sys.executable).parent))
    assert tool, "s5cmd comes with the development dependencies"
    (machine.root / "stubs/s5cmd").symlink_to(tool)
    machine.environ |= environment(endpoint, machine.root)
    (machine.root / "scratch").mkdir()
    return machine


@pytest.fixture
def program(host, capsys):
    """Run the program; gives its exit status and what it printed as JSON."""

    def run(*words):
        parser = argparse.ArgumentParser()
        stage.arguments(parser)
        capsys.readouterr()
        status = stage.run(parser.parse_args([str(word) for word in words]), host.node())
        captured = capsys.readouterr()
        run.said = captured.err
        return status, json.loads(captured.out) if captured.out else None

    run.said = ""
    return run


@pytest.fixture
def target(host):
    return host.root / "scratch/data/set"
