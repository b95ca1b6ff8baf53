"""Rules on the template itself: its size, its counts, the user data in it."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.compute_limits import limit
from ultracluster.plan.template_limits import check_template_limits
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE
from ultracluster.policy.graph.user_data import user_data
from ultracluster.policy.problem import Problem, from_findings
from ultracluster.policy.registry import TEMPLATE, rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.view import Resource, Template


@rule("UC-TPL-001", "UC-TPL-002", on=TEMPLATE)
def size_and_resources(template: Template) -> Iterator[Problem]:
    """The template fits the limits of CloudFormation, spaces not counted."""
    resources, size = template.model.resources, template.model.document.upload_bytes
    if size <= limit("template_bytes") and len(resources) <= limit("template_resources"):
        return
    # Only what the limits count: whatever else a foreign template holds stays out of the way.
    bodies = {
        key: {"Properties": model.raw.get("Properties"), "Metadata": {"aws:cdk:path": model.construct_path}}
        for key, model in resources.items()
    }
    found = check_template_limits({"Resources": bodies}, subject="", size_bytes=size)
    yield from from_findings(found, lambda _: template)


@rule("UC-TPL-003", on=LAUNCH_TEMPLATE)
def user_data_fits(template: Resource) -> Iterator[Problem]:
    """User data is at most 16 KB before base64."""
    data = user_data(template)
    if data is None:
        return
    most, least = limit("user_data_bytes"), data.least_bytes
    if least > most:
        yield Problem(data.value, f"{least} bytes of user data before base64 are over the {most} of EC2")
    elif data.most_bytes is None or data.most_bytes > most:
        raise NotKnown(f"{least} bytes of user data are known, the rest may pass {most}")
