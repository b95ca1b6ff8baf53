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

__all__ = ["check_template_limits", "user_data_bytes"]

_LARGEST = 3
_PATH_DEPTH = 2


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
        yield finding("UC-TPL-001", subject, f"{size_bytes} bytes are over the {most_bytes} of a template; largest: {parts}")
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
