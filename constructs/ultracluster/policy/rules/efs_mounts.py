"""Rules on how EFS is mounted: by containers, and by the user data of instances."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from ultracluster.policy.graph.attached_groups import INSTANCE
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE
from ultracluster.policy.graph.user_data import MARK, user_data
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_JOB, _TASK = "AWS::Batch::JobDefinition", "AWS::ECS::TaskDefinition"
_ENDS = re.compile(r"[;&|]")
_QUOTES = "\"'"


@rule("UC-EFS-004", on=(_JOB, _TASK))
def containers_mount_with_tls(definition: Resource) -> Iterator[Problem]:
    """A volume with IAM or an access point has encryption in transit."""
    for volumes in _volumes(definition):
        for volume in volumes.items():
            with volume.judged_apart():
                yield from _without_tls(volume)


def _volumes(definition: Resource) -> Iterator[Value]:
    if definition.type == _TASK:
        yield definition.get("Volumes")
        return
    yield definition.get("ContainerProperties", "Volumes")
    ranges = definition.get("NodeProperties", "NodeRangeProperties").items()
    yield from (entry.get("Container", "Volumes") for entry in ranges)
    for holder in (definition.properties, *ranges):
        for task in holder.get("EcsProperties", "TaskProperties").items():
            yield task["Volumes"]


def _without_tls(volume: Value) -> Iterator[Problem]:
    for name in ("EfsVolumeConfiguration", "EFSVolumeConfiguration"):
        mounted = volume[name]
        authorization = mounted["AuthorizationConfig"]
        why = [authorization[key] for key in ("Iam", "IAM") if authorization[key].text("").upper() == "ENABLED"]
        why += [authorization["AccessPointId"]] if authorization["AccessPointId"].exists else []
        tls = mounted["TransitEncryption"]
        if why and tls.text("DISABLED").upper() != "ENABLED":
            message = (
                f"{tls.shown} beside {why[0].label[-1]} {why[0].shown}, which works with encryption in transit only"
            )
            yield Problem(tls, message, "set TransitEncryption to ENABLED")


@rule("UC-EFS-004", on=(LAUNCH_TEMPLATE, INSTANCE))
def instances_mount_with_tls(resource: Resource) -> Iterator[Problem]:
    """A mount in the user data that asks for IAM or an access point asks for TLS."""
    found = user_data(resource)
    for line in found.text.splitlines() if found is not None else ():
        options = _options(line) if "efs" in line else []
        wanted = [option for option in options if option == "iam" or option.startswith("accesspoint=")]
        if found is None or not wanted or "tls" in options:
            continue
        if any(option.startswith((MARK, "$")) for option in options):
            raise NotKnown("mount options that are set elsewhere")
        yield Problem(found.value, f"EFS is mounted with {wanted[0].replace(MARK, '...')} but without tls")


def _options(line: str) -> list[str]:
    """The options of every mount of EFS in a line: of commands, and of lines for /etc/fstab."""
    if line.lstrip().startswith("#"):
        return []
    listed = [
        option for command in _ENDS.split(line) for option in (*_of_mount(command.split()), *_of_table(command.split()))
    ]
    return [option.strip(_QUOTES) for options in listed for option in options.split(",")]


def _of_mount(words: list[str]) -> Iterator[str]:
    helper = any(word.endswith("mount.efs") for word in words)
    typed = "-tefs" in words or any(pair == ("-t", "efs") for pair in pairwise(words))
    if helper or (typed and any(word.endswith("mount") for word in words)):
        yield from (after for word, after in pairwise(words) if word == "-o")
        yield from (word[2:] for word in words if word.startswith("-o") and word != "-o")


def _of_table(words: list[str]) -> Iterator[str]:
    """Device, directory, type, options; also inside of an echo."""
    for at, word in enumerate(words[2:-1], start=2):
        if word == "efs" and words[at - 1].startswith("/"):
            yield words[at + 1]
