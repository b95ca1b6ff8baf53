"""Loading a whole file: file and line in each fault, and parts that stay readable beside faulty ones."""

from __future__ import annotations

import pytest

from ultracluster.findings import FindingsError
from ultracluster.spec.loader import load_cluster, load_parts
from ultracluster.spec.locate import located
from ultracluster.spec.source import parse_cluster

GOOD = """\
name: demo
region: us-east-1
network:
  availability_zones: [us-east-1a]
fleets:
  - name: train
    instance_type: p5.48xlarge
    count: 2
"""


@pytest.fixture
def write(tmp_path):
    def write_text(text):
        path = tmp_path / "cluster.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write_text


def test_a_good_file_is_a_spec(write):
    assert load_cluster(write(GOOD)).fleets[0].count == 2
    assert load_cluster(str(write(GOOD))).name == "demo"


def test_faults_have_file_and_line_and_come_in_the_order_of_the_file(write):
    path = write(GOOD.replace("count: 2", 'count: "2"').replace("region: us-east-1", "regoin: us-east-1\ntags: {a: 1}"))
    with pytest.raises(FindingsError) as caught:
        load_cluster(path)
    assert [str(found) for found in caught.value.findings] == [
        f'regoin: "regoin" is not a key of this part of the file ({path}:2); did you mean region? [UC-SPC-003]',
        f'tags.a: 1 is a number, text is needed ({path}:3); write it in quotes: "1" [UC-SPC-005]',
        f'fleets[0].count: "2" is text, a whole number is needed ({path}:9); write 2 without quotes [UC-SPC-005]',
    ]


def test_a_key_that_stands_twice_is_told_beside_the_other_faults(write):
    with pytest.raises(FindingsError) as caught:
        load_cluster(write(GOOD + "    count: 3\n    efa: x\n"))
    assert [found.rule_id for found in caught.value.findings] == ["UC-SPC-002", "UC-SPC-005"]


def test_a_key_without_a_value_is_a_fault_even_where_nothing_is_the_default(write):
    with pytest.raises(FindingsError) as caught:
        load_cluster(write(GOOD + "storage:\n  home:\n  lustre:\nscheduler:\n"))
    assert [(found.subject, found.rule_id) for found in caught.value.findings] == [
        ("storage.home", "UC-SPC-005"),
        ("storage.lustre", "UC-SPC-005"),
        ("scheduler", "UC-SPC-005"),
    ]


def test_faulty_parts_leave_the_others_readable(write):
    text = GOOD.replace("count: 2", "count: x") + (
        "  - name: eval\n    instance_type: p5.4xlarge\n    count: 1\n"
        "storage:\n"
        "  lustre:\n    - {name: scratch, deployment_type: X}\n"
        "    - {name: data, deployment_type: SCRATCH_2, capacity_gib: 1200}\n"
        "  home: {mount_path: 3}\n"
        "  buckets: [{name: a, purpose: b}, 7]\n"
        "observability: {dashboard: maybe}\n"
    )
    loaded = load_parts(write(text))
    assert loaded.spec is None
    assert sorted(loaded.parts.fleets) == [1]
    assert sorted(loaded.parts.lustre) == [1]
    assert (loaded.parts.home, loaded.parts.buckets, loaded.parts.observability) == (None, {}, None)
    assert loaded.parts.network is not None
    assert loaded.parts.region == "us-east-1"
    assert loaded.parts.storage_names == ("scratch", "data", "home")
    assert loaded.parts.bucket_names == ("a",)


def test_a_file_of_which_only_the_top_is_wrong_keeps_all_parts(write):
    loaded = load_parts(write(GOOD.replace("region: us-east-1", "region: 3") + "surprise: 1\n"))
    assert (loaded.parts.region, loaded.parts.name) == (None, "demo")
    assert sorted(loaded.parts.fleets) == [0]
    assert {found.rule_id for found in loaded.findings} == {"UC-SPC-003", "UC-SPC-005"}


def test_nothing_at_all_is_told_as_missing(write):
    with pytest.raises(FindingsError) as caught:
        load_cluster(write("tags: {}\n"))
    assert {found.subject for found in caught.value.findings} == {"name", "region", "network", "fleets"}
    assert {found.rule_id for found in caught.value.findings} == {"UC-SPC-004"}


def test_findings_of_other_stages_get_the_line_of_what_is_nearest():
    from ultracluster.findings import finding

    source = parse_cluster(GOOD, name="c.yaml")
    known = finding("UC-SPC-010", "fleets[0].instance_type", "x", "y")
    inside = finding("UC-SPC-010", "fleets[0].interfaces[3].device", "x", "y")
    nowhere = finding("UC-SPC-010", "alarms", "x", "y")
    assert [found.message for found in located((inside, known, nowhere), source)] == [
        "x (c.yaml)",
        "x (c.yaml:6)",
        "x (c.yaml:7)",
    ]
