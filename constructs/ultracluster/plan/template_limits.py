"""Whether a synthesized template fits the limits of CloudFormation and EC2, and which part of it is large.

Plain values in, findings out: the reference apps judge their own templates with it before anything is deployed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ultracluster.facts.compute_limits import limit
from ultracluster.findings import Finding, finding

__all__ = ["check_nested_resources", "check_template_counts", "check_template_limits", "near_limits", "user_data_bytes"]

_LARGEST = 3
_PATH_DEPTH = 2
_DYNAMIC = "{{resolve:"
_SECTIONS = {"Parameters": "template_parameters", "Outputs": "template_outputs", "Mappings": "template_mappings"}
_SPLIT = "split the stack, or pass objects between stacks instead of values"


def check_template_limits(template: Mapping[str, Any], *, subject: str, size_bytes: int) -> tuple[Finding, ...]:
    """Compare one template with the limits.

    Args:
        template: the parsed template.
        subject: name of the stack.
        size_bytes: size of the template as it will be uploaded.

    Returns:
        UC-TPL-001 over 1 MB, UC-TPL-002 over 500 resources, UC-TPL-003 for each launch template whose user data is over
        16 KB before base64; the first two name the largest parts of the construct tree.
    """
    return tuple(_findings(template, subject, size_bytes))


def _findings(template: Mapping[str, Any], subject: str, size_bytes: int) -> Iterator[Finding]:
    resources: Mapping[str, Any] = template.get("Resources", {})
    most_bytes, most_resources, most_user_data = (
        limit(name) for name in ("template_bytes", "template_resources", "user_data_bytes")
    )
    if size_bytes > most_bytes:
        parts = _largest(Counter({key: len(json.dumps(body)) for key, body in resources.items()}), resources, "bytes")
        yield finding(
            "UC-TPL-001", subject, f"{size_bytes} bytes are over the {most_bytes} of a template; largest: {parts}"
        )
    if len(resources) > most_resources:
        parts = _largest(Counter(dict.fromkeys(resources, 1)), resources, "resources")
        message = f"{len(resources)} resources are over the {most_resources} of a template; largest: {parts}"
        yield finding("UC-TPL-002", subject, message)
    for key, body in resources.items():
        if body.get("Type") == "AWS::EC2::LaunchTemplate":
            size = user_data_bytes(template, body)
            if size > most_user_data:
                message = f"{size} bytes of user data before base64 are over the {most_user_data} of EC2"
                yield finding("UC-TPL-003", f"{subject}.{_path(key, body)}.user_data", message)


def near_limits(size_bytes: int, resources: int) -> tuple[tuple[str, str], ...]:
    """What is within a tenth of the limits of a template: (rule id, message); nothing beyond the limits themselves.

    Args:
        size_bytes: size of the template as it will be uploaded.
        resources: number of its resources.
    """
    found: list[tuple[str, str]] = []
    for rule_id, value, name, near, unit in (
        ("UC-TPL-001", size_bytes, "template_bytes", "template_bytes_near", "bytes"),
        ("UC-TPL-002", resources, "template_resources", "template_resources_near", "resources"),
    ):
        if limit(near) <= value <= limit(name):
            found.append((rule_id, f"{value} {unit} are close to the {limit(name)} of a template"))
    return tuple(found)


def check_nested_resources(count: int, *, subject: str) -> tuple[Finding, ...]:
    """UC-TPL-002 when a stack and the stacks nested in it have more resources than one operation can touch."""
    most = limit("nested_operation_resources")
    if count <= most:
        return ()
    message = f"{count} resources with those of nested stacks are over the {most} of one operation"
    return (finding("UC-TPL-002", subject, message),)


def check_template_counts(template: Mapping[str, Any], *, subject: str, text: str = "") -> tuple[Finding, ...]:
    """UC-TPL-004 for each section with too many entries, and for too many dynamic references.

    Args:
        template: the parsed template.
        subject: name of the stack.
        text: its source, when it is at hand: spares the search for dynamic references where there are few.
    """
    counts = [
        (len(template[section]), name, section.lower())
        for section, name in _SECTIONS.items()
        if isinstance(template.get(section), dict)
    ]
    counts += [(most, "mapping_attributes", f"attributes of mapping {name}") for name, most in _attributes(template)]
    if not text or text.count(_DYNAMIC) > limit("dynamic_references"):
        counts.append((_dynamic_references(template), "dynamic_references", "dynamic references"))
    return tuple(
        finding("UC-TPL-004", subject, f"{count} {what} are over the {limit(name)} of CloudFormation", _SPLIT)
        for count, name, what in counts
        if count > limit(name)
    )


def _attributes(template: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    mappings = template.get("Mappings")
    for name, rows in mappings.items() if isinstance(mappings, dict) else ():
        if isinstance(rows, dict):
            yield name, max((len(row) for row in rows.values() if isinstance(row, dict)), default=0)


def _dynamic_references(template: object) -> int:
    count, stack = 0, [template]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            count += value.count(_DYNAMIC)
        elif isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return count


def _largest(weights: Counter[str], resources: Mapping[str, Any], unit: str) -> str:
    parts: Counter[str] = Counter()
    for key, weight in weights.items():
        parts[_path(key, resources[key])] += weight
    return ", ".join(f"{part} ({weight} {unit})" for part, weight in parts.most_common(_LARGEST))


def _path(key: str, body: Mapping[str, Any]) -> str:
    path = str(body.get("Metadata", {}).get("aws:cdk:path", ""))
    return "/".join(path.split("/")[:_PATH_DEPTH]) or key


def user_data_bytes(template: Mapping[str, Any], launch_template: Mapping[str, Any]) -> int:
    """Bytes of the user data before base64; what only a deployment knows counts as nothing."""
    data = launch_template.get("Properties", {}).get("LaunchTemplateData", {}).get("UserData", {})
    encoded = data.get("Fn::Base64", "") if isinstance(data, dict) else ""
    return len(_text(template, encoded).encode())


def _text(template: Mapping[str, Any], value: object) -> str:
    match value:
        case str():
            return value
        case {"Fn::Join": [str(separator), list(parts)]}:
            return separator.join(_text(template, part) for part in parts)
        case {"Fn::FindInMap": [str(name), str(first), str(second)]}:
            return str(template.get("Mappings", {}).get(name, {}).get(first, {}).get(second, ""))
        case {"Fn::Sub": str(pattern)} | {"Fn::Sub": [str(pattern), *_]}:
            return pattern
        case _:
            return ""
