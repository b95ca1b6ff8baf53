"""Rules on what surrounds the shape of a Lustre file system: key, backups, retention, groups, subnet, logs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ultracluster.facts.lustre import lustre_facts
from ultracluster.findings import Finding
from ultracluster.plan.data_repository import DataRepositoryRequest
from ultracluster.plan.lustre_request import LustreRequest
from ultracluster.plan.lustre_settings import check_settings
from ultracluster.policy.graph.attached_groups import carriers_of
from ultracluster.policy.graph.file_systems import FILE_SYSTEM
from ultracluster.policy.graph.lustre import Lustre, judged_as, lustre_of
from ultracluster.policy.graph.security_groups import security_group
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown, Opaque
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_LOG_GROUP = "AWS::Logs::LogGroup"
_KEPT = {"DeletionPolicy": ("Retain", "RetainExceptOnCreate"), "UpdateReplacePolicy": ("Retain",)}
_ANY_LINK = DataRepositoryRequest(file_system_path="/", bucket="linked")


def _settings(lustre: Lustre, **settings: Any) -> Iterator[Finding]:  # noqa: ANN401 - fields of the request
    request = LustreRequest(name="", deployment=lustre.fields(), **settings)
    return check_settings(request, lustre.facts, "")


@rule("UC-LUS-016", on=FILE_SYSTEM)
def key_where_it_works(file_system: Resource) -> Iterator[Problem]:
    """Only a persistent file system takes a key."""
    lustre = lustre_of(file_system)
    if lustre is not None and lustre.at("encryption_key").exists and not lustre.from_backup:
        yield from judged_as("UC-LUS-016", _settings(lustre, customer_key=True), lustre)


@rule("UC-LUS-017", on=FILE_SYSTEM)
def backups_where_they_work(file_system: Resource) -> Iterator[Problem]:
    """Automatic backups stand on persistent file systems without a link to S3."""
    lustre = lustre_of(file_system)
    if lustre is None:
        return
    days, time, tags = (
        lustre.at(name) for name in ("backup_retention_days", "backup_start_time", "copy_tags_to_backups")
    )
    if not (days.exists or time.exists or tags.exists):
        return
    found = _settings(
        lustre,
        backup_retention_days=days.integer(None),
        backup_start_time=time.text(None),
        copy_tags_to_backups=tags.boolean(False),
        data_repositories=(_ANY_LINK,) if lustre.is_linked else (),
    )
    yield from judged_as("UC-LUS-017", found, lustre)


@rule("UC-LUS-018", on=FILE_SYSTEM)
def persistent_is_retained(file_system: Resource) -> Iterator[Problem]:
    """A persistent file system outlives its stack and its replacement."""
    lustre = lustre_of(file_system)
    if lustre is None or not lustre.is_persistent:
        return
    lost = [
        attribute
        for name, kept in _KEPT.items()
        if (attribute := file_system.attribute(name)).text("Delete") not in kept
    ]
    if lost:
        told = " and ".join(f"{each.path} {each.shown if each.exists else 'absent (Delete)'}" for each in lost)
        yield Problem(lost[0] if lost[0].exists else file_system, f"{told}: the data goes with the stack")


@rule("UC-LUS-019", on=FILE_SYSTEM)
def stable_list_of_groups(file_system: Resource) -> Iterator[Problem]:
    """The list of groups is one group of its own, so that it never has to change."""
    lustre = lustre_of(file_system)
    groups = file_system.get("SecurityGroupIds")
    if lustre is None:
        return
    listed = groups.items()
    if len(listed) > 1:
        yield Problem(groups, f"{len(listed)} groups: another list replaces the file system and its data")
        return
    for value in listed:
        group = security_group(value)
        carriers = carriers_of(group) if group is not None else []
        if carriers:
            why = "a fleet that changes its groups would replace the file system and its data"
            yield Problem(value, f"{group} is also on {carriers[0]}: {why}")


@rule("UC-LUS-020", on=FILE_SYSTEM)
def one_subnet(file_system: Resource) -> Iterator[Problem]:
    """A Lustre file system stands in one subnet."""
    subnets = file_system.get("SubnetIds")
    if lustre_of(file_system) is None or not subnets.exists:
        return
    count = len(subnets.items())
    if count != 1:
        yield Problem(subnets, f"{count} subnets, a Lustre file system stands in exactly one")


@rule("UC-LUS-022", on=FILE_SYSTEM)
def log_configuration(file_system: Resource) -> Iterator[Problem]:
    """The level exists, and the destination is a log group that the service may write to."""
    lustre = lustre_of(file_system)
    level = lustre.at("log_level") if lustre is not None else None
    if lustre is None or level is None or not file_system.get("LustreConfiguration", "LogConfiguration").exists:
        return
    with level.judged_apart():
        yield from judged_as("UC-LUS-022", _settings(lustre, log_level=level.text(None)), lustre)
    destination = file_system.get("LustreConfiguration", "LogConfiguration", "Destination")
    if not destination.exists:
        return
    if level.text("") == "DISABLED":
        yield Problem(destination, "is written with Level DISABLED, which takes none", "leave Destination out")
        return
    prefix = lustre_facts().log_group_prefix.rstrip("/")
    name = _log_group_name(destination)
    if not name.startswith(prefix):
        yield Problem(destination, f"{name or 'a generated name'} does not begin with {prefix}")


def _log_group_name(destination: Value) -> str:
    """The known beginning of the name of a log group; empty for one that CloudFormation makes up.

    Raises:
        NotKnown: it begins with something that is not known, or the destination is no log group.
    """
    references = (part.reference for part in destination.parts() if isinstance(part, Opaque))
    group = next((each for each in references if each is not None and each.type == _LOG_GROUP), None)
    if group is not None:
        name = Resource(group.target, destination.world).get("LogGroupName")
        return _beginning(name.known_text()) if name.exists else ""
    _, found, rest = destination.known_text().partition(":log-group:")
    if not found:
        raise NotKnown(f"the log group of {destination.shown}")
    return _beginning(rest)


def _beginning(name: str) -> str:
    mark = "\ufffc"
    known = name.partition(mark)[0]
    prefix = lustre_facts().log_group_prefix.rstrip("/")
    if mark in name and len(known) < len(prefix) and prefix.startswith(known):
        raise NotKnown("the beginning of the name of a log group")
    return known if mark in name else name
