"""Rules on how EFS is mounted: by containers, and by the user data of instances."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ultracluster.policy.graph.attached_groups import INSTANCE
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE
from ultracluster.policy.graph.user_data import MARK, user_data
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_JOB, _TASK = "AWS::Batch::JobDefinition", "AWS::ECS::TaskDefinition"
_MOUNT = re.compile(r"\bmount(?:\.efs\b|\s(?:[^\n;&|]*\s)?-t\s*efs\b)[^\n;&|]*")
_OPTIONS = re.compile(r"(?:^|\s)-o\s*(\S+)")
# device, directory, type, options: a line of /etc/fstab, also inside of an echo
_FSTAB = re.compile(r"\S+[ \t]+/\S*[ \t]+efs[ \t]+([^\s\"']+)")


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
    text = found.text if found is not None and "efs" in found.text else ""
    for line in text.splitlines():
        options = _options(line)
        wanted = [option for option in options if option == "iam" or option.startswith("accesspoint=")]
        if found is None or not wanted or "tls" in options:
            continue
        if any(option.startswith((MARK, "$")) for option in options):
            raise NotKnown("mount options that are set elsewhere")
        yield Problem(found.value, f"EFS is mounted with {wanted[0].replace(MARK, '...')} but without tls")


def _options(line: str) -> list[str]:
    if line.lstrip().startswith("#"):
        return []
    mounts = [option for mount in _MOUNT.findall(line) for option in _OPTIONS.findall(mount)]
    listed = [*mounts, *_FSTAB.findall(line)]
    return [option.strip("\"'") for options in listed for option in options.split(",")]
