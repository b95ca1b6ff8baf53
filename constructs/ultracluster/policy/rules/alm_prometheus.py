"""Rules on Prometheus: alerts on fields that are exported, alerts that clear, scrapes in time, exporters new enough."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ultracluster.plan.exporters import check_exporter
from ultracluster.policy.graph.containers import JOB_DEFINITION, TASK_DEFINITION, containers_of
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE
from ultracluster.policy.graph.node_scripts import node_types
from ultracluster.policy.graph.prometheus import HOLDERS, alerts_of, exported_fields, text_of
from ultracluster.policy.graph.user_data import MARK
from ultracluster.policy.problem import Problem, from_findings
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_INSTANCE = "AWS::EC2::Instance"
_FIELD = re.compile(r"\bDCGM_FI_\w+")
_XID = "DCGM_FI_DEV_XID_ERRORS"
# What turns the number of the last XID into something that ends.
_ENDS = re.compile(r"\b(?:increase|changes|i?rate|i?delta|resets|count_over_time)\s*\(|\boffset\b|\bunless\b")
_SETTING = re.compile(
    r"(?m)^[ \t]*(?P<item>-[ \t]+)?(?P<key>scrape_interval|scrape_timeout|job_name|global)[ \t]*:[ \t]*(?P<value>\S*)"
)
_DURATION = re.compile(r"(\d+)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DEFAULT_INTERVAL = 60.0
_EXPORTER = re.compile(r"dcgm-exporter:(?P<release>\d+\.\d+\.\d+)")


@rule("UC-ALM-005", on=HOLDERS)
def alerts_on_exported_fields(holder: Resource) -> Iterator[Problem]:
    """Alerts ask for DCGM fields that the exporter is told to export."""
    found = text_of(holder)
    if found is None or "DCGM_FI_" not in found[1]:
        return
    alerts = [(alert, _FIELD.findall(alert.expression)) for alert in alerts_of(found[1])]
    if not any(fields for _, fields in alerts):
        return
    exported = exported_fields(holder.assembly)
    if exported is None:
        raise NotKnown("which fields the exporter has")
    for alert, fields in alerts:
        missing = [field for field in fields if field not in exported]
        if missing:
            yield Problem(found[0], f"alert {alert.name} asks for {missing[0]}, which no exporter of the app exports")
            return


@rule("UC-ALM-006", on=HOLDERS)
def xid_alerts_clear(holder: Resource) -> Iterator[Problem]:
    """Alerts on XIDs ask whether the number changed, not whether there is one."""
    found = text_of(holder)
    if found is None or _XID not in found[1]:
        return
    for alert in alerts_of(found[1]):
        if _XID in alert.expression and not _ENDS.search(alert.expression):
            message = f"alert {alert.name} asks for the value of {_XID}, which keeps the last XID for ever"
            yield Problem(found[0], message)
            return


@rule("UC-ALM-015", on=HOLDERS)
def scrapes_end_in_time(holder: Resource) -> Iterator[Problem]:
    """No scrape may take longer than the interval to the next one."""
    found = text_of(holder)
    if found is None or "scrape_timeout" not in found[1]:
        return
    common: dict[str, float] = {"scrape_interval": _DEFAULT_INTERVAL}
    for name, settings in _scopes(found[1]):
        if not name:
            common |= settings
        timeout, interval = settings.get("scrape_timeout"), (common | settings)["scrape_interval"]
        if timeout is not None and timeout > interval:
            where = f"job {name}: " if name else ""
            message = f"{where}a timeout of {timeout:g} s on an interval of {interval:g} s, which Prometheus refuses"
            yield Problem(found[0], message)
            return


def _scopes(text: str) -> list[tuple[str, dict[str, float]]]:
    """Settings of the global section (no name) and of each job, those of a job on both sides of its name."""
    scopes: list[tuple[str, dict[str, float]]] = [("", {})]
    for line in _SETTING.finditer(text):
        if line["key"] == "global":
            scopes.append(("", {}))
        elif line["item"] or line["key"] == "job_name":
            is_named = line["key"] == "job_name"
            if line["item"] or not is_named:
                scopes.append((line["value"].strip("'\"") if is_named else "?", {}))
            else:
                scopes[-1] = (line["value"].strip("'\""), scopes[-1][1])
        seconds = _seconds(line["value"])
        if seconds is not None and line["key"].startswith("scrape_"):
            scopes[-1][1][line["key"]] = seconds
    return scopes


def _seconds(text: str) -> float | None:
    parts = _DURATION.findall(text)
    return sum(int(count) * _SECONDS[unit] for count, unit in parts) if parts else None


@rule("UC-ALM-016", on=(LAUNCH_TEMPLATE, _INSTANCE))
def exporter_of_nodes_is_new_enough(holder: Resource) -> Iterator[Problem]:
    """A DCGM exporter that nodes run knows their accelerators."""
    found = text_of(holder)
    if found is None or "dcgm-exporter:" not in found[1]:
        return
    release = _EXPORTER.search(found[1])
    if release is None:
        raise NotKnown("the release of the exporter")
    yield from _covers(release["release"], node_types(holder), found[0])


@rule("UC-ALM-016", on=(JOB_DEFINITION, TASK_DEFINITION))
def exporter_of_jobs_is_new_enough(definition: Resource) -> Iterator[Problem]:
    """A DCGM exporter that runs as a container knows the accelerators of the instances it names."""
    types = [definition.get("ContainerProperties", "InstanceType")]
    types += [
        entry["Container"]["InstanceType"] for entry in definition.get("NodeProperties", "NodeRangeProperties").items()
    ]
    for container in containers_of(definition):
        image = container["Image"]
        with image.judged_apart():
            found = _EXPORTER.search(image.known_text(MARK)) if image.exists else None
            if found is not None:
                yield from _covers(found["release"], [value for value in types if value.exists], image)


def _covers(release: str, types: list[Value], where: Value) -> Iterator[Problem]:
    if not types:
        raise NotKnown("on which instance types the exporter runs")
    for value in types:
        with value.judged_apart():
            yield from from_findings(check_exporter(release, value.text(), subject=""), lambda _: where)
