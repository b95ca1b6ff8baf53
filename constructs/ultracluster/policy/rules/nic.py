"""Rules on the places of an interface list: cards, devices and kinds, judged by the checks of the plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ultracluster.plan.interface_rules import check_interface_places
from ultracluster.plan.spot import group_by_cards
from ultracluster.policy.graph.interfaces import (
    InterfaceList,
    catalogued_types,
    interface_list,
    is_launched,
    requested_efa,
)
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

if TYPE_CHECKING:
    from ultracluster.facts.instances import InstanceType
    from ultracluster.findings import Finding
    from ultracluster.plan.interface_rules import NetworkInterfaceEntry

_ANY_TYPE = ("UC-NIC-001", "UC-NIC-002", "UC-NIC-003")
_BY_TYPE = ("UC-NIC-004", "UC-NIC-005", "UC-EFA-001", "UC-EFA-002", "UC-EFA-004", "UC-API-116")
# The property of an entry that a finding is about.
_KEYS = {
    "UC-NIC-001": "InterfaceType",
    "UC-NIC-002": "DeviceIndex",
    "UC-NIC-003": "InterfaceType",
    "UC-NIC-004": "DeviceIndex",
    "UC-NIC-005": "NetworkCardIndex",
    "UC-EFA-001": "InterfaceType",
    "UC-EFA-004": "InterfaceType",
    "UC-API-116": "InterfaceType",
}


@rule(*_ANY_TYPE, on=LAUNCH_TEMPLATE)
def places(launch_template: Resource) -> Iterator[Problem]:
    """One primary interface, no place twice, one fabric device per card: whatever the type."""
    found = interface_list(launch_template)
    if found is None:
        return
    try:
        findings, _ = _by_type(launch_template)
    except NotKnown:
        findings = _check(found, found.entries, None)
    yield from _problems(found, findings, _ANY_TYPE)


@rule(*_BY_TYPE, on=LAUNCH_TEMPLATE)
def places_of_the_type(launch_template: Resource) -> Iterator[Problem]:
    """Cards, limits and kinds that the type has, and all of its fabric devices."""
    found = interface_list(launch_template)
    if found is None or found.is_plain:
        return
    findings, _ = _by_type(launch_template)
    yield from _problems(found, findings, _BY_TYPE)


@rule("UC-EFA-009", on=LAUNCH_TEMPLATE)
def one_list_for_equal_cards(launch_template: Resource) -> Iterator[Problem]:
    """Types with other cards do not share an interface list, unless it is right for each of them."""
    found = interface_list(launch_template)
    if found is None or found.is_plain:
        return
    _, differs = _by_type(launch_template)
    if differs:
        yield Problem(found.value, differs)


@remembered
def _by_type(launch_template: Resource) -> tuple[tuple[Finding, ...], str]:
    """Findings that hold for all types, and in which way the list suits some types only."""
    found = interface_list(launch_template)
    types = catalogued_types(launch_template)
    if found is None:
        return (), ""
    entries = found.entries
    groups = [group[0] for group in group_by_cards(tuple(types))]
    each = [_check(found, entries, facts) for facts in groups]
    names = [{(one.rule_id, one.subject) for one in findings} for findings in each]
    common = set.intersection(*names)
    shared = tuple(one for one in each[0] if (one.rule_id, one.subject) in common)
    for facts, findings in zip(groups, each, strict=True):
        worse = [one for one in findings if (one.rule_id, one.subject) not in common]
        if worse:
            others = ", ".join(other.name for other in groups if other is not facts)
            return shared, f"one list for {facts.name} and {others}, whose cards differ: {worse[0].message}"
    return shared, ""


def _check(
    found: InterfaceList, entries: tuple[NetworkInterfaceEntry, ...], facts: InstanceType | None
) -> tuple[Finding, ...]:
    # A list without any fabric device is that of a fleet without EFA.
    efa = requested_efa(found.launch_template) if any(entry.has_efa for entry in entries) else 0
    is_whole = is_launched(found.launch_template)
    return check_interface_places(facts, entries, efa=efa, is_whole=is_whole, subject="")


def _problems(found: InterfaceList, findings: tuple[Finding, ...], ids: tuple[str, ...]) -> Iterator[Problem]:
    for one in findings:
        if one.rule_id in ids:
            where = found.at(one.subject, _KEYS.get(one.rule_id, ""))
            yield Problem(where, one.message, one.fix, one.rule_id, one.severity)
