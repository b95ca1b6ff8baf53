"""Managed node groups of Amazon EKS: their launch template, image and instance types."""

from __future__ import annotations

from collections.abc import Callable

from ultracluster.facts.eks import eks_facts
from ultracluster.policy.graph.accelerators import is_accelerated
from ultracluster.policy.graph.capacity import fleet_buys_block, is_block
from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.fleets import NODE_GROUP
from ultracluster.policy.graph.interfaces import has_fabric
from ultracluster.policy.graph.launch_templates import named_launch_template, users_of
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = [
    "NODE_GROUP",
    "draws_on_block",
    "has_own_image",
    "is_for_training",
    "launch_template_of",
    "node_groups_of",
    "node_types",
]


def node_groups_of(launch_template: Resource) -> list[Resource]:
    """The node groups that launch from a launch template, each once."""
    users = (use.consumer for use in users_of(launch_template))
    return list(dict.fromkeys(consumer for consumer in users if consumer.type == NODE_GROUP))


@remembered
def launch_template_of(group: Resource) -> Resource | None:
    """The launch template of a node group; None when it names none.

    Raises:
        NotKnown: it is made elsewhere.
    """
    specification = group.get("LaunchTemplate")
    if not specification.exists:
        return None
    found = named_launch_template(specification)
    if found is None:
        raise NotKnown("a launch template that is made elsewhere")
    return found


@remembered
def has_own_image(group: Resource) -> bool:
    """Whether the launch template of a node group names an image.

    Raises:
        NotKnown: the launch template is made elsewhere.
    """
    launch_template = launch_template_of(group)
    return launch_template is not None and launch_template.get("LaunchTemplateData", "ImageId").exists


@remembered
def node_types(group: Resource) -> list[Value]:
    """The types that a node group names, itself or through its launch template; none when neither does.

    Raises:
        NotKnown: it names none, and its launch template is made elsewhere.
    """
    own = group.get("InstanceTypes").items()
    if own:
        return own
    launch_template = launch_template_of(group)
    kind = launch_template.get("LaunchTemplateData", "InstanceType") if launch_template is not None else None
    return [kind] if kind is not None and kind.exists else []


@remembered
def draws_on_block(group: Resource) -> bool:
    """Whether a node group or its launch template draws on a Capacity Block.

    Raises:
        NotKnown: neither is known to, and one is not known.
    """
    return any_known((fleet_buys_block, _launches_block), lambda ask: ask(group))


def _launches_block(group: Resource) -> bool:
    launch_template = launch_template_of(group)
    return launch_template is not None and is_block(launch_template)


@remembered
def is_for_training(group: Resource) -> bool:
    """Whether a node group is made for accelerators: by type, AMI type, fabric or Capacity Block.

    Raises:
        NotKnown: nothing that is known says so, and something is not known.
    """
    signs: tuple[Callable[[Resource], bool], ...] = (
        _has_accelerated_image,
        _has_accelerated_type,
        _has_fabric,
        draws_on_block,
    )
    return any_known(signs, lambda sign: sign(group))


def _has_accelerated_image(group: Resource) -> bool:
    known = eks_facts().ami_types.get(group.get("AmiType").text(""))
    return known is not None and known.accelerated


def _has_accelerated_type(group: Resource) -> bool:
    return any_known(node_types(group), lambda kind: is_accelerated(kind.text()))


def _has_fabric(group: Resource) -> bool:
    launch_template = launch_template_of(group)
    return launch_template is not None and has_fabric(launch_template)
