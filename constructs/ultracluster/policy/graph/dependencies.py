"""In which order CloudFormation makes the resources of one template."""

from __future__ import annotations

from ultracluster.policy.mentions import names_in
from ultracluster.policy.states import NotKnown
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = ["before", "comes_after"]


@remembered
def _direct(resource: Resource) -> list[Resource]:
    """What a resource names, in DependsOn or in an intrinsic; what a false condition removes orders nothing."""
    template = resource.template
    names = dict.fromkeys([*resource.depends_on, *sorted(names_in(resource.model.raw))])
    found = (template.resource(name) for name in names if name in template.model.resources)
    return [each for each in found if each != resource and each.exists]


@remembered
def before(resource: Resource) -> frozenset[Resource]:
    """Everything that is made before a resource, directly or by way of others.

    Raises:
        NotKnown: a DependsOn is not known.
    """
    found: set[Resource] = set()
    pending = list(_direct(resource))
    while pending:
        each = pending.pop()
        if each not in found:
            found.add(each)
            pending.extend(_direct(each))
    return frozenset(found)


def comes_after(one: Resource, other: Resource) -> bool:
    """Whether one resource is made after another, and so removed before it.

    Raises:
        NotKnown: they stand in different templates.
    """
    if one.template != other.template:
        raise NotKnown(f"the order of {one} and {other}, which stand in different templates")
    return other in before(one)
