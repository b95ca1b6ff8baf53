"""The dashboard: on the grid without overlaps, and no line that nobody publishes."""

from __future__ import annotations

import itertools
import json
import re

from hypothesis import given
from hypothesis import strategies as st

from ultracluster.facts.service_metrics import service_metrics
from ultracluster.plan.agent_config import AgentProfile, published
from ultracluster.plan.alarms import FleetAlarmRequest
from ultracluster.plan.dashboard import DashboardRequest, FileSystemOnDashboard, dashboard_body
from ultracluster.plan.dashboard_layout import COLUMNS, Query, graph, place
from ultracluster.plan.lustre_alarms import LustreAlarmRequest
from ultracluster.plan.metric_refs import MetricRef

FLEETS = st.lists(
    st.builds(
        FleetAlarmRequest,
        group_name=st.from_regex(r"[a-z]{3,12}", fullmatch=True),
        profile=st.builds(
            AgentProfile,
            vendor=st.sampled_from(["nvidia", "aws"]),
            efa=st.booleans(),
            nitro_version=st.sampled_from([3, 4, 6]),
            spot=st.booleans(),
        ),
        interruption_queue_name=st.sampled_from([None, "q"]),
    ),
    max_size=6,
    unique_by=lambda fleet: fleet.group_name,
)
SYSTEMS = st.lists(
    st.builds(
        LustreAlarmRequest,
        name=st.from_regex(r"[a-z]{3,8}", fullmatch=True),
        storage_type=st.sampled_from(["SSD", "HDD", "INTELLIGENT_TIERING"]),
        metadata=st.booleans(),
        auto_import=st.booleans(),
        auto_export=st.booleans(),
    ),
    max_size=3,
)


def requested(fleets, systems, alarms=0):
    return DashboardRequest(
        region="us-east-1",
        fleets=tuple(fleets),
        file_systems=tuple(
            FileSystemOnDashboard(request=system, file_system_id=f"fs-{n}") for n, system in enumerate(systems)
        ),
        alarm_arns=tuple(f"arn:aws:cloudwatch:us-east-1:111122223333:alarm:a{n}" for n in range(alarms)),
    )


def lines(body):
    """Every metric of the body with its dimensions, the dots resolved, and every query."""
    for widget in body["widgets"]:
        above: list[str] = []
        for entry in widget["properties"].get("metrics", []):
            words = [word for word in entry if isinstance(word, str)]
            if not words:
                yield entry[0]["expression"]
                continue
            above = [above[place] if word == "." else word for place, word in enumerate(words)]
            yield above


@given(FLEETS, SYSTEMS, st.integers(0, 250))
def test_widgets_lie_on_the_grid_and_never_overlap(fleets, systems, alarms):
    body = dashboard_body(requested(fleets, systems, alarms))
    taken: set[tuple[int, int]] = set()
    for widget in body["widgets"]:
        assert widget["x"] >= 0
        assert widget["x"] + widget["width"] <= COLUMNS
        cells = set(
            itertools.product(
                range(widget["x"], widget["x"] + widget["width"]), range(widget["y"], widget["y"] + widget["height"])
            )
        )
        assert not cells & taken, widget["properties"]
        taken |= cells
    bottom = max((y for _, y in taken), default=-1) + 1
    assert {y for _, y in taken} == set(range(bottom)), "no empty line between rows"
    assert len(body["widgets"]) <= 500


@given(FLEETS, SYSTEMS)
def test_every_line_is_published_by_somebody(fleets, systems):
    profiles = {fleet.group_name: fleet.profile for fleet in fleets}
    for line in lines(dashboard_body(requested(fleets, systems))):
        if isinstance(line, str):
            metric, dimensions = re.match(r'SELECT MAX\((\w+)\) FROM SCHEMA\("AWS/FSx", (.+?)\)', line).groups()
            assert tuple(dimensions.split(", ")) == service_metrics()["AWS/FSx", metric].dimensions
            continue
        namespace, name, *pairs = line
        dimensions = dict(zip(pairs[::2], pairs[1::2], strict=True))
        if namespace.startswith("AWS/"):
            assert tuple(dimensions) == service_metrics()[namespace, name].dimensions
        else:
            assert tuple(dimensions) == ("AutoScalingGroupName",)
            assert name in published(profiles[dimensions["AutoScalingGroupName"]])


@given(FLEETS)
def test_every_published_metric_of_a_fleet_that_people_need_is_shown(fleets):
    shown = {tuple(line[1::2][:2]) for line in lines(dashboard_body(requested(fleets, []))) if isinstance(line, list)}
    for fleet in fleets:
        for metric in published(fleet.profile).values():
            if metric.role is not None:
                assert (metric.name, fleet.group_name) in {(name, group) for name, group in shown}, metric.name


def test_rows_stand_in_their_order_and_empty_ones_are_left_out():
    def headers(fleets, systems, alarms=0):
        widgets = dashboard_body(requested(fleets, systems, alarms))["widgets"]
        return [widget["properties"]["markdown"] for widget in widgets if widget["type"] == "text"]

    p5 = FleetAlarmRequest(group_name="a", profile=AgentProfile(vendor="nvidia", efa=True, nitro_version=4))
    data = LustreAlarmRequest(name="data", storage_type="SSD", metadata=True)
    assert headers([], []) == []
    assert headers([p5], [data], 3) == ["## Alarms", "## Fleets", "## Accelerators", "## Fabric", "## Storage"]


def test_alarms_are_spread_over_widgets_of_a_hundred():
    widgets = dashboard_body(requested([], [], 250))["widgets"]
    assert [len(widget["properties"]["alarms"]) for widget in widgets if widget["type"] == "alarm"] == [100, 100, 50]


def test_fifty_fleets_stay_a_small_body():
    fleets = [
        FleetAlarmRequest(group_name=f"demo-fleet{n}", profile=AgentProfile(vendor="nvidia", efa=True, nitro_version=4))
        for n in range(50)
    ]
    body = json.dumps(dashboard_body(requested(fleets, [])), separators=(",", ":"))
    assert len(body) < 50_000


def test_a_widget_with_different_statistics_names_them_on_each_line():
    one = MetricRef(namespace="N", name="a", dimensions=(("D", "x"),), statistic="Sum")
    other = MetricRef(namespace="N", name="b", dimensions=(("D", "x"),), statistic="Maximum")
    (widget,) = graph("r", "t", [one, other, Query(expression="SELECT 1", label="l")])
    assert widget["properties"]["metrics"] == [
        ["N", "a", "D", "x", {"stat": "Sum"}],
        [".", "b", ".", ".", {"stat": "Maximum"}],
        [{"expression": "SELECT 1", "label": "l", "id": "q2"}],
    ]
    assert "stat" not in widget["properties"]


def test_a_row_without_widgets_takes_no_place():
    assert place([("Empty", ())]) == []
