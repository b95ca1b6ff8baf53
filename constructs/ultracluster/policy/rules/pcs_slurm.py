"""Rules on Slurm versions, UltraServers and the role of nodes of AWS PCS."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.instances import catalog
from ultracluster.facts.pcs import pcs_facts
from ultracluster.policy.graph.grants import grants
from ultracluster.policy.graph.pcs import (
    CLUSTER,
    PCS_NODE_GROUP,
    QUEUE,
    cluster_of,
    launch_template_of,
    members_of,
    node_groups_in,
    node_types,
    slurm_setting,
    slurm_version,
    version_number,
)
from ultracluster.policy.graph.roles import managed_policies, role_of
from ultracluster.policy.graph.user_data import user_data
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_COMPONENT = "AWS::ImageBuilder::Component"
_PROFILE = "AWS::IAM::InstanceProfile"
_IDLE_TIME = "ScaleDownIdleTimeInSeconds"


@rule("UC-PCS-003", on=PCS_NODE_GROUP)
def profile_is_accepted(group: Resource) -> Iterator[Problem]:
    """The role of the nodes has the name or path that PCS asks for, and may register them."""
    value = group.get("IamInstanceProfileArn")
    role = role_of(value)
    if role is None:
        if value.reference() is not None:
            return  # a role in the place of a profile is a fault of its own
        raise NotKnown("the role of an instance profile that is made elsewhere")
    with value.judged_apart():
        profile = value.resource(_PROFILE)
        if not _is_accepted(role, "RoleName") and (profile is None or not _is_accepted(profile, "InstanceProfileName")):
            facts = pcs_facts()
            name = role.get("RoleName")
            shown = f"role name {name.shown}" if name.exists else "a generated role name"
            message = (
                f"{shown} of {role} begins not with {facts.role_name_prefix}, and its path is no {facts.role_path}"
            )
            yield Problem(value, message)
    with value.judged_apart():
        if not _may_register(role):
            yield Problem(value, f"role {role} lacks {pcs_facts().register_action}")


def _is_accepted(resource: Resource, name_key: str) -> bool:
    """Whether a role or profile is named, or lies, as PCS wants it.

    Raises:
        NotKnown: it cannot be told.
    """
    facts = pcs_facts()
    if resource.get("Path").text("/").startswith(facts.role_path):
        return True
    name = resource.get(name_key)
    if not name.exists:
        stack = resource.template.environment.stack_name
        return stack is not None and stack.startswith(facts.role_name_prefix)
    prefix = name.prefix()
    if not name.known and facts.role_name_prefix.startswith(prefix):
        raise NotKnown(f"how {name.shown} begins")
    return prefix.startswith(facts.role_name_prefix)


def _may_register(role: Resource) -> bool:
    facts = pcs_facts()
    named = managed_policies(role)
    if any(name in facts.register_policies for _, name in named):
        return True
    if grants(role, facts.register_action):
        return True
    literal = [arn for arn in role.get("ManagedPolicyArns").items() if arn.reference() is None]
    if len(literal) > len(named):
        raise NotKnown("a policy that is made elsewhere")
    return False


@rule("UC-PCS-008", on=CLUSTER)
def one_slurm_version(cluster: Resource) -> Iterator[Problem]:
    """Cluster, images and nodes have one version of Slurm, one with which PCS makes clusters."""
    version = slurm_version(cluster)
    if not version.exists:
        return
    number, known = version_number(version.text()), pcs_facts().slurm_versions
    if version.text() not in known:
        if number > version_number(known[-1]):
            raise NotKnown(f"Slurm {version.shown} is newer than the facts")
        yield Problem(version, f"{version.shown}, PCS makes clusters with {', '.join(known)}")
        return
    for where, others in _other_versions(cluster):
        if version.text() not in others:
            message = f"{version.shown}, and {where} is set up for Slurm {', '.join(sorted(others))}"
            yield Problem(version, message)


def _other_versions(cluster: Resource) -> Iterator[tuple[Resource, set[str]]]:
    """Where versions of Slurm are named for the nodes of a cluster: in user data, in components of images."""
    for member in members_of(cluster):
        if member.type != PCS_NODE_GROUP:
            continue
        with member.properties.judged_apart():
            launch_template = launch_template_of(member)
            found = user_data(launch_template) if launch_template is not None else None
            if launch_template is not None and found is not None:
                yield from _named(launch_template, found.text)
    if len(list(cluster.assembly.resources(CLUSTER))) > 1:
        return  # an image may be meant for the other one
    for component in cluster.assembly.resources(_COMPONENT):
        with component.properties.judged_apart():
            yield from _named(component, component.get("Data").known_text())


def _named(where: Resource, text: str) -> Iterator[tuple[Resource, set[str]]]:
    found = {version for pattern in pcs_facts().slurm_places for version in pattern.findall(text)}
    if found:
        yield where, found


@rule("UC-PCS-009", on=CLUSTER)
def features_fit_the_version(cluster: Resource) -> Iterator[Problem]:
    """Settings of a cluster exist in its Slurm version."""
    metrics = slurm_setting(cluster, "MetricsType")
    if metrics is not None:
        yield from _too_old(cluster, metrics["ParameterName"], "MetricsType")
    mode = cluster.get("SlurmConfiguration", "SlurmRest", "Mode")
    if mode.text("NONE") == "STANDARD":
        yield from _too_old(cluster, mode, "SlurmRest")


@rule("UC-PCS-009", on=PCS_NODE_GROUP)
def group_features_fit_the_version(group: Resource) -> Iterator[Problem]:
    """Settings of a node group exist in the Slurm version of its cluster."""
    idle = group.get("SlurmConfiguration", _IDLE_TIME)
    if idle.exists:
        yield from _too_old(cluster_of(group), idle, f"{_IDLE_TIME} of a node group")
    for kind in node_types(group):
        with kind.judged_apart():
            if _is_ultraserver(kind):
                yield from _too_old(cluster_of(group), kind, "UltraServer")


def _too_old(cluster: Resource, where: Value, feature: str) -> Iterator[Problem]:
    version, oldest = slurm_version(cluster), pcs_facts().feature_versions[feature]
    if version_number(version.text()) < version_number(oldest):
        shown = feature.split(" ", 1)[0]
        message = f"{shown} with Slurm {version.shown}, it exists from {oldest} on"
        yield Problem(where, message, f"use Slurm {oldest} or later, or drop the setting")


def _is_ultraserver(kind: Value) -> bool:
    facts = catalog().get(kind.text())
    return facts is not None and bool(facts.ultraservers)


def _has_ultraservers(group: Resource) -> bool:
    return any(_is_ultraserver(kind) for kind in node_types(group))


@rule("UC-PCS-013", on=QUEUE)
def ultraservers_have_their_own_queue(queue: Resource) -> Iterator[Problem]:
    """A queue of UltraServers holds nothing else, in sizes that the topology can lay out."""
    groups = node_groups_in(queue)
    servers = [group for group in groups if _has_ultraservers(group)]
    listed = queue.get("ComputeNodeGroupConfigurations")
    if servers and len(servers) < len(groups):
        other = next(group for group in groups if group not in servers)
        yield Problem(
            listed, f"UltraServer group {servers[0]} beside {other}, which has none", "use a queue of its own"
        )
    sizes = {group: group.get("ScalingConfiguration", "MaxInstanceCount").integer() for group in servers}
    for group, size in sizes.items():
        least = min(count for count in sizes.values() if count > 0) if any(sizes.values()) else 0
        if least and not _is_power_of_two(size, least):
            message = f"{group} has {size} nodes, another group of the queue {least}: the ratio is no power of two"
            yield Problem(listed, message, "use sizes that are powers of two of each other")
            return


def _is_power_of_two(size: int, least: int) -> bool:
    ratio, rest = divmod(size, least)
    return rest == 0 and ratio > 0 and ratio & (ratio - 1) == 0


@rule("UC-PCS-013", on=PCS_NODE_GROUP)
def ultraservers_have_their_prolog(group: Resource) -> Iterator[Problem]:
    """The cluster of UltraServers runs the IMEX prolog at allocation."""
    if not _has_ultraservers(group):
        return
    cluster = cluster_of(group)
    settings = cluster.get("SlurmConfiguration", "SlurmCustomSettings")
    if slurm_setting(cluster, "Prolog") is None:
        yield Problem(settings, f"no Prolog, which sets up IMEX for the UltraServers of {group}")
        return
    flags = slurm_setting(cluster, "PrologFlags")
    given = flags["ParameterValue"].text().replace(" ", "").split(",") if flags is not None else []
    missing = [name for name in pcs_facts().prolog_flags if name not in given]
    if missing:
        yield Problem(settings, f"PrologFlags without {', '.join(missing)} for the UltraServers of {group}")
