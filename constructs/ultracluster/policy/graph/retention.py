"""Whether CloudFormation keeps a resource when it leaves the stack, or when an update replaces it."""

from __future__ import annotations

from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

__all__ = ["KEPT_ON_DELETION", "KEPT_ON_REPLACEMENT", "deletion_policy", "is_retained", "replacement_policy"]

KEPT_ON_DELETION = ("Retain", "RetainExceptOnCreate")
KEPT_ON_REPLACEMENT = ("Retain",)


def deletion_policy(resource: Resource) -> Value:
    """What happens when the resource or its stack is removed."""
    return resource.attribute("DeletionPolicy")


def replacement_policy(resource: Resource) -> Value:
    """What happens to the old one when an update replaces the resource."""
    return resource.attribute("UpdateReplacePolicy")


def is_retained(resource: Resource) -> bool:
    """Whether it stays when its stack is removed.

    Raises:
        NotKnown: the policy is not known.
    """
    return deletion_policy(resource).text("Delete") in KEPT_ON_DELETION
