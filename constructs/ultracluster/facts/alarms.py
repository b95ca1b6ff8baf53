"""Reader of `data/alarms.json`: thresholds, periods and advice of every alarm."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ultracluster.values import dataclass

__all__ = ["AlarmFacts", "AlarmLimits", "alarm_facts", "alarm_limits"]

DATA_FILE = Path(__file__).with_name("data") / "alarms.json"

Comparison = Literal["GreaterThanThreshold", "GreaterThanOrEqualToThreshold", "LessThanThreshold"]
MissingData = Literal["breaching", "notBreaching", "missing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmFacts:
    """One alarm.

    Attributes:
        id: short name, part of the alarm's name.
        title: what is the matter when it fires.
        threshold: in `unit`.
        unit: of the threshold.
        comparison: as in the API.
        period_s: length of one period in seconds.
        evaluation_periods: periods looked at.
        datapoints: how many of them have to breach.
        missing_data: what a period without data counts as.
        because: why this threshold, this time and this treatment of missing data.
        do: what to do when it fires.
        source: key of the source.
    """

    id: str
    title: str
    threshold: float
    unit: str
    comparison: Comparison
    period_s: int
    evaluation_periods: int
    datapoints: int
    missing_data: MissingData
    because: str
    do: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmLimits:
    """Limits of CloudWatch.

    Attributes:
        actions: per state of an alarm.
        name_length: characters of an alarm's name.
        description_length: characters of its description.
        metrics_in_expression: metrics that one expression can use.
        dimensions: of one metric.
        short_periods_s: periods in seconds below a minute, for high-resolution metrics.
        period_step_s: any multiple of it is a period too.
        short_span_s: all periods together in seconds, while one is shorter than `long_period_s`.
        long_period_s: from this period on an alarm may look at `long_span_s`.
        long_span_s: all periods together in seconds from there on.
        composite_children: alarms that a composite alarm can name.
        composite_rule_length: characters of its rule.
        dashboard_alarms: alarms that one widget can show.
    """

    actions: int
    name_length: int
    description_length: int
    metrics_in_expression: int
    dimensions: int
    short_periods_s: tuple[int, ...]
    period_step_s: int
    short_span_s: int
    long_period_s: int
    long_span_s: int
    composite_children: int
    composite_rule_length: int
    dashboard_alarms: int


@cache
def alarm_facts() -> Mapping[str, AlarmFacts]:
    """All alarms by id."""
    document = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    rows = (AlarmFacts(**row) for group in ("fleet", "spot", "lustre") for row in document[group])
    return {row.id: row for row in rows}


@cache
def alarm_limits() -> AlarmLimits:
    """The limits, read once."""
    limits = json.loads(DATA_FILE.read_text(encoding="utf-8"))["limits"]
    rows: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in limits.items()}
    return AlarmLimits(**{key: value for key, value in rows.items() if key != "source"})
