"""Rules on state: that it outlives its stack, stands apart from what is replaced, and survives an update."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ultracluster.facts.create_only import create_only
from ultracluster.policy.graph.fleets import AUTO_SCALING_GROUP, EC2_FLEET, NODE_GROUP, PCS_NODE_GROUP, SPOT_FLEET
from ultracluster.policy.graph.retention import (
    KEPT_ON_DELETION,
    KEPT_ON_REPLACEMENT,
    deletion_policy,
    is_retained,
    replacement_policy,
)
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import TEMPLATE, diff_rule, rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value, dotted, shortened
from ultracluster.policy.view import Resource, Template

_FSX, _EFS = "AWS::FSx::FileSystem", "AWS::EFS::FileSystem"
_DATABASES = ("AWS::RDS::DBCluster", "AWS::RDS::DBInstance")
_KEY, _BUCKET, _LOGS = "AWS::KMS::Key", "AWS::S3::Bucket", "AWS::Logs::LogGroup"
_TRAIL = "AWS::CloudTrail::Trail"
_ENCRYPTED = (_FSX, _EFS, *_DATABASES, _BUCKET, _LOGS, "AWS::EC2::Volume")
_CUSTOM = "AWS::CloudFormation::CustomResource"
_EMPTIES = re.compile(r"empt(y|ie)|clean.?up|purge|auto.?delete|delete.?objects", re.IGNORECASE)
_EKS_LOGS = re.compile(r"/aws/eks/.+/cluster")
_COMPUTE = (
    AUTO_SCALING_GROUP,
    EC2_FLEET,
    SPOT_FLEET,
    NODE_GROUP,
    PCS_NODE_GROUP,
    "AWS::Batch::ComputeEnvironment",
    "AWS::SageMaker::Cluster",
)


@rule("UC-TPL-006", on=(_FSX, _EFS, *_DATABASES, _KEY, _BUCKET, _LOGS))
def state_is_retained(resource: Resource) -> Iterator[Problem]:
    """What holds data stays when its stack is removed, and when an update replaces it."""
    what = _held(resource)
    if not what:
        return
    with_snapshot = ("Snapshot",) if resource.type in _DATABASES else ()
    absent = "Snapshot" if resource.type in _DATABASES else "Delete"
    lost: list[tuple[Value, str]] = []
    for value, kept in (
        (deletion_policy(resource), KEPT_ON_DELETION),
        (replacement_policy(resource), KEPT_ON_REPLACEMENT),
    ):
        with value.judged_apart():
            if value.text(absent) not in (*kept, *with_snapshot):
                lost.append((value, f"{value.path} is {value.shown if value.exists else 'absent, which means Delete'}"))
    if lost:
        where = next((value for value, _ in lost if value.exists), None)
        yield Problem(where or resource, f"{' and '.join(text for _, text in lost)}, so {what} is lost")


def _held(resource: Resource) -> str:
    """What is lost with a resource; empty for one that holds nothing of its own."""
    holds, what = _HOLDS[resource.type]
    if resource.type == _KEY:
        return _kept_with_the_key(resource)
    return what if holds(resource) else ""


def _is_no_lustre(file_system: Resource) -> bool:
    # Lustre has a rule of its own: what is scratch may go.
    return file_system.get("FileSystemType").text() != "LUSTRE"


def _stands_alone(instance: Resource) -> bool:
    """Whether a database instance has its own storage, not that of a cluster."""
    return not instance.get("DBClusterIdentifier").exists


def _kept_with_the_key(key: Resource) -> str:
    if is_retained(key) and replacement_policy(key).text("Delete") in KEPT_ON_REPLACEMENT:
        return ""
    kept = next((found for found in key.referrers(*_ENCRYPTED) if is_retained(found)), None)
    # A key is never replaced: only its deletion counts.
    return f"what {kept} keeps" if kept is not None and not is_retained(key) else ""


def _is_emptied(bucket: Resource) -> bool:
    for found in bucket.referrers():
        if (found.type.startswith("Custom::") or found.type == _CUSTOM) and _EMPTIES.search(
            f"{found.type} {found.logical_id}"
        ):
            return True
    return False


def _is_audit(group: Resource) -> bool:
    if group.referrers(_TRAIL):
        return True
    name = group.get("LogGroupName")
    return name.is_scalar and _EKS_LOGS.fullmatch(name.known_text("x")) is not None


def _always(_: Resource) -> bool:
    return True


_HOLDS: dict[str, tuple[Callable[[Resource], bool], str]] = {
    _FSX: (_is_no_lustre, "the file system"),
    _EFS: (_always, "the file system"),
    _DATABASES[0]: (_always, "the database"),
    _DATABASES[1]: (_stands_alone, "the database"),
    _KEY: (_always, ""),
    _BUCKET: (_is_emptied, "everything in the bucket"),
    _LOGS: (_is_audit, "the audit log"),
}


@rule("UC-TPL-007", on=TEMPLATE)
def state_apart_from_compute(template: Template) -> Iterator[Problem]:
    """File systems and fleets stand in different templates."""
    file_systems = list(template.resources(_FSX, _EFS))
    if not file_systems:
        return
    fleets = list(template.resources(*_COMPUTE))
    if fleets:
        more = f" and {len(fleets) - 1} more" if len(fleets) > 1 else ""
        message = f"it stands in one stack with {fleets[0]}{more}, which comes and goes with its jobs"
        yield Problem(file_systems[0], message)


@diff_rule("UC-TPL-012", on=tuple(create_only()))
def state_is_not_replaced(old: Resource | None, new: Resource | None) -> Iterator[Problem]:
    """A stateful resource keeps its logical id and its create-only properties."""
    if old is None:
        return
    if new is None:
        yield Problem(old, f"{old.logical_id} is no longer in the template, {_fate(old)}")
        return
    for keys in create_only()[new.type]:
        before, after = old.get(*keys), new.get(*keys)
        if before.written != after.written:
            with after.judged_apart():
                if _differ(before, after):
                    message = f"changes from {_told(before)} to {_told(after)}, which replaces {new}"
                    # A property that is left out has no place of its own, so it is named here.
                    yield Problem(after, message) if after.exists else Problem(new, f"{dotted(keys)} {message}")


def _fate(old: Resource) -> str:
    try:
        kept = is_retained(old)
    except NotKnown:
        return "so an update removes it or leaves it behind"
    if kept:
        return "so an update leaves it behind, and one under another name begins empty"
    return "so an update destroys it"


def _differ(before: Value, after: Value) -> bool:
    """Whether two values of different templates differ for certain; references by the name of what they refer to."""
    return _plain(before) != _plain(after)


def _told(value: Value) -> str:
    if not value.is_list:
        return value.shown
    return shortened(f"[{', '.join(str(_plain(entry)) for entry in value.items())}]")


def _plain(value: Value) -> object:
    reference = value.reference()
    if reference is not None:
        return str(reference)
    if value.is_list:
        return [_plain(entry) for entry in value.items()]
    if value.is_object:
        return {key: _plain(inner) for key, inner in value.fields().items()}
    return value.text(None)
