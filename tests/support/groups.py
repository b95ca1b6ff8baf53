"""Security-group rules of a template as plain tuples."""

from __future__ import annotations

from typing import Any

from support.templates import Template, all_properties, references

Rule = tuple[str, str, str, int | None, int | None]


def rules(template: Template) -> set[Rule]:
    """Every separate rule: direction, owning group, peer, first port, last port; `-1` rules have no ports."""
    found = {_rule("in", body, "SourceSecurityGroupId") for body in _all(template, "Ingress")}
    return found | {_rule("out", body, "DestinationSecurityGroupId") for body in _all(template, "Egress")}


def _all(template: Template, direction: str) -> list[dict[str, Any]]:
    return all_properties(template, f"AWS::EC2::SecurityGroup{direction}")


def group_name(value: Any) -> str:
    """A group as literal id, or the logical id it is read from."""
    return value if isinstance(value, str) else next(iter(references(value)))


def _rule(direction: str, body: dict[str, Any], peer: str) -> Rule:
    ports = (None, None) if body["IpProtocol"] == "-1" else (body["FromPort"], body["ToPort"])
    return (direction, group_name(body["GroupId"]), group_name(body[peer]), *ports)
