"""S3 on loopback, and the transfer tool itself."""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from boto3.s3.transfer import TransferConfig

from ultracluster.local import LocalCloud, LocalSettings
from ultracluster.node import stage


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory) -> Iterator[str]:
    """The embedded AWS."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    cloud = LocalCloud(LocalSettings(state_dir=tmp_path_factory.mktemp("s3")), port=port)
    cloud.start()
    yield f"http://127.0.0.1:{port}"
    cloud.server.stop()


class Bucket:
    """A bucket of the embedded AWS."""

    def __init__(self, endpoint):
        self.name = f"data-{uuid.uuid4().hex[:12]}"
        self.client = boto3.client(
            "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
        )
        self.client.create_bucket(Bucket=self.name)

    def put(self, key, data, **options):
        self.client.put_object(Bucket=self.name, Key=key, Body=data, **options)

    def upload(self, key, path, *, part_mib):
        config = TransferConfig(multipart_threshold=1 << 20, multipart_chunksize=part_mib << 20)
        self.client.upload_file(str(path), self.name, key, Config=config)


@pytest.fixture
def bucket(endpoint):
    return Bucket(endpoint)


@pytest.fixture
def host(machine, endpoint):
    """A node with s5cmd and a scratch file system."""
    tool = shutil.which("s5cmd", path=str(Path(sys.executable).parent))
    assert tool, "s5cmd comes with the development dependencies"
    (machine.root / "stubs/s5cmd").symlink_to(tool)
    machine.environ |= {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "HOME": str(machine.root),
    }
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
