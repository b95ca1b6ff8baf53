"""Copies by the real tool from a real endpoint: what comes, how it is checked, what goes on, what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ultracluster.node.host import NodeError
from ultracluster.node.stage import copying, shelf

NAMES = ["a.bin", "sub/b [1]*?.bin", "sub/deep/c 'q' \"d\" é $HOME `x`.bin", "-dash", "sub/#x;y&z"]


def files(folder):
    """Content by path, without what the program keeps for itself."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def data(bucket):
    """A data set with names that shells and patterns would take apart."""
    contents = {name: os.urandom(1000 + index) for index, name in enumerate(NAMES)} | {"empty": b""}
    for name, content in contents.items():
        bucket.put(f"sets/one/{name}", content)
    bucket.put("sets/one/folder/", b"")
    bucket.put("sets/one-more", b"not of this data set")
    return contents


def url(bucket, prefix="sets/one"):
    return f"s3://{bucket.name}/{prefix}"


def test_every_object_arrives_whole_and_nothing_else_stands_in_the_folder(program, bucket, data, target):
    status, done = program("copy", url(bucket), target)
    assert (status, done["failed"]) == (0, {})
    assert files(target) == data
    assert (done["files"], done["copied"], done["stood"]) == (6, 6, 0)
    assert done["copied_bytes"] == sum(map(len, data.values()))
    assert done["checked"] == {"etag": 6}
    assert not list((target.parent / shelf.FOLDER).glob("*.partial"))


def test_a_second_run_copies_nothing(program, bucket, data, target):
    program("copy", url(bucket), target)
    before = {path: path.stat().st_mtime_ns for path in target.rglob("*")}
    status, done = program("copy", url(bucket) + "/", target)
    assert (status, done["copied"], done["stood"]) == (0, 0, 6)
    assert {path: path.stat().st_mtime_ns for path in target.rglob("*")} == before


def test_only_what_changed_is_copied_again(program, bucket, data, target):
    program("copy", url(bucket), target)
    bucket.put("sets/one/a.bin", b"newer")
    (target / "-dash").write_bytes(b"damaged")
    (target / "empty").unlink()
    bucket.put("sets/one/later", b"later")
    status, done = program("copy", url(bucket), target)
    assert (status, done["copied"], done["stood"]) == (0, 4, 3)
    assert files(target) == data | {"a.bin": b"newer", "later": b"later"}


def test_a_lost_journal_costs_reading_not_copying(program, bucket, data, target):
    program("copy", url(bucket), target)
    (target.parent / shelf.FOLDER / "set.journal").unlink()
    status, done = program("copy", url(bucket), target)
    assert (status, done["copied"], done["stood"]) == (0, 0, 6)


def test_a_file_with_the_right_size_and_the_wrong_content_is_not_taken_for_whole(program, bucket, data, target):
    target.mkdir(parents=True)
    (target / "a.bin").write_bytes(bytes(1000))
    status, done = program("copy", url(bucket), target)
    assert (status, done["copied"]) == (0, 6)
    assert files(target) == data


@pytest.mark.parametrize("part_mib", [5, 8, 7])
def test_objects_in_parts_are_checked_by_the_checksums_of_the_parts(program, bucket, target, tmp_path, part_mib):
    large = tmp_path / "large"
    large.write_bytes(os.urandom(17 << 20))
    bucket.upload("sets/parts/large", large, part_mib=part_mib)
    status, done = program("copy", url(bucket, "sets/parts"), target)
    assert (status, done["checked"]) == (0, {"etag": 1})
    assert files(target) == {"large": large.read_bytes()}


def test_one_object_is_a_data_set_too(program, bucket, data, target):
    status, done = program("copy", url(bucket, "sets/one/a.bin"), target)
    assert (status, done["files"]) == (0, 1)
    assert files(target) == {"a.bin": data["a.bin"]}


def test_a_whole_bucket(program, bucket, data, target):
    status, done = program("copy", f"s3://{bucket.name}", target)
    assert (status, done["files"]) == (0, 7)


def test_an_object_whose_etag_is_no_checksum_is_checked_by_size_and_counted_so(program, bucket, target, monkeypatch):
    bucket.put("sets/kms/a", b"secret", ServerSideEncryption="aws:kms", SSEKMSKeyId="alias/aws/s3")
    bucket.put("sets/kms/b", b"open")
    # Real S3 gives other ETags for such objects; the embedded one does not.
    monkeypatch.setattr(
        "ultracluster.node.stage.checksum.matches_etag", lambda path, size, etag: path.read_bytes() == b"open"
    )
    status, done = program("copy", url(bucket, "sets/kms"), target)
    assert (status, done["checked"]) == (0, {"size": 1, "etag": 1})


def test_a_copy_that_differs_never_stands_at_its_place(program, bucket, data, target, monkeypatch):
    real = copying.checksum.matches_etag
    monkeypatch.setattr(
        "ultracluster.node.stage.checksum.matches_etag",
        lambda path, size, etag: path.name != "a.bin" and real(path, size, etag),
    )
    status, done = program("copy", url(bucket), target)
    assert status == 1
    assert done["failed"] == {"a.bin": "the copy differs from the source"}
    assert not (target / "a.bin").exists()
    assert done["copied"] == 5
    monkeypatch.undo()
    status, done = program("copy", url(bucket), target)
    assert (status, done["copied"], done["stood"]) == (0, 1, 5)


def test_checksums_of_a_list_are_binding(program, bucket, data, target, tmp_path):
    listed = tmp_path / "SHA256SUMS"
    lines = [f"{hashlib.sha256(content).hexdigest()}  ./{name}" for name, content in data.items() if name != "-dash"]
    listed.write_text("\n".join([*lines, f"{'0' * 64} *-dash"]) + "\n")
    status, done = program("copy", url(bucket), target, "--sha256", listed)
    assert status == 1
    assert done["failed"] == {"-dash": "the copy differs from the source"}
    assert done["checked"] == {"sha256": 5}


def test_objects_that_cannot_be_read_are_named_and_the_others_come(program, bucket, data, target):
    bucket.put("sets/one/cold", b"x", StorageClass="GLACIER")
    status, done = program("copy", url(bucket), target)
    assert status == 1
    assert list(done["failed"]) == ["cold"]
    assert "InvalidObjectState" in done["failed"]["cold"]
    assert "cold: InvalidObjectState" in program.said
    assert files(target) == data


class TestInterrupted:
    SCRIPT = """
import argparse, json, sys
from pathlib import Path
from support.machine import Machine
from ultracluster.node import stage

root, environ, *words = sys.argv[1:]
machine = Machine(Path(root), environ=json.loads(environ))
parser = argparse.ArgumentParser()
stage.arguments(parser)
sys.exit(stage.run(parser.parse_args(words), machine.node()))
"""

    def started(self, host, *words):
        tests = Path(__file__).parents[2]
        return subprocess.Popen(
            [sys.executable, "-c", self.SCRIPT, str(host.root), json.dumps(host.environ), *map(str, words)],
            env={"PYTHONPATH": f"{tests}:{tests.parent / 'constructs'}", "PATH": "/usr/bin:/bin"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def slowed(self, host):
        """The tool, one file after the other with a pause before some."""
        tool = (host.root / "stubs/s5cmd").resolve()
        (host.root / "stubs/s5cmd").unlink()
        pause = 'while read -r line; do echo "$line"; sleep 0.3; done'
        host.command("s5cmd", f'"{tool}" --numworkers 1 "$@" | {pause}')

    def test_a_killed_copy_goes_on_where_it_was(self, host, program, bucket, data, target):
        tool = (host.root / "stubs/s5cmd").resolve()
        self.slowed(host)
        process = self.started(host, "copy", url(bucket), target)
        until = time.monotonic() + 60
        while time.monotonic() < until and not any(files(target).values() if target.exists() else ()):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        _, said = process.communicate()
        stood = files(target)
        assert stood, said
        assert all(data[name] == content for name, content in stood.items())

        (host.root / "stubs/s5cmd").unlink()
        (host.root / "stubs/s5cmd").symlink_to(tool)
        until = time.monotonic() + 60
        while shelf.Slot(target).in_use() and time.monotonic() < until:
            time.sleep(0.05)  # the tool of the killed run still has the lease
        status, done = program("copy", url(bucket), target)
        assert status == 0
        assert files(target) == data
        assert done["stood"] >= len(stood) - 1
        assert done["copied"] < len(data)

    def test_what_a_killed_run_left_unfinished_is_not_taken_for_whole(self, host, program, bucket, data, target):
        slot = shelf.Slot(target)
        slot.partial.mkdir(parents=True)
        (slot.partial / "a.bin").write_bytes(bytes(1000))
        assert program("copy", url(bucket), target)[0] == 0
        assert files(target) == data

    def test_what_a_killed_run_had_brought_whole_is_not_brought_again(self, program, bucket, data, target):
        slot = shelf.Slot(target)
        for name in ("a.bin", NAMES[2]):
            (slot.partial / name).parent.mkdir(parents=True, exist_ok=True)
            (slot.partial / name).write_bytes(data[name])
        status, done = program("copy", url(bucket), target)
        assert (status, done["copied"], done["stood"]) == (0, 4, 2)
        assert files(target) == data
        assert not slot.partial.exists()

    def test_a_line_of_the_journal_that_was_cut_off_is_left_out(self, program, bucket, data, target):
        program("copy", url(bucket), target)
        journal = target.parent / shelf.FOLDER / "set.journal"
        text = journal.read_text().rstrip("\n")
        journal.write_text(text[:-20])
        status, done = program("copy", url(bucket), target)
        assert (status, done["copied"], done["stood"]) == (0, 0, 6)
        assert len(shelf.read(journal)[1]) == 6


class TestRoom:
    def test_what_does_not_fit_is_refused_before_it_starts(self, program, bucket, data, target, monkeypatch):
        monkeypatch.setattr(copying.os, "statvfs", self.volume(free=20_000))
        with pytest.raises(NodeError, match=r"^20\.0 KiB do not fit: 19\.5 KiB are free on .*; make room with"):
            program("copy", url(bucket), target, "--reserve", "0")
        assert not target.exists()
        assert not list(target.parent.glob(f"{shelf.FOLDER}/*.journal"))

    def test_a_reserve_stays_free(self, program, bucket, data, target, monkeypatch):
        monkeypatch.setattr(copying.os, "statvfs", self.volume(free=100_000, size=2_000_000))
        with pytest.raises(NodeError, match=r"97\.7 KiB of them stay so"):
            program("copy", url(bucket), target)
        assert program("copy", url(bucket), target, "--reserve", "10k")[0] == 0

    def test_what_stands_already_needs_no_room(self, program, bucket, data, target, monkeypatch):
        program("copy", url(bucket), target)
        monkeypatch.setattr(copying.os, "statvfs", self.volume(free=0))
        assert program("copy", url(bucket), target)[0] == 0

    def test_a_larger_data_set_than_allowed(self, program, bucket, data, target):
        with pytest.raises(NodeError, match=r"^the data set has 4\.9 KiB, more than --max-size 4\.0 KiB$"):
            program("copy", url(bucket), target, "--max-size", "4k")
        assert program("copy", url(bucket), target, "--max-size", "5K")[0] == 0

    @staticmethod
    def volume(*, free, size=1_000_000):
        class Usage:
            f_frsize, f_bavail, f_blocks = 1, free, size

        return lambda path: Usage


class TestRefusals:
    def test_no_transfer_tool(self, host, program, bucket, target):
        (host.root / "stubs/s5cmd").unlink()
        with pytest.raises(NodeError, match=r"^no transfer tool is on this node; install s5cmd, or version 2"):
            program("copy", url(bucket), target)

    def test_an_aws_cli_without_the_crt(self, host, program, bucket, target):
        (host.root / "stubs/s5cmd").unlink()
        host.command("aws", "echo aws-cli/1.45.11 Python/3.11.7 Linux/6.1 botocore/1.43.11")
        with pytest.raises(NodeError, match=r"^the AWS CLI here is version 1, which has no CRT; install s5cmd"):
            program("copy", url(bucket), target)

    def test_nothing_below_the_prefix(self, program, bucket, target):
        with pytest.raises(NodeError, match=r"^s3://\S+/none has no objects; look at the prefix"):
            program("copy", url(bucket, "none"), target)

    def test_no_such_bucket(self, program, target):
        with pytest.raises(NodeError, match=r"cannot be listed: NoSuchBucket"):
            program("copy", "s3://no-such-bucket-here/x", target)

    @pytest.mark.parametrize("source", ["s3://", "s3:///x", "s3://b/x*", "relative", "/no/such/folder", "gs://b/x"])
    def test_what_is_no_source(self, program, target, source):
        with pytest.raises(NodeError, match=r"names no data set|is no folder"):
            program("copy", source, target)

    @pytest.mark.parametrize("key", ["a/../../etc/passwd", "a//b", "./x", "line\nbreak"])
    def test_keys_that_lead_out_of_the_folder(self, program, bucket, target, key):
        bucket.put(f"sets/bad/{key}", b"x")
        with pytest.raises(NodeError, match="cannot be a file below a folder"):
            program("copy", url(bucket, "sets/bad"), target)
        assert not target.exists()

    def test_a_key_that_is_a_file_and_a_folder(self, program, bucket, target):
        bucket.put("sets/both/a", b"x")
        bucket.put("sets/both/a/b", b"x")
        with pytest.raises(NodeError, match=r"lies below 'a', which is a file as well"):
            program("copy", url(bucket, "sets/both"), target)

    def test_another_data_set_at_the_same_place(self, program, bucket, data, target):
        program("copy", url(bucket), target)
        with pytest.raises(NodeError, match=r"holds s3://\S+/sets/one; evict it first"):
            program("copy", url(bucket, "sets"), target)

    def test_a_data_set_in_use_is_not_changed_but_one_that_stands_is_no_fault(self, program, bucket, data, target):
        program("copy", url(bucket), target)
        with shelf.Slot(target).leased(alone=False):
            assert program("copy", url(bucket), target)[0] == 0
            bucket.put("sets/one/a.bin", b"newer")
            with pytest.raises(NodeError, match="is in use and would be changed"):
                program("copy", url(bucket), target)
        assert (target / "a.bin").read_bytes() == data["a.bin"]

    @pytest.mark.parametrize("place", ["data/set", "/", "/scratch/.hidden"])
    def test_no_place_for_a_data_set(self, program, bucket, place):
        with pytest.raises(NodeError, match=r"is no absolute path|is no place for a data set"):
            program("copy", url(bucket), place)


class TestFolders:
    """From Lustre or any other file system."""

    @pytest.fixture
    def source(self, tmp_path):
        root = tmp_path / "lustre"
        for name in NAMES:
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(os.urandom(3000))
        (root / "run.sh").write_text("#!/bin/sh\n")
        (root / "run.sh").chmod(0o755)
        (root / "link").symlink_to("a.bin")
        os.mkfifo(root / "pipe")
        return root

    def test_files_come_with_their_mode_links_as_files_and_nothing_twice(self, program, source, target):
        status, done = program("copy", source, target)
        assert (status, done["files"], done["checked"]) == (0, 7, {"sha256": 7})
        assert files(target) == files_of(source)
        assert (target / "run.sh").stat().st_mode & 0o777 == 0o755
        status, done = program("copy", source, target)
        assert (status, done["copied"], done["stood"]) == (0, 0, 7)

    def test_a_changed_file_comes_again(self, program, source, target):
        program("copy", source, target)
        (source / "a.bin").write_bytes(b"new")
        assert program("copy", source, target)[1]["copied"] == 2  # the link to it as well
        assert (target / "a.bin").read_bytes() == b"new"

    def test_a_file_that_cannot_be_read_is_named(self, program, source, target, monkeypatch):
        real = Path.open

        def broken(path, *args, **kwargs):
            if path == source / "a.bin":
                raise OSError(5, "Input/output error")
            return real(path, *args, **kwargs)

        monkeypatch.setattr(Path, "open", broken)
        status, done = program("copy", source, target)
        assert (status, done["failed"]) == (1, {"a.bin": "Input/output error"})
        assert done["copied"] == 6

    def test_a_copy_that_turned_a_bit_never_stands_at_its_place(self, program, source, target, monkeypatch):
        monkeypatch.setattr(copying.checksum, "sha256", lambda path: "0" * 64)
        status, done = program("copy", source, target)
        assert status == 1
        assert set(done["failed"].values()) == {"the copy differs from the source"}
        assert not files(target) if target.exists() else True

    def test_an_empty_folder(self, program, tmp_path, target):
        (tmp_path / "none").mkdir()
        with pytest.raises(NodeError, match="has no files"):
            program("copy", tmp_path / "none", target)


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("data")
def test_progress_is_told_while_a_large_file_is_on_its_way(host, program, bucket, target, monkeypatch):
    monkeypatch.setattr(copying, "_TELL_S", 0.02)
    TestInterrupted().slowed(host)
    assert program("copy", url(bucket), target)[0] == 0
    assert " files, " in program.said
    assert "/s" in program.said
    assert program.said.splitlines()[-1].endswith(" s")
