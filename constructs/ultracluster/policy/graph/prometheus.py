"""Prometheus as templates carry it: alert rules, scrape settings, and the field lists of DCGM exporters."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ultracluster.policy.graph.user_data import MARK, user_data
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Assembly, Resource
from ultracluster.policy.world import remembered

__all__ = ["ALERTS", "HOLDERS", "SCRAPER", "Alert", "alerts_of", "exported_fields", "text_of"]

ALERTS, SCRAPER = "AWS::APS::RuleGroupsNamespace", "AWS::APS::Scraper"
_USER_DATA = ("AWS::EC2::LaunchTemplate", "AWS::EC2::Instance")
_PARAMETER = "AWS::SSM::Parameter"
HOLDERS = (ALERTS, SCRAPER, _PARAMETER, *_USER_DATA)
"""Resource types whose text may hold a configuration of Prometheus."""
_TEXTS: Mapping[str, tuple[str, ...]] = {
    ALERTS: ("Data",),
    SCRAPER: ("ScrapeConfiguration", "ConfigurationBlob"),
    _PARAMETER: ("Value",),
}
_FIELD = re.compile(r"(?m)^[ \t]*(?P<off>#[ \t]*)?(?P<field>DCGM_FI_\w+)[ \t]*,")
_ALERT = re.compile(r"(?m)^[ \t]*-[ \t]*(?:alert|record)[ \t]*:[ \t]*(?P<name>\S+)")
_EXPRESSION = re.compile(
    r"(?ms)^[ \t]*(?:-[ \t]*)?expr[ \t]*:(?P<text>.*?)(?=^[ \t]*(?:for|labels|annotations|keep_firing_for)[ \t]*:|\Z)"
)


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert rule.

    Attributes:
        name: of the alert.
        expression: what it asks.
    """

    name: str
    expression: str


@remembered
def text_of(holder: Resource) -> tuple[Value, str] | None:
    """The text of a holder and the property that has it, with `MARK` for what is not known; None when it has none.

    Raises:
        NotKnown: nothing of it is known.
    """
    if holder.type in _USER_DATA:
        data = user_data(holder)
        return (data.value, data.text) if data is not None else None
    value = holder.get(*_TEXTS[holder.type])
    if not value.exists:
        return None
    text = value.known_text(MARK)
    return value, _decoded(text) if holder.type == SCRAPER and not value.is_encoded else text


def _decoded(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", errors="replace")
    except (binascii.Error, ValueError):
        return text


def alerts_of(text: str) -> Iterator[Alert]:
    """The alert rules in a text."""
    starts = list(_ALERT.finditer(text))
    for at, start in enumerate(starts):
        end = starts[at + 1].start() if at + 1 < len(starts) else len(text)
        found = _EXPRESSION.search(text, start.end(), end)
        if found is not None:
            yield Alert(start["name"], found["text"])


def exported_fields(assembly: Assembly) -> frozenset[str] | None:
    """The DCGM fields that some exporter of the assembly is told to export; None when no list is at hand."""
    return assembly.world.remember("exported fields", lambda: _exported(assembly))


def _exported(assembly: Assembly) -> frozenset[str] | None:
    on: set[str] = set()
    is_listed = False
    for holder in assembly.resources(_PARAMETER, *_USER_DATA):
        try:
            found = text_of(holder)
        except NotKnown:
            continue  # no list, as far as can be seen
        for line in _FIELD.finditer(found[1]) if found is not None else ():
            is_listed = True
            if not line["off"]:
                on.add(line["field"])
    return frozenset(on) if is_listed else None
