"""The YAML reader: YAML 1.2 types, lines, and one clear finding for whatever cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.findings import FindingsError
from ultracluster.spec.yaml_data import read_yaml


def rule_ids(text):
    try:
        return [found.rule_id for found in read_yaml(text, name="c.yaml").findings if found.rule_id != "UC-SPC-002"]
    except FindingsError as error:
        return [found.rule_id for found in error.findings]


def data(text):
    return read_yaml(text, name="c.yaml").data


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("False", False),
        ("yes", "yes"),
        ("NO", "NO"),
        ("12", 12),
        ("-3", -3),
        ("012345678901", "012345678901"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("~", None),
        ("null", None),
        ("2027-03-15T11:30:00Z", "2027-03-15T11:30:00Z"),
        ("'12'", "12"),
        ("!!str 12", "12"),
        ("!!int abc", "abc"),
        ("!!bool maybe", "maybe"),
        ("", None),
    ],
)
def test_scalars_have_the_types_of_yaml_1_2(text, value):
    found = data(f"key: {text}")["key"]
    assert (found, type(found)) == (value, type(value))


def test_a_number_with_too_many_digits_stays_text():
    assert data("key: " + "9" * 5000) == {"key": "9" * 5000}


def test_keys_are_text():
    assert data("1: a\ntrue: b\n~: c") == {"1": "a", "true": "b", "~": "c"}


def test_lines_are_those_of_the_keys():
    reading = read_yaml("a: 1\nb:\n  - x\n  - c: 2\n", name="c.yaml")
    assert reading.lines[("a",)] == 1
    assert reading.lines[("b",)] == 2
    assert reading.lines[("b", 0)] == 3
    assert reading.lines[("b", 1, "c")] == 4


def test_a_key_that_stands_twice_is_told_with_both_lines_and_the_first_counts():
    reading = read_yaml("fleets:\n  - count: 1\n    count: 2\n    count: 3\n", name="c.yaml")
    assert reading.data == {"fleets": [{"count": 1}]}
    assert [str(found) for found in reading.findings] == [
        "fleets[0].count: stands twice, on lines 2 and 3 (c.yaml:3); keep one of them [UC-SPC-002]",
        "fleets[0].count: stands twice, on lines 2 and 4 (c.yaml:4); keep one of them [UC-SPC-002]",
    ]


def test_aliases_and_merge_keys_save_repetition():
    text = "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc: {<<: *a, y: 9}\nd: {<<: [*a, *b], w: 0}\ne: *a\n"
    assert data(text) == {
        "a": {"x": 1, "y": 2},
        "b": {"y": 3, "z": 4},
        "c": {"x": 1, "y": 9},
        "d": {"x": 1, "y": 2, "z": 4, "w": 0},
        "e": {"x": 1, "y": 2},
    }


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\tkey: 1", "tab"),
        ("a:\n\tb: 1", "tab"),
        ("a: 1\n---\nb: 2", "more than one document"),
        ("a: *nowhere", "alias"),
        ("a: b: c", "colon"),
        ("a: [1, 2", "not YAML"),
        ("a: 'text", "not YAML"),
        ("a: !Ref x", "tag !Ref"),
        ("a: !!python/object/apply:os.system [ls]", "tag !!python/object/apply:os.system"),
        ("a: !!binary aGk=", "tag !!binary"),
        ("a: !!set {x}", "tag !!set"),
        ("? [a, b]\n: 1", "key that is not a single word"),
        ("a: &a [*a]", "nested more than"),
        ("a: {<<: [1]}", "merges something that is not a mapping"),
        ("a: {<<: &m {<<: *m}}", "nested more than"),
        ("a\x00b: 1", "control characters"),
        ("a: \x1b", "control characters"),
        (BOMB, "more than 100,000 values"),
        ("[" * 300 + "]" * 300, "nested more than"),
        ("[" * 200_000, "nested more than"),
        ("- " * 5000 + "x", "nested more than"),
        ("{a: " * 100_000, "nested more than"),
    ],
)
def test_what_cannot_be_read_gives_one_finding(text, words):
    with pytest.raises(FindingsError) as caught:
        read_yaml(text, name="c.yaml")
    (found,) = caught.value.findings
    assert found.rule_id == "UC-SPC-001"
    assert found.subject.startswith("c.yaml")
    assert words in found.message
    assert found.fix
    assert "\n" not in str(found)


@given(st.text(max_size=200))
def test_any_text_is_data_or_one_finding(text):
    assert set(rule_ids(text)) <= {"UC-SPC-001"}


@given(st.text(alphabet="abc: -[]{}&*!<'\"#|>?,\n\t~0", max_size=80))
def test_any_yaml_like_text_is_data_or_one_finding(text):
    assert set(rule_ids(text)) <= {"UC-SPC-001"}
