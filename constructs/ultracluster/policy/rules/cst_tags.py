"""Rules on tags that tell whose cost something is."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.cost_rules import cost_rule_facts
from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.file_systems import FILE_SYSTEM
from ultracluster.policy.graph.fleets import AUTO_SCALING_GROUP
from ultracluster.policy.graph.interfaces import is_launched
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, users_of
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_EFS = "AWS::EFS::FileSystem"


@rule("UC-CST-003", on=LAUNCH_TEMPLATE)
def nodes_and_volumes_carry_cost_tags(launch_template: Resource) -> Iterator[Problem]:
    """Instances and volumes of fleets carry a tag that tells whose cost they are."""
    if not is_launched(launch_template):
        return
    specifications = launch_template.get("LaunchTemplateData", "TagSpecifications")
    tagged = {
        entry["ResourceType"].text("")
        for entry in specifications.items()
        if _has_cost_tag(entry["Tags"].items(), "Key")
    }
    missing = [] if "volume" in tagged else ["volumes"]
    missing += [] if "instance" in tagged or not _leaves_tags_to_template(launch_template) else ["instances"]
    if missing:
        where: Value | Resource = specifications if specifications.exists else launch_template
        yield Problem(where, f"no tag of {' and '.join(missing)} tells project, owner, run or cost centre")


def _has_cost_tag(tags: list[Value], key: str) -> bool:
    return any_known(tags, lambda tag: cost_rule_facts().is_cost_tag(tag[key].known_text("")))


def _leaves_tags_to_template(launch_template: Resource) -> bool:
    """Whether every fleet that launches it tags its instances by the launch template alone."""
    fleets = [use.consumer for use in users_of(launch_template)]
    return all(fleet.type == AUTO_SCALING_GROUP and not _hands_on_tags(fleet) for fleet in fleets)


def _hands_on_tags(group: Resource) -> bool:
    tags = group.get("Tags").items()
    return _has_cost_tag([tag for tag in tags if tag["PropagateAtLaunch"].boolean(False)], "Key")


@rule("UC-CST-003", on=(FILE_SYSTEM, _EFS))
def file_systems_carry_cost_tags(file_system: Resource) -> Iterator[Problem]:
    """File systems carry a tag that tells whose cost they are."""
    key = "FileSystemTags" if file_system.type == _EFS else "Tags"
    tags = file_system.get(key)
    if _has_cost_tag(tags.items(), "Key"):
        return
    if not file_system.assembly.is_app:
        raise NotKnown("which tags the stack gets when it is deployed")
    yield Problem(tags if tags.exists else file_system, "no tag tells project, owner, run or cost centre")
