"""What is run, or written, on nodes as they boot or as their image is built."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ultracluster.facts.instances import catalog
from ultracluster.plan.node_variables import without_comments
from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.interfaces import has_fabric
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, instance_types, uses_of
from ultracluster.policy.graph.user_data import MARK, user_data
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = ["SCRIPT_HOLDERS", "NodeScript", "is_training_node", "node_script", "node_types", "training_script"]

# Files that are carried compressed: nothing to read in them, and far longer than any word of a script.
_BLOB = re.compile(r"\S{400,}")
# Beyond what EC2 and Image Builder take, and beyond what anybody writes on one line.
_MOST_TEXT = 64_000
_LONG_LINE = re.compile(r"(?m)^(.{2000}).+$")
_COMPONENT, _INSTANCE = "AWS::ImageBuilder::Component", "AWS::EC2::Instance"
SCRIPT_HOLDERS = (LAUNCH_TEMPLATE, _INSTANCE, "AWS::AutoScaling::LaunchConfiguration", _COMPONENT)
"""Resource types that carry scripts of nodes."""


@dataclass(frozen=True, slots=True)
class NodeScript:
    """The user data of nodes, or the document of an image component.

    Attributes:
        where: the property.
        text: what it says, comments left out, with `MARK` for what is not known.
    """

    where: Value
    text: str

    @property
    def is_whole(self) -> bool:
        """Whether all of it is known: only then does it tell what is missing."""
        return MARK not in self.text


@remembered
def node_script(holder: Resource) -> NodeScript | None:
    """The script of a launch template, instance or image component; None when it has none.

    Raises:
        NotKnown: nothing of it is known.
    """
    if holder.type == _COMPONENT:
        data = holder.get("Data")
        return NodeScript(data, _readable(data.known_text(MARK))) if data.exists else None
    found = user_data(holder)
    return NodeScript(found.value, _readable(found.text)) if found is not None else None


@lru_cache(maxsize=256)
def _readable(text: str) -> str:
    return without_comments(_LONG_LINE.sub(r"\1", _BLOB.sub("", text[:_MOST_TEXT])))


@remembered
def is_training_node(holder: Resource) -> bool:
    """Whether what is launched may train: a type of the catalogue, a fabric, or nothing that says otherwise.

    Raises:
        NotKnown: no type is known to, and one is not known.
    """
    if holder.type not in {LAUNCH_TEMPLATE, _INSTANCE}:
        return True
    if holder.type == LAUNCH_TEMPLATE and has_fabric(holder):
        return True
    types = node_types(holder)
    families = {facts.family for facts in catalog().values()}
    return not types or any_known(types, lambda value: value.text().split(".", 1)[0] in families)


def node_types(holder: Resource) -> list[Value]:
    """The instance types that run a script, still unknown ones too; none when nobody says."""
    if holder.type == LAUNCH_TEMPLATE:
        return instance_types(holder)
    own = holder.get("InstanceType")
    if own.exists or holder.type != _INSTANCE:
        return [own] if own.exists else []
    data = (use.launch_template.get("LaunchTemplateData", "InstanceType") for use in uses_of(holder))
    return [value for value in data if value.exists]


def training_script(holder: Resource, *words: str) -> NodeScript | None:
    """The script of nodes that may train, when it holds one of these words; None otherwise.

    Raises:
        NotKnown: as `node_script` and `is_training_node`.
    """
    script = node_script(holder)
    if script is None or not any(word in script.text for word in words):
        return None
    return script if is_training_node(holder) else None
