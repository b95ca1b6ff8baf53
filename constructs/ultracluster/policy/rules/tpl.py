"""Rules on the template itself: its size, its counts, the user data in it."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.compute_limits import limit
from ultracluster.findings import Severity
from ultracluster.plan.template_limits import (
    check_nested_resources,
    check_template_counts,
    check_template_limits,
    near_limits,
)
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE
from ultracluster.policy.graph.user_data import user_data
from ultracluster.policy.model import TemplateModel
from ultracluster.policy.problem import Problem, from_findings
from ultracluster.policy.registry import TEMPLATE, rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.view import Resource, Template

_INSTANCE = "AWS::EC2::Instance"
_BASE64_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n")


@rule("UC-TPL-001", "UC-TPL-002", on=TEMPLATE)
def size_and_resources(template: Template) -> Iterator[Problem]:
    """The template fits the limits of CloudFormation, spaces not counted."""
    resources, size = template.model.resources, template.model.document.upload_bytes
    yield from from_findings(check_nested_resources(_with_nested(template.model), subject=""), lambda _: template)
    for rule_id, message in near_limits(size, len(resources)):
        yield Problem(template, message, rule_id=rule_id, severity=Severity.WARNING)
    if size <= limit("template_bytes") and len(resources) <= limit("template_resources"):
        return
    # Only what the limits count: whatever else a foreign template holds stays out of the way.
    bodies = {
        key: {"Properties": model.raw.get("Properties"), "Metadata": {"aws:cdk:path": model.construct_path}}
        for key, model in resources.items()
    }
    found = check_template_limits({"Resources": bodies}, subject="", size_bytes=size)
    yield from from_findings(found, lambda _: template)


def _with_nested(template: TemplateModel) -> int:
    """Resources of a template and of everything nested in it; 0 for a nested one, which its parent counts."""
    if template.parent is not None or not template.children:
        return 0
    count, pending = 0, [template]
    while pending:
        model = pending.pop()
        count += len(model.resources)
        pending.extend(model.children.values())
    return count


@rule("UC-TPL-003", on=(LAUNCH_TEMPLATE, _INSTANCE))
def user_data_fits(holder: Resource) -> Iterator[Problem]:
    """User data is at most 16 KB before base64."""
    data = user_data(holder)
    if data is None:
        return
    most, least = limit("user_data_bytes"), data.least_bytes
    if least > most:
        yield Problem(data.value, f"{least} bytes of user data before base64 are over the {most} of EC2")
    elif data.most_bytes is None or data.most_bytes > most:
        raise NotKnown(f"{least} bytes of user data are known, the rest may pass {most}")


@rule("UC-TPL-004", on=TEMPLATE)
def sections_fit(template: Template) -> Iterator[Problem]:
    """Parameters, outputs, mappings and dynamic references stay within their limits."""
    model = template.model
    found = check_template_counts(model.raw, subject="", text=model.document.text)
    yield from from_findings(found, lambda _: template)


@rule("UC-TPL-014", on=(LAUNCH_TEMPLATE, _INSTANCE))
def user_data_is_base64(holder: Resource) -> Iterator[Problem]:
    """User data is Fn::Base64 of a text, or a text in base64."""
    data = user_data(holder)
    if data is None or data.is_encoded:
        return
    known = "".join(part for part in data.parts if isinstance(part, str))
    if not known.strip() and not data.placeholders:
        return
    # Base64 may be put together from pieces, but no piece of it has other letters.
    if not set(known) - _BASE64_LETTERS:
        if data.placeholders:
            raise NotKnown(f"whether user data {data.value.shown} is in base64")
        yield Problem(data.value, f"{data.value.shown} is a text that is no base64, EC2 takes nothing else")
        return
    yield Problem(data.value, f"{data.value.shown} is plain text, EC2 takes base64 only")
