"""Sizes, durations, checksums of parts, lists of checksums."""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ultracluster.node.host import NodeError
from ultracluster.node.stage import checksum, units


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("5k", 5120), ("1.5M", 3 << 19), ("500G", 500 << 30), ("2TiB", 2 << 40), ("3 GB", 3 << 30), ("7b", 7)],
)
def test_sizes(text, size):
    assert units.size(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("12h", 43200), ("7d", 604800), ("0.5h", 1800)]
)
def test_durations(text, seconds):
    assert units.duration(text) == seconds


@pytest.mark.parametrize("text", ["", "x", "-1G", "1P", "1 2", "nan", "1e3"])
def test_what_is_neither(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is no size"):
        units.size(text)
    with pytest.raises(argparse.ArgumentTypeError, match="is no duration"):
        units.duration(text)


@given(st.integers(0, 2**60))
def test_shown_sizes_read_back_to_nearly_the_same(size):
    assert abs(units.size(units.shown(size)) - size) <= max(size * 0.06, 0)


@given(size=st.integers(1, 2**44), mib=st.sampled_from([5, 8, 16, 50, 64, 100, 1024]))
def test_the_usual_size_of_a_part_is_among_those_tried(size, mib):
    parts = -(-size // (mib << 20))
    tried = checksum.part_sizes(size, parts)
    if parts > 1:
        assert mib << 20 in tried
    assert len(tried) <= 16
    assert all(-(-size // part) == parts for part in tried)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(size=st.integers(1, 6 << 20), mib=st.integers(1, 3), flipped=st.none() | st.integers(0, 6 << 20))
@example(size=5 << 19, mib=1, flipped=None)  # a last part that is smaller
@example(size=5 << 19, mib=1, flipped=-1)
@example(size=4 << 20, mib=2, flipped=None)
def test_an_etag_of_parts_matches_the_content_and_no_other(tmp_path, size, mib, flipped):
    content = bytearray(hashlib.sha512(str(size).encode()).digest() * (size // 64 + 1))[:size]
    part = mib << 20
    digests = [hashlib.md5(content[at : at + part]).digest() for at in range(0, size, part)]
    etag = f'"{hashlib.md5(b"".join(digests)).hexdigest()}-{len(digests)}"'
    if flipped is not None:
        content[flipped % size] ^= 1
    file = Path(tmp_path, "file")
    file.write_bytes(content)
    assert checksum.matches_etag(file, size, etag) is (flipped is None)


@given(st.text(max_size=40))
def test_what_is_no_etag_matches_nothing(text):
    if len(text) != 32:
        assert not checksum.matches_etag(Path("/dev/null"), 0, text)


_NAMES = st.from_regex(r"[a-z][a-z0-9 ./*-]{0,12}", fullmatch=True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    entries=st.dictionaries(_NAMES, st.from_regex(r"[0-9a-f]{64}", fullmatch=True), min_size=1), binary=st.booleans()
)
def test_any_list_of_checksums(tmp_path, entries, binary):
    file = Path(tmp_path, "SHA256SUMS")
    file.write_text("".join(f"{digest} {'*' if binary else ' '}{name}\n" for name, digest in entries.items()))
    assert checksum.sums(file) == entries


@pytest.mark.parametrize("text", ["", "abc  file\n", "0" * 64 + "\n"])
def test_what_is_no_list_of_checksums(tmp_path, text):
    file = tmp_path / "SHA256SUMS"
    file.write_text(text)
    with pytest.raises(NodeError, match="sha256sum"):
        checksum.sums(file)
