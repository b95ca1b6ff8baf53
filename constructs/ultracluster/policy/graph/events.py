"""EventBridge rules, and the events they hear."""

from __future__ import annotations

from collections.abc import Iterable

from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Assembly, Resource

__all__ = ["EVENT_RULE", "hears", "is_heard"]

EVENT_RULE = "AWS::Events::Rule"
_EC2 = "aws.ec2"


def is_heard(assembly: Assembly, detail_types: Iterable[str]) -> bool:
    """Whether an EventBridge rule of the assembly hears one of these EC2 events and hands it on.

    Args:
        assembly: where to look.
        detail_types: names of the events.

    Raises:
        NotKnown: none is known to, and one is not known.
    """
    doubt: NotKnown | None = None
    names = tuple(detail_types)
    for rule in assembly.resources(EVENT_RULE):
        try:
            if any(hears(rule, name) for name in names):
                return True
        except NotKnown as found:
            doubt = found
    if doubt is not None:
        raise doubt
    return False


def hears(rule: Resource, detail_type: str) -> bool:
    """Whether a rule hands on an EC2 event of this name.

    Raises:
        NotKnown: its pattern or its targets are not known.
    """
    pattern = rule.get("EventPattern")
    if not pattern.exists or rule.get("State").text("ENABLED") == "DISABLED":
        return False
    return (
        _matches(pattern["source"], _EC2)
        and _matches(pattern["detail-type"], detail_type)
        and bool(rule.get("Targets").items())
    )


def _matches(wanted: Value, text: str) -> bool:
    """Whether a field of a pattern takes a text; a field that is not there takes every one."""
    if not wanted.exists:
        return True
    doubt: NotKnown | None = None
    for entry in wanted.items():
        try:
            if _takes(entry, text):
                return True
        except NotKnown as found:
            doubt = found
    if doubt is not None:
        raise doubt
    return False


def _takes(entry: Value, text: str) -> bool:
    if not entry.is_object:
        return entry.text() == text
    prefix = entry["prefix"]
    if not prefix.exists:
        raise NotKnown("an event pattern that is more than texts and prefixes")
    return text.startswith(prefix.text())
