"""Rules on the execution role of SageMaker HyperPod: where it reads scripts, and the interfaces it makes."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator

from ultracluster.facts.hyperpod import hyperpod_facts
from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.grants import allows, grants
from ultracluster.policy.graph.hyperpod import CLUSTER, InstanceGroup, instance_groups
from ultracluster.policy.graph.roles import ROLE, Statement, managed_policies, role_of, statements
from ultracluster.policy.graph.user_data import MARK
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_READ = "s3:GetObject"


def _role_of(group: InstanceGroup) -> Resource:
    role = role_of(group.value["ExecutionRole"])
    if role is None or role.type != ROLE:
        raise NotKnown("an execution role that is made elsewhere")
    return role


@rule("UC-HPD-007", on=CLUSTER)
def scripts_can_be_read(cluster: Resource) -> Iterator[Problem]:
    """The role of an instance group may read the bucket of its lifecycle scripts."""
    prefix = hyperpod_facts().bucket_prefix
    for group in instance_groups(cluster):
        source = group.value.get("LifeCycleConfig", "SourceS3Uri")
        with source.judged_apart():
            if not source.exists or source.prefix().startswith(f"s3://{prefix}"):
                continue
            bucket = _bucket(source)
            if not _may_read(_role_of(group), bucket):
                message = f"bucket {bucket} begins not with {prefix}, and {_role_of(group)} has no statement for it"
                yield Problem(source, message)


def _bucket(source: Value) -> str:
    """The name of the bucket.

    Raises:
        NotKnown: it is not written out.
    """
    beginning, _, name = source.prefix().partition("://")
    if beginning != "s3" or not name or (not source.known and "/" not in name):
        raise NotKnown(f"the bucket of {source.shown}")
    return name.split("/", 1)[0]


def _may_read(role: Resource, bucket: str) -> bool:
    if any(name in hyperpod_facts().bucket_policies for _, name in managed_policies(role)):
        return True
    if any_known(statements(role), lambda statement: _reads(statement, bucket)):
        return True
    facts = hyperpod_facts()
    _know_all_policies(role, lambda name: name in facts.policy_actions and name not in facts.some_bucket_policies)
    return False


def _reads(statement: Statement, bucket: str) -> bool:
    if not allows(statement, _READ):
        return False
    return any_known(statement.resources, lambda value: _holds(value, bucket))


def _holds(value: Value, bucket: str) -> bool:
    """Whether the ARN of a statement holds objects of a bucket.

    Raises:
        NotKnown: it may.
    """
    pattern = value.known_text(MARK).rsplit(":", 1)[-1]
    if not fnmatch.fnmatchcase(f"{bucket}/scripts/setup.sh", pattern.replace(MARK, "*")):
        return False
    if MARK in pattern:
        raise NotKnown(f"which bucket {value.shown} names")
    return True


def _know_all_policies(role: Resource, is_known: Callable[[str], bool]) -> None:
    """Raises `NotKnown` unless everything that is attached to a role is at hand."""
    named = managed_policies(role)
    literal = [arn for arn in role.get("ManagedPolicyArns").items() if arn.reference() is None]
    if len(literal) > len(named):
        raise NotKnown("a policy that is made elsewhere")
    for _, name in named:
        if not is_known(name):
            raise NotKnown(f"what policy {name} holds")


@rule("UC-HPD-019", on=CLUSTER)
def role_may_make_interfaces(cluster: Resource) -> Iterator[Problem]:
    """The role of an instance group in an own VPC may manage interfaces there."""
    told: set[Resource] = set()
    for group in instance_groups(cluster):
        with group.value.judged_apart():
            if not group.network.exists:
                continue
            role = _role_of(group)
            missing = _missing(role) if role not in told else []
            told.add(role)
            if missing:
                more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
                message = f"{role} lacks {missing[0]}{more}, which nodes in an own VPC need"
                yield Problem(group.value["ExecutionRole"], message)


def _missing(role: Resource) -> list[str]:
    facts = hyperpod_facts()
    given = {action for _, name in managed_policies(role) for action in facts.policy_actions.get(name, ())}
    if "*" in given:
        return []
    missing = [action for action in facts.interface_actions if action not in given and not grants(role, action)]
    if missing:
        _know_all_policies(role, lambda name: name in facts.policy_actions)
    return missing
