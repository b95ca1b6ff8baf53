"""Data sets by the AWS CLI of the distribution, whose CRT moves them from a real endpoint; s5cmd has `tests/node`."""

from __future__ import annotations

import argparse
import json
import os

import pytest

from support.machine import Machine
from support.s3 import Bucket, environment, served
from ultracluster.node import stage
from ultracluster.node.stage import shelf

NAME = "sub/c 'q' \"d\" é.bin"
CONTENTS = {
    "a.bin": os.urandom(5000),
    "sub/b [1]*?.bin": os.urandom(3000),
    "sub/b 1.bin": os.urandom(10),  # the name above, read as a pattern, would take this one
    NAME: os.urandom(20),
    "empty": b"",
}


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory):
    """Without a port: the CRT drops one."""
    with served(tmp_path_factory.mktemp("s3"), 80) as address:
        yield address


@pytest.fixture
def host(endpoint, tmp_path):
    machine = Machine(tmp_path / "node", environ=environment(endpoint, tmp_path))
    (machine.root / "stubs/aws").symlink_to("/usr/bin/aws")
    (machine.root / "scratch").mkdir()
    return machine


@pytest.fixture
def copy(host, capsys):
    """Copy a data set to /scratch/set; gives status and outcome."""

    def run(source):
        parser = argparse.ArgumentParser()
        stage.arguments(parser)
        status = stage.run(parser.parse_args(["copy", source, str(host.root / "scratch/set")]), host.node())
        return status, json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def bucket(endpoint, tmp_path):
    made = Bucket(endpoint)
    for name, content in CONTENTS.items():
        made.put(f"one/{name}", content)
    made.put("one/folder/", b"")
    large = tmp_path / "large"
    large.write_bytes(os.urandom(21 << 20))
    made.upload("one/large", large, part_mib=8)
    return made


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_crt_brings_what_can_be_read_and_goes_on_where_it_was(host, copy, bucket, tmp_path):
    bucket.put("one/cold", b"x", StorageClass="GLACIER")
    wanted = CONTENTS | {"large": (tmp_path / "large").read_bytes()}
    target = host.root / "scratch/set"
    status, done = copy(f"s3://{bucket.name}/one")
    assert (status, list(done["failed"]), done["copied"], done["checked"]) == (1, ["cold"], 6, {"etag": 6})
    assert "GLACIER" in done["failed"]["cold"]
    assert files(target) == wanted
    config = host.root / f"scratch/{shelf.FOLDER}/set.aws"
    assert "preferred_transfer_client = crt" in config.read_text()

    (target / "sub/b [1]*?.bin").unlink()
    (target / NAME).unlink()
    bucket.put("one/cold", b"warm")
    status, done = copy(f"s3://{bucket.name}/one")
    assert (status, done["copied"], done["stood"]) == (0, 3, 4)
    assert files(target) == wanted | {"cold": b"warm"}
