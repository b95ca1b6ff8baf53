"""Reading the bytes of a cluster file."""

from __future__ import annotations

import pytest

from ultracluster.findings import FindingsError
from ultracluster.spec.source import MAX_BYTES, read_cluster


def finding_of(path):
    with pytest.raises(FindingsError) as caught:
        read_cluster(path)
    (found,) = caught.value.findings
    assert found.rule_id == "UC-SPC-001"
    return found


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"# only a comment\n", "is empty"),
        (b"- a\n- b\n", "holds a list on top"),
        (b"just words\n", 'holds "just words" on top'),
        (b"42\n", "holds 42 on top"),
        (b"name: caf\xe9\n", "is not UTF-8"),
        (b"\xff\xfen\x00a\x00", "is not UTF-8"),
        (b"a: " + b"x" * (MAX_BYTES + 1), "is larger than 1,000,000 bytes"),
    ],
)
def test_a_file_that_holds_no_cluster(tmp_path, content, words):
    path = tmp_path / "cluster.yaml"
    path.write_bytes(content)
    found = finding_of(path)
    assert words in found.message
    assert str(path) in found.subject


def test_the_line_of_the_first_wrong_byte_is_named(tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_bytes(b"name: a\nregion: \xe9\n")
    assert finding_of(path).subject == f"{path}:2"


def test_a_missing_file_and_a_folder(tmp_path):
    assert "no such file" in finding_of(tmp_path / "none.yaml").message
    assert "is a directory" in finding_of(tmp_path).message


def test_a_byte_order_mark_and_json_are_read(tmp_path):
    path = tmp_path / "cluster.json"
    path.write_bytes(b'\xef\xbb\xbf{"name": "a", "tags": {"x": "1"}}')
    assert read_cluster(path).data == {"name": "a", "tags": {"x": "1"}}


def test_the_nearest_line_is_found(tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text("name: a\nfleets:\n  - count: 1\n")
    source = read_cluster(path)
    assert source.line(("fleets", 0, "count")) == 3
    assert source.line(("fleets", 0, "instance_type")) == 3
    assert source.line(("fleets", 7)) == 2
    assert source.line(("region",)) is None
