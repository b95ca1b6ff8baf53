from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.spec.paths import path_place, path_text
from ultracluster.spec.wording import did_you_mean, either, shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", '"a"'),
        (True, "true"),
        (3, "3"),
        (10**80, "a very large number"),
        (float("inf"), "a very large number"),
        (None, "nothing"),
        ([1], "a list"),
        ({}, "a mapping"),
        ("x" * 100, '"' + "x" * 60 + '..."'),
        ("a\nb", '"a\\nb"'),
    ],
)
def test_values_are_shown_on_one_short_line(value, text):
    assert shown(value) == text


def test_choices_read_as_a_sentence():
    assert [either([]), either("a"), either("ab"), either("abc")] == ["", "a", "a or b", "a, b or c"]


@pytest.mark.parametrize(
    ("word", "choices", "near"),
    [
        ("instnce_type", ["instance_type", "name"], "instance_type"),
        ("instance-type", ["instance_type", "name"], "instance_type"),
        ("CAPACITY_BLOCK", ["on-demand", "capacity-block"], "capacity-block"),
        ("zone", ["availability_zone", "name"], "availability_zone"),
        ("us-esat-1", ["us-west-1", "us-east-1"], "us-east-1"),
        ("log_retention", ["log_retention_days", "log_level"], "log_retention_days"),
        ("colour", ["name", "count"], None),
        ("", ["name"], None),
        (7, ["name"], None),
    ],
)
def test_did_you_mean(word, choices, near):
    assert did_you_mean(word, choices) == near


@given(
    st.lists(st.one_of(st.integers(0, 99), st.text(alphabet="abz_-0", min_size=1).filter(lambda key: key[0].isalpha())))
)
def test_paths_can_be_read_back(steps):
    place = tuple(steps)
    assert path_place(path_text(place)) == (place or ("cluster",))


def test_odd_keys_are_quoted():
    assert path_text(("tags", "a b", 0, "c")) == 'tags["a b"][0].c'
    assert path_place('tags["a b"][0].c') == ("tags", "a b", 0, "c")
