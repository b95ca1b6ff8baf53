"""Widgets and their places on CloudWatch's grid of 24 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ultracluster.plan.metric_refs import MetricRef
from ultracluster.values import dataclass

__all__ = ["COLUMNS", "Query", "Widget", "graph", "place"]

COLUMNS = 24
_WIDTH, _HEIGHT, _HEADER = 8, 6, 1
_PERIOD_S = 300

Widget = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A line that is the result of a Metrics Insights query."""

    expression: str
    label: str


def graph(region: str, title: str, lines: Iterable[MetricRef | Query], *, unit: str = "") -> Iterator[Widget]:
    """A widget with one line per metric or query; nothing when there is none.

    Lines carry no label: CloudWatch names each by what sets it apart from the others, the fleet or the metric.
    """
    found = list(lines)
    if not found:
        return
    axis = {"left": {"min": 0, **({"label": unit, "showUnits": False} if unit else {})}}
    properties: Widget = {"title": title, "region": region, "period": _PERIOD_S, "yAxis": axis}
    statistics = {line.statistic for line in found if isinstance(line, MetricRef)}
    common = statistics.pop() if len(statistics) == 1 else ""
    properties |= {"stat": common} if common else {}
    yield {"type": "metric", "properties": {**properties, "metrics": list(_entries(found, common))}}


def _entries(lines: Iterable[MetricRef | Query], common: str) -> Iterator[list[object]]:
    """The lines as CloudWatch reads them. A dot repeats the word above it, so that many fleets stay a small body."""
    above: list[str] = []
    for index, line in enumerate(lines):
        if isinstance(line, Query):
            yield [{"expression": line.expression, "label": line.label, "id": f"q{index}"}]
            continue
        words = [line.namespace, line.name, *(word for pair in line.dimensions for word in pair)]
        same = len(above) == len(words)
        entry: list[object] = ["." if same and word == above[place] else word for place, word in enumerate(words)]
        yield [*entry, {"stat": line.statistic}] if not common else entry
        above = words


def place(rows: Iterable[tuple[str, Sequence[Widget]]]) -> list[Widget]:
    """Positions: a header per row, its widgets from left to right, a new line where they do not fit."""
    placed: list[Widget] = []
    top = 0
    for title, widgets in rows:
        if not widgets:
            continue
        header = {"type": "text", "properties": {"markdown": f"## {title}", "background": "transparent"}}
        placed.append({**header, "x": 0, "y": top, "width": COLUMNS, "height": _HEADER})
        top, left = top + _HEADER, 0
        for widget in widgets:
            width = COLUMNS if widget["type"] == "alarm" else _WIDTH
            if left + width > COLUMNS:
                top, left = top + _HEIGHT, 0
            placed.append({**widget, "x": left, "y": top, "width": width, "height": _HEIGHT})
            left += width
        top += _HEIGHT
    return placed
