"""Rules on the list of network interfaces of a launch template, judged by the code that lays such lists out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ultracluster.facts.instances import InstanceType
from ultracluster.findings import Finding
from ultracluster.plan.interface_rules import check_interface_list
from ultracluster.policy.graph.interfaces import LISTED, interface_entries, requested_efa
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, served_types, users_of
from ultracluster.policy.problem import Problem, Where
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_PROPERTIES = {
    "UC-EFA-001": "InterfaceType",
    "UC-EFA-004": "InterfaceType",
    "UC-EFA-005": "Groups",
    "UC-NIC-003": "InterfaceType",
    "UC-NIC-004": "DeviceIndex",
    "UC-NIC-005": "NetworkCardIndex",
    "UC-NIC-006": "AssociatePublicIpAddress",
}
_ENTRY = re.compile(r"\[(\d+)\]")


@rule(
    "UC-NIC-001",
    "UC-NIC-002",
    "UC-NIC-003",
    "UC-NIC-006",
    "UC-NIC-007",
    "UC-NIC-008",
    "UC-NIC-009",
    on=LAUNCH_TEMPLATE,
)
def interfaces_of_any_type(template: Resource) -> Iterator[Problem]:
    """What holds for every instance type; where the type is known its cards are taken into account."""
    try:
        types: list[InstanceType | None] = [facts for _, facts in served_types(template)]
    except NotKnown:
        types = []  # these rules need none; those that do are judged apart
    yield from _problems(template, types or [None], interfaces_of_any_type)


@rule("UC-NIC-004", "UC-NIC-005", "UC-EFA-001", "UC-EFA-002", "UC-EFA-004", on=LAUNCH_TEMPLATE)
def interfaces_of_the_type(template: Resource) -> Iterator[Problem]:
    """Cards and devices exist on the type, and all its EFA devices are used."""
    if not _listed(template).exists:
        return
    types: list[InstanceType | None] = [facts for _, facts in served_types(template) if facts is not None]
    yield from _problems(template, types, interfaces_of_the_type)


@rule("UC-EFA-005", on=LAUNCH_TEMPLATE)
def groups_that_let_efa_through(template: Resource) -> Iterator[Problem]:
    """Each EFA entry has a group that allows all traffic to and from itself."""
    listed = _listed(template)
    if not listed.exists:
        return
    entries = interface_entries(listed, with_groups=True)
    yield from _as_problems(template, check_interface_list(None, entries, subject=""), {"UC-EFA-005"})
    if any(entry.has_efa and entry.allows_efa is None for entry in entries):
        raise NotKnown("a security group of an EFA entry that is not in the templates")


def _listed(template: Resource) -> Value:
    return template.get("LaunchTemplateData", LISTED)


def _problems(template: Resource, types: list[InstanceType | None], of: object) -> Iterator[Problem]:
    if not _listed(template).exists:
        return
    wanted = _IDS[of]
    told: set[str] = set()
    for facts in types:
        found = [each for each in _findings(template, facts) if each.rule_id not in told]
        told |= {each.rule_id for each in found}
        yield from _as_problems(template, found, wanted)


def _findings(template: Resource, facts: InstanceType | None) -> tuple[Finding, ...]:
    key = ("interface findings", template.model, facts.name if facts is not None else None)
    return template.world.remember(key, lambda: _check(template, facts))


def _check(template: Resource, facts: InstanceType | None) -> tuple[Finding, ...]:
    data = template.get("LaunchTemplateData")
    beside = data["SecurityGroupIds"].exists or data["SecurityGroups"].exists
    entries = interface_entries(data[LISTED])
    efa = requested_efa(template, entries)
    return check_interface_list(facts, entries, efa=efa, groups_beside_list=beside, subject="")


def _as_problems(
    template: Resource, findings: tuple[Finding, ...] | list[Finding], wanted: set[str]
) -> Iterator[Problem]:
    listed = _listed(template)
    for found in findings:
        if found.rule_id not in wanted:
            continue
        entry = _ENTRY.fullmatch(found.subject)
        if entry is None and found.rule_id == "UC-NIC-001" and not users_of(template):
            continue  # the primary interface may come with the call that launches
        place = _where(listed, entry, found)
        yield Problem(place, found.message, found.fix, found.rule_id, found.severity)


def _where(listed: Value, entry: re.Match[str] | None, found: Finding) -> Where:
    if entry is None:
        return listed
    whole = listed.items()[int(entry.group(1))]
    value = whole[_PROPERTIES.get(found.rule_id, "DeviceIndex")]
    return value if value.exists else whole


_IDS: dict[object, set[str]] = {
    interfaces_of_any_type: {f"UC-NIC-00{number}" for number in (1, 2, 3, 6, 7, 8, 9)},
    interfaces_of_the_type: {"UC-NIC-004", "UC-NIC-005", "UC-EFA-001", "UC-EFA-002", "UC-EFA-004"},
}
