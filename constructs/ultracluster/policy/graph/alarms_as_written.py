"""Alarms whose literals already show that nothing is wrong: most of them, and read in no time.

An app has more alarms than anything else. What is not a literal here is left to the rules themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ultracluster.facts.alarms import alarm_limits
from ultracluster.plan.alarm_limits import check_period, check_span
from ultracluster.policy.view import Resource

__all__ = ["acts_plainly", "decides_plainly", "fits_plainly"]

_ACTIONS = ("AlarmActions", "OKActions", "InsufficientDataActions")
_ALWAYS_THERE = ("Ref", "Fn::GetAtt", "Fn::ImportValue", "Fn::GetStackOutput", "Fn::Sub")


def _written(alarm: Resource) -> Mapping[str, object]:
    properties = alarm.model.raw.get("Properties")
    return properties if isinstance(properties, dict) else {}


def acts_plainly(alarm: Resource) -> bool:
    """Whether it has actions that no condition removes, and not too many."""
    raw = _written(alarm)
    lists = [raw[key] for key in _ACTIONS if key in raw]
    return bool(lists) and "ActionsEnabled" not in raw and all(map(_is_plain_list, lists))


def _is_plain_list(listed: object) -> bool:
    if not isinstance(listed, list) or not 0 < len(listed) <= alarm_limits().actions:
        return False
    return all(isinstance(entry, str) or _is_there(entry) for entry in listed)


def _is_there(entry: object) -> bool:
    """Whether an entry is a reference that is there whatever the conditions say."""
    if not isinstance(entry, dict) or len(entry) != 1:
        return False
    (key, value), *_ = entry.items()
    return key in _ALWAYS_THERE and value != "AWS::NoValue"


def decides_plainly(alarm: Resource) -> bool:
    """Whether it says what missing data means, and is no alarm on something that fell silent."""
    raw = _written(alarm)
    operator = raw.get("ComparisonOperator")
    return (
        isinstance(raw.get("TreatMissingData"), str)
        and isinstance(operator, str)
        and not operator.startswith("LessThan")
    )


def fits_plainly(alarm: Resource) -> bool:
    """Whether its name, periods and dimensions are literals within the limits."""
    raw = _written(alarm)
    name, evaluated = raw.get("AlarmName", ""), raw.get("EvaluationPeriods", 1)
    if not isinstance(name, str) or len(name) > alarm_limits().name_length or not isinstance(evaluated, int):
        return False
    return all(
        isinstance(period, int)
        and not check_period(period, subject="")
        and not check_span(period, evaluated, subject="")
        for period in _periods(raw)
    ) and all(isinstance(listed, list) and len(listed) <= alarm_limits().dimensions for listed in _dimensions(raw))


def _queries(raw: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    listed = raw.get("Metrics", ())
    for entry in listed if isinstance(listed, list) else ({},):
        yield entry if isinstance(entry, dict) else {}


def _stats(raw: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    for query in _queries(raw):
        stat = query.get("MetricStat", {})
        yield stat if isinstance(stat, dict) else {"Period": stat}


def _periods(raw: Mapping[str, object]) -> Iterator[object]:
    if not isinstance(raw.get("Metrics", []), list):
        yield None
    for holder in (raw, *_queries(raw), *_stats(raw)):
        if "Period" in holder:
            yield holder["Period"]


def _dimensions(raw: Mapping[str, object]) -> Iterator[object]:
    for holder in (raw, *(stat.get("Metric", {}) for stat in _stats(raw))):
        if not isinstance(holder, dict):
            yield None
        elif "Dimensions" in holder:
            yield holder["Dimensions"]
