"""Rules on what nodes are launched with: their profile, the key of their volumes, their boot scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ultracluster.facts.permissions import launching_roles
from ultracluster.policy.graph.attached_groups import INSTANCE
from ultracluster.policy.graph.key_policies import grants_launch, key_of
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, uses_of
from ultracluster.policy.graph.networks import HYPERPOD, made_here
from ultracluster.policy.graph.roles import PROFILE, ROLE, Statement, role_of, statements
from ultracluster.policy.graph.s3_places import arn_covers, marked, object_in
from ultracluster.policy.graph.user_data import user_data
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_PCS = "AWS::PCS::ComputeNodeGroup"
_PROFILES: dict[str, tuple[str, ...]] = {
    "AWS::AutoScaling::LaunchConfiguration": ("IamInstanceProfile",),
    "AWS::Batch::ComputeEnvironment": ("ComputeResources", "InstanceRole"),
    "AWS::ImageBuilder::InfrastructureConfiguration": ("InstanceProfileName",),
    INSTANCE: ("IamInstanceProfile",),
    LAUNCH_TEMPLATE: ("LaunchTemplateData", "IamInstanceProfile"),
    _PCS: ("IamInstanceProfileArn",),
}
_FETCH = re.compile(r"\baws\s+s3\s+cp\s+(?:--\S+\s+)*[\"']?(s3://[^\s\"'$]+\.(?:sh|py))(?=[\s\"'])")
_WRITE = "s3:PutObject"


@rule("UC-IAM-010", on=tuple(_PROFILES))
def profiles_are_profiles(launcher: Resource) -> Iterator[Problem]:
    """Where an instance profile is expected no role stands."""
    value = launcher.get(*_PROFILES[launcher.type])
    for named in (value["Arn"], value["Name"]) if value.is_object else (value,):
        if not named.exists:
            continue
        found = named.resource(ROLE, PROFILE)
        if found is None:
            continue
        attribute = "" if (reference := named.reference()) is None else reference.attribute
        if found.type == ROLE and not (attribute == "" and _has_namesake(found)):
            yield Problem(named, f"{named.shown} is a role, an instance profile is expected")
        elif found.type == PROFILE and launcher.type == _PCS and attribute != "Arn":
            message = f"{named.shown} is the name of an instance profile, its ARN is expected"
            yield Problem(named, message, "use its Arn attribute")


def _has_namesake(role: Resource) -> bool:
    """Whether an instance profile of the assembly has the name of a role, as far as the template says."""
    name = role.get("RoleName")
    for profile in role.referrers(PROFILE):
        own = profile.get("InstanceProfileName")
        if own.exists and (made_here(own, ROLE) == role or (name.exists and own.symbol() == name.symbol())):
            return True
    return False


@rule("UC-IAM-007", on=tuple(launching_roles()))
def volume_keys_let_the_launcher_in(fleet: Resource) -> Iterator[Problem]:
    """The key of a volume lets the service-linked role use it that launches the instances."""
    keys: dict[Resource, Value] = {}
    for launch_template in dict.fromkeys(use.launch_template for use in uses_of(fleet)):
        for mapping in launch_template.get("LaunchTemplateData", "BlockDeviceMappings").items():
            named = mapping.get("Ebs", "KmsKeyId")
            with named.judged_apart():
                key = key_of(named) if named.exists else None
                if key is not None:
                    keys.setdefault(key, named)
    for key in keys:
        with fleet.properties.judged_apart():
            missing = _missing(key, fleet)
            if missing:
                name = launching_roles()[fleet.type][0].rpartition("/")[2]
                policy = key.get("KeyPolicy")
                message = f"does not let {name} call {', '.join(missing)}, so instances of {fleet} end at once"
                yield Problem(policy if policy.exists else key, message)


def _missing(key: Resource, fleet: Resource) -> tuple[str, ...]:
    """What every role that may launch a fleet lacks; none when one of them has all."""
    missing: tuple[str, ...] = ()
    for role in launching_roles()[fleet.type]:
        lacking = grants_launch(key, role)
        if not lacking:
            return ()
        missing = missing or lacking
    if any(user.type.startswith(("Custom::", "AWS::CloudFormation::CustomResource")) for user in key.referrers()):
        raise NotKnown("whether a custom resource grants the use of the key")
    return missing


@rule("UC-IAM-006", on=(HYPERPOD, LAUNCH_TEMPLATE, INSTANCE))
def nodes_cannot_write_their_scripts(launcher: Resource) -> Iterator[Problem]:
    """Nodes may not write the scripts that they run when they start."""
    seen: set[tuple[Resource, str]] = set()
    for script, profile in _scripts(launcher):
        with launcher.properties.judged_apart():
            role = role_of(profile)
            if role is None or (role, script) in seen:
                continue
            seen.add((role, script))
            for statement in statements(role):
                with statement.where.judged_apart():
                    yield from _writes(statement, script, launcher)


def _writes(statement: Statement, script: str, launcher: Resource) -> Iterator[Problem]:
    if not statement.allows or statement.has_condition or not statement.covers(_WRITE):
        return
    for resource in statement.resources:
        with resource.judged_apart():
            if arn_covers(resource, script):
                message = f"{_WRITE} on {resource.shown} covers the scripts that {launcher} runs at boot"
                yield Problem(resource, message)
                return


def _scripts(launcher: Resource) -> Iterator[tuple[str, Value]]:
    """Bucket and key of each script, and the role or profile of the nodes that run it."""
    template = launcher.model.template
    if launcher.type == HYPERPOD:
        for group in launcher.get("InstanceGroups").items():
            source = group["LifeCycleConfig"]["SourceS3Uri"]
            with source.judged_apart():
                folder = object_in(marked(source.parts(), source.place.template))
                if folder:
                    yield f"{folder.rstrip('/')}/{_first_script(group)}", group["ExecutionRole"]
        return
    data = user_data(launcher)
    keys = _PROFILES[launcher.type]
    if data is not None and launcher.get(*keys).exists and "aws s3 cp" in data.text:
        for address in _FETCH.findall(marked(data.parts, template)):
            yield object_in(address), launcher.get(*keys)


def _first_script(group: Value) -> str:
    return group["LifeCycleConfig"]["OnCreate"].text("on_create.sh")
