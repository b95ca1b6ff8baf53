"""Rules on what an app does not watch: file systems, idle accelerators, the health of HyperPod nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from ultracluster.policy.graph.accelerators import is_accelerated
from ultracluster.policy.graph.alarms import ALARM, alarms_on, is_partly_read, metric_names, watched_metrics
from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.event_patterns import MARK, event_pattern
from ultracluster.policy.graph.events import EVENT_RULE
from ultracluster.policy.graph.file_systems import FILE_SYSTEM, associations_of, is_lustre
from ultracluster.policy.graph.fleets import AUTO_SCALING_GROUP, EC2_FLEET, NODE_GROUP, PCS_NODE_GROUP, SPOT_FLEET
from ultracluster.policy.graph.launch_templates import uses_of
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown, Reference
from ultracluster.policy.value import Value
from ultracluster.policy.view import Assembly, Resource

_CLUSTER = "AWS::SageMaker::Cluster"
_RULES = "AWS::APS::RuleGroupsNamespace"
_SPACE = re.compile(r"FreeDataStorageCapacity|StorageCapacityUtilization|LogicalDiskUsage|PhysicalDiskUsage")
_METADATA = re.compile(r"\bCPUUtilization\b|MetadataOperations")
_LAG = re.compile(r"AgeOfOldestQueuedMessage")
_USE = re.compile(r"utilization_gpu|gpu_utilization|neuroncore_utilization|DEV_GPU_UTIL|GR_ENGINE_ACTIVE|PIPE_TENSOR")
_HEALTH, _EVENT = "SageMaker HyperPod Cluster Node Health Event", "SageMaker HyperPod Cluster Event"


@rule("UC-ALM-009", on=FILE_SYSTEM)
def file_system_is_watched(file_system: Resource) -> Iterator[Problem]:
    """In an app a Lustre file system has alarms on space, metadata servers and the lag of its associations."""
    if not file_system.assembly.is_app or not is_lustre(file_system):
        return
    names = " ".join(sorted(name for alarm in alarms_on(file_system) for name in metric_names(alarm)))
    missing = [what for what, pattern in _wanted(file_system) if not pattern.search(names)]
    if not missing:
        return
    if any(map(is_partly_read, alarms_on(file_system))):
        raise NotKnown("which metrics some of its alarms watch")
    if _watches_one_of_elsewhere(file_system.assembly):
        raise NotKnown("of which file system some alarms are")
    yield Problem(file_system, f"no alarm of the app watches its {' or its '.join(missing)}")


def _wanted(file_system: Resource) -> Iterator[tuple[str, re.Pattern[str]]]:
    configuration = file_system.get("LustreConfiguration")
    if file_system.get("StorageType").text("SSD") != "INTELLIGENT_TIERING":
        yield "free space", _SPACE
    if configuration["MetadataConfiguration"].exists:
        yield "metadata servers", _METADATA
    if any(_moves_by_itself(found) for found in associations_of(file_system)):
        yield "queued imports and exports", _LAG


def _moves_by_itself(association: Resource) -> bool:
    policies = association.get("S3")
    return any(policies[key]["Events"].items() for key in ("AutoImportPolicy", "AutoExportPolicy"))


def _watches_one_of_elsewhere(assembly: Assembly) -> bool:
    for alarm in assembly.resources(ALARM):
        for metric in watched_metrics(alarm):
            if metric.namespace == "AWS/FSx":
                named = metric.dimensions.get("FileSystemId")
                if named is not None and _is_open(named):
                    return True
    return False


def _is_open(value: Value) -> bool:
    """Whether it is neither a literal nor a resource of the assembly."""
    return not value.known and not isinstance(value.state, Reference)


@rule("UC-ALM-011", on=(AUTO_SCALING_GROUP, EC2_FLEET, SPOT_FLEET, NODE_GROUP, PCS_NODE_GROUP))
def idle_accelerators_alarm(fleet: Resource) -> Iterator[Problem]:
    """In an app somebody hears when the accelerators of a fleet stand still."""
    if not fleet.assembly.is_app or not any_known(_types(fleet), lambda value: is_accelerated(value.text())):
        return
    if not _has_utilization_alarm(fleet):
        yield Problem(fleet, "no alarm of the app watches the utilization of its accelerators")


def _types(fleet: Resource) -> list[Value]:
    own = [entry["InstanceType"] for entry in fleet.get("InstanceConfigs").items()]
    found = [*own, *fleet.get("InstanceTypes").items()]
    for use in uses_of(fleet):
        kind = use.launch_template.get("LaunchTemplateData", "InstanceType")
        found.extend(use.types or ([kind] if kind.exists else []))
    return [value for value in found if value.exists]


def _has_utilization_alarm(fleet: Resource) -> bool:
    for rules in fleet.assembly.resources(_RULES):
        if _USE.search(rules.get("Data").known_text()):
            return True
    name = fleet.get("AutoScalingGroupName")
    alarms = list(fleet.assembly.resources(ALARM))
    for alarm in alarms:
        if _USE.search(" ".join(metric_names(alarm))) and _may_be_of(alarm, fleet, name):
            return True
    if any(map(is_partly_read, alarms)):
        raise NotKnown("which metrics some alarms of the app watch")
    return False


def _may_be_of(alarm: Resource, fleet: Resource, name: Value) -> bool:
    """Whether an alarm is about a fleet: anything but the name of another group."""
    for metric in watched_metrics(alarm):
        named = metric.dimensions.get("AutoScalingGroupName")
        if named is None or _is_open(named):
            return True
        found = named.resource(AUTO_SCALING_GROUP)
        if found is not None and found == fleet:
            return True
        if found is None and (not name.exists or not name.known or named.text() == name.text()):
            return True
    return not watched_metrics(alarm)


@rule("UC-ALM-013", on=_CLUSTER)
def node_health_is_heard(cluster: Resource) -> Iterator[Problem]:
    """In an app with a HyperPod cluster rules hear of unhealthy nodes and of failed operations."""
    if not cluster.assembly.is_app:
        return
    wanted = [_HEALTH]
    # Only clusters that provision continuously send these.
    if cluster.get("NodeProvisioningMode").text("") == "Continuous":
        wanted.append(_EVENT)
    rules = list(cluster.assembly.resources(EVENT_RULE))
    missing = [name for name in wanted if not any_known(rules, partial(_hears, name=name))]
    if missing:
        yield Problem(cluster, f"no rule of the app hands on {' or '.join(missing)}")


def _hears(found: Resource, name: str) -> bool:
    if found.get("State").text("ENABLED") == "DISABLED" or not found.get("Targets").items():
        return False
    pattern = event_pattern(found)
    if pattern is None or not _takes(pattern, "source", "aws.sagemaker"):
        return False
    return _takes(pattern, "detail-type", name) and (name != _EVENT or _takes_errors(pattern))


def _takes_errors(pattern: object) -> bool:
    """Whether a pattern lets events of level Error through."""
    for key in ("detail", "EventDetails"):
        pattern = pattern.get(key) if isinstance(pattern, dict) else None
    return _takes(pattern or {}, "EventLevel", "Error")


def _takes(pattern: object, key: str, text: str) -> bool:
    listed = pattern.get(key) if isinstance(pattern, dict) else None
    if listed is None:
        return True
    entries = listed if isinstance(listed, list) else [listed]
    for entry in entries:
        if entry == text or (isinstance(entry, dict) and _matches(entry, text)):
            return True
    if any(MARK in str(entry) for entry in entries):
        raise NotKnown(f"which {key} an event pattern takes")
    return False


def _matches(entry: dict[str, object], text: str) -> bool:
    prefix, wildcard = entry.get("prefix"), entry.get("wildcard")
    if isinstance(prefix, str):
        return text.startswith(prefix)
    if isinstance(wildcard, str):
        return re.fullmatch(".*".join(map(re.escape, wildcard.split("*"))), text) is not None
    return "anything-but" in entry or "exists" in entry
