"""Rules on the Elastic Fabric Adapter: security groups that let it through, and one zone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ultracluster.plan.interface_rules import NetworkInterfaceEntry, check_interface_groups
from ultracluster.policy.graph.fleets import spread_over_zones
from ultracluster.policy.graph.interfaces import has_fabric, interface_list
from ultracluster.policy.graph.launch_templates import CONSUMERS, LAUNCH_TEMPLATE, uses_of
from ultracluster.policy.graph.security_groups import (
    SECURITY_GROUP,
    allows_all_both_ways,
    allows_itself,
    security_group,
)
from ultracluster.policy.mentions import names_in
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_RULES = ("AWS::EC2::SecurityGroup", "AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress")


@rule("UC-EFA-005", on=LAUNCH_TEMPLATE)
def groups_let_the_fabric_through(launch_template: Resource) -> Iterator[Problem]:
    """Every fabric device has a group that allows all traffic to and from itself."""
    found = interface_list(launch_template)
    fabric = found.fabric if found else []
    known: dict[str, bool | None] = {}
    entries = [_checked(at, entry, known) for at, entry in enumerate(fabric)]
    for one in check_interface_groups(entries, subject=""):
        entry = fabric[int(one.subject.strip("[]"))]
        yield Problem(entry["Groups"], one.message, one.fix)


def _checked(at: int, entry: Value, known: dict[str, bool | None]) -> NetworkInterfaceEntry:
    # The same groups stand in most entries.
    key = str(entry.state)
    raw = entry.state
    if isinstance(raw, dict):
        key = str([raw.get(name) for name in ("Groups", "NetworkInterfaceId")])
    if key not in known:
        known[key] = _allows(entry)
    return NetworkInterfaceEntry(card=None, device=at, kind="efa", allows_efa=known[key])


def _allows(entry: Value) -> bool | None:
    with entry.judged_apart():
        groups = entry["Groups"]
        if groups.exists and not entry["NetworkInterfaceId"].exists:
            return _any_lets_through(groups.items())
    return None


def _any_lets_through(groups: list[Value]) -> bool:
    """Whether one of the groups of an entry lets the fabric through.

    Raises:
        NotKnown: none of those that can be read does, and one cannot be read.
    """
    closed: list[Resource] = []
    doubt: NotKnown | None = None
    for value in groups:
        try:
            group = _readable_group(value)
            if allows_itself(group):
                return True
            closed.append(group)
        except NotKnown as found:
            doubt = found
    if doubt is not None:
        raise doubt
    if any(allows_all_both_ways(one, other) for one, other in combinations(closed, 2)):
        raise NotKnown("two groups of one interface that allow each other all traffic; AWS documents self rules only")
    return False


def _readable_group(value: Value) -> Resource:
    found = security_group(value)
    if found is None:
        raise NotKnown(f"the rules of security group {value.shown}")
    return found


@rule("UC-EFA-006", on=SECURITY_GROUP)
def group_is_attached(group: Resource) -> Iterator[Problem]:
    """A group that is made for the fabric is used by something."""
    if not allows_itself(group) or any(found.type not in _RULES for found in group.referrers()):
        return
    if group.logical_id not in names_in([group.template.model.section("Outputs")]):
        yield Problem(
            group, "it allows all traffic to and from itself, and no interface, file system or output names it"
        )


@rule("UC-EFA-007", on=CONSUMERS)
def one_zone(consumer: Resource) -> Iterator[Problem]:
    """A fleet with a fabric launches into one zone."""
    if not any(has_fabric(use.launch_template) for use in uses_of(consumer)):
        return
    found = spread_over_zones(consumer)
    if found is not None:
        message = f"{found.shown} for a fleet with EFA, whose traffic does not leave a zone"
        yield Problem(found.where, message, "launch into the subnets of one zone")
