"""Who launches instances from a launch template, and of which types."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.policy.value import Value
from ultracluster.policy.view import Assembly, Resource

__all__ = ["mixed_launch_templates", "named_launch_template"]

LAUNCH_TEMPLATE = "AWS::EC2::LaunchTemplate"


def named_launch_template(specification: Value) -> Resource | None:
    """The launch template that a specification names by id or by name; None when it is another stack's.

    Args:
        specification: an object with LaunchTemplateId (EKS: Id, PCS: TemplateId) or LaunchTemplateName (EKS: Name).
    """
    for key in ("LaunchTemplateId", "Id", "TemplateId"):
        value = specification.get(key)
        if value.exists:
            return value.resource(LAUNCH_TEMPLATE)
    for key in ("LaunchTemplateName", "Name"):
        name = specification.get(key)
        if name.exists:
            return _by_name(name)
    return None


def _by_name(name: Value) -> Resource | None:
    found = name.resource(LAUNCH_TEMPLATE)
    if found is not None:
        return found
    wanted = name.text()
    for template in Assembly(name.world).resources(LAUNCH_TEMPLATE):
        with name.judged_apart():
            if template.get("LaunchTemplateName").text("") == wanted:
                return template
    return None


def mixed_launch_templates(group: Resource) -> Iterator[Resource]:
    """Launch templates of the mixed instances policy of an Auto Scaling group, overrides included, each once."""
    policy = group.get("MixedInstancesPolicy", "LaunchTemplate")
    seen: set[Resource] = set()
    places = [policy.get("LaunchTemplateSpecification")]
    places += [override.get("LaunchTemplateSpecification") for override in policy.get("Overrides").items()]
    for place in places:
        found = named_launch_template(place) if place.exists else None
        if found is not None and found not in seen:
            seen.add(found)
            yield found
