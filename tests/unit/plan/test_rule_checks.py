"""Checks that plans and rules on templates share: limits of scripts, alarms, tags and templates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.facts.alarms import alarm_limits
from ultracluster.facts.instances import catalog, instance_type
from ultracluster.facts.node_environment import locked_memory_floor
from ultracluster.plan.alarm_limits import check_composite_rule, check_dimension_count, check_period, check_span
from ultracluster.plan.collectives import check_collective_floor, check_collective_message, line_rate_gbytes
from ultracluster.plan.exporters import check_exporter
from ultracluster.plan.node_limits import check_locked_memory, locked_memory_limits, shown_bytes
from ultracluster.plan.node_variables import assignments, check_variables, without_comments
from ultracluster.plan.tags import check_tag, check_tag_count, is_plain
from ultracluster.plan.template_limits import check_nested_resources, check_template_counts, near_limits


@given(st.integers(0, 2**45))
def test_limits_of_every_form_mean_the_same_bytes(size):
    kib = size // 2**10
    text = f"* soft memlock {kib}\nLimitMEMLOCK={size}\nulimit -l {kib}\n--ulimit memlock={size}\n"
    found = [bytes_ for _, bytes_ in locked_memory_limits(text)]
    assert found == [kib * 2**10, size, kib * 2**10, size]
    assert bool(check_locked_memory("x", size, subject="s")) == (size < locked_memory_floor())


def test_suffixes_and_unlimited_limits():
    assert list(locked_memory_limits("LimitMEMLOCK=64M")) == [("LimitMEMLOCK=64M", 64 * 2**20)]
    assert list(locked_memory_limits("LimitMEMLOCK=1G:2G")) == [("LimitMEMLOCK=1G:2G", 2**30)]
    assert list(locked_memory_limits("ulimit -l $X")) == [("ulimit -l $X", None)]
    assert list(locked_memory_limits("ulimit -l unlimited\n* - memlock -1\nLimitMEMLOCK=infinity")) == []
    assert [shown_bytes(size) for size in (512, 2048, 3 * 2**20, 2**34)] == ["512 bytes", "2 KiB", "3 MiB", "16 GiB"]


@given(st.text(alphabet="abc \n=#'\"$NCCL_BUFSIZE;/", max_size=200))
def test_no_text_is_too_strange_for_the_variables(text):
    for found in assignments(text):
        assert f"{found.name}=" in text
        assert found.value
    assert len(without_comments(text)) <= len(text)


def test_a_variable_that_an_old_kernel_needs():
    script = "export FI_EFA_FORK_SAFE=1\nexport NCCL_NET_GDR_LEVEL=LOC\n# export NCCL_BUFFSIZE=1\n"
    assert [found.rule_id for found in check_variables(script, os="al2023", subject="s")] == [
        "UC-NOD-001",
        "UC-NOD-002",
    ]
    assert [found.rule_id for found in check_variables(script, os="amazon-linux-2", subject="s")] == ["UC-NOD-001"]


@given(st.sampled_from(sorted(catalog())), st.floats(0, 2000))
def test_a_floor_is_at_most_the_line_rate(name, floor):
    facts = instance_type(name)
    rate = line_rate_gbytes(facts)
    assert bool(check_collective_floor(floor, facts, subject="s")) == (rate > 0 and floor > rate)


def test_small_messages_have_no_floor():
    assert check_collective_message(2**30 - 1, subject="s")
    assert not check_collective_message(2**30, subject="s")


@given(st.integers(-100, 10**6), st.integers(1, 10_000))
def test_periods_and_spans(period, count):
    limits = alarm_limits()
    assert (not check_period(period, subject="s")) == (period in {10, 20, 30} or (period > 0 and period % 60 == 0))
    if period > 0:
        most = limits.short_span_s if period < 3600 else limits.long_span_s
        assert (not check_span(period, count, subject="s")) == (period * count <= most)


def test_counts_of_alarms():
    assert not check_dimension_count(30, subject="s")
    assert check_dimension_count(31, subject="s")
    assert len(check_composite_rule(10_241, 101, subject="s")) == 2
    assert check_composite_rule(10_240, 100, subject="s") == ()


@given(st.text(max_size=140), st.text(max_size=270))
def test_a_plain_tag_has_no_fault(key, value):
    faults = check_tag(key, value, subject="s")
    assert is_plain([(key, value)]) == (not faults)


@given(st.integers(0, 60))
def test_so_many_tags(count):
    assert bool(check_tag_count(count, subject="s")) == (count > 50)
    assert is_plain([(f"k{at}", "v") for at in range(count)]) == (count <= 50)


def test_tags_whose_text_is_not_known():
    assert check_tag(None, None, subject="s") == ()
    assert is_plain([("Name", {"Ref": "x"})])
    assert not is_plain([({"Ref": "x"}, "v")])


@pytest.mark.parametrize(
    ("release", "name", "old"), [("4.2.0", "p6-b300.48xlarge", True), ("4.10.0", "p6-b300.48xlarge", False)]
)
def test_releases_are_compared_by_number(release, name, old):
    assert bool(check_exporter(release, name, subject="s")) == old


def test_templates_near_their_limits():
    assert near_limits(899_999, 449) == ()
    assert [rule_id for rule_id, _ in near_limits(900_000, 450)] == ["UC-TPL-001", "UC-TPL-002"]
    assert near_limits(1_000_001, 501) == ()
    assert check_nested_resources(2500, subject="s") == ()
    assert check_nested_resources(2501, subject="s")


def test_counts_of_a_template():
    references = {"Resources": {"X": {"Properties": {"A": ["{{resolve:ssm:a}}{{resolve:ssm:b}}"] * 31}}}}
    assert check_template_counts(references, subject="s")
    assert check_template_counts(references, subject="s", text="nothing of the kind") == ()
    assert check_template_counts({"Parameters": dict.fromkeys(map(str, range(201)))}, subject="s")
    assert check_template_counts({"Parameters": None, "Mappings": {"A": None}}, subject="s") == ()
