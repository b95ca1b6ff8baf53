"""Rules on clusters of SageMaker HyperPod: orchestrator, types, plans, recovery, checks, storage."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.hyperpod import hyperpod_facts
from ultracluster.policy.graph.hyperpod import CLUSTER, InstanceGroup, catalogued, instance_groups
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_CONTINUOUS = "Continuous"


@rule("UC-HPD-003", on=CLUSTER)
def types_of_hyperpod(cluster: Resource) -> Iterator[Problem]:
    """Instance types are written as SageMaker names them, and HyperPod offers them."""
    prefix = hyperpod_facts().type_prefix
    for group in instance_groups(cluster):
        with group.value.judged_apart():
            for kind in group.types:
                with kind.judged_apart():
                    yield from _type(kind, prefix)


def _type(kind: Value, prefix: str) -> Iterator[Problem]:
    facts = catalogued(kind)
    if not kind.text().startswith(prefix):
        yield Problem(
            kind, f"{kind.shown} without {prefix}, types of SageMaker begin with it", f"use {prefix}{kind.text()}"
        )
    elif facts is None or facts.sagemaker_hyperpod is None:
        raise NotKnown(f"whether HyperPod offers {kind.shown}")
    elif not facts.sagemaker_hyperpod:
        yield Problem(kind, f"{kind.shown}, which HyperPod does not offer", "use a type that it offers")


@rule("UC-HPD-004", on=CLUSTER)
def plan_of_one_type(cluster: Resource) -> Iterator[Problem]:
    """A training plan serves groups of the one type that it was bought for."""
    seen: list[InstanceGroup] = []
    for group in instance_groups(cluster):
        plan = group.value["TrainingPlanArn"]
        with plan.judged_apart():
            if not plan.exists:
                continue
            for other in seen:
                if other.value["TrainingPlanArn"].symbol() == plan.symbol() and _types_differ(group, other):
                    message = f"{plan.shown} for {_named(group)}, and for {_named(other)} too: a plan has one type"
                    yield Problem(plan, message)
                    break
        seen.append(group)


def _types_differ(one: InstanceGroup, other: InstanceGroup) -> bool:
    return {kind.text() for kind in one.types} != {kind.text() for kind in other.types}


def _named(group: InstanceGroup) -> str:
    return ", ".join(kind.shown for kind in group.types)


@rule("UC-HPD-005", on=CLUSTER)
def one_orchestrator(cluster: Resource) -> Iterator[Problem]:
    """One orchestrator is named, and with EKS a VPC."""
    orchestrator = cluster.get("Orchestrator")
    if not orchestrator.exists:
        return
    eks, slurm = orchestrator["Eks"], orchestrator["Slurm"]
    if eks.exists and slurm.exists:
        yield Problem(slurm, "Slurm beside Eks, a cluster has one orchestrator")
    elif not eks.exists and not slurm.exists:
        yield Problem(orchestrator, "neither Eks nor Slurm", "name one, or leave Orchestrator out")
    if eks.exists and not cluster.get("VpcConfig").exists:
        yield Problem(cluster.get("VpcConfig"), "absent, and a cluster on EKS needs the VPC of its control plane")


@rule("UC-HPD-008", on=CLUSTER)
def recovery_is_on(cluster: Resource) -> Iterator[Problem]:
    """Broken nodes are replaced."""
    recovery = cluster.get("NodeRecovery")
    if recovery.text("") != "Automatic":
        shown = recovery.shown if recovery.exists else "absent, and the default is not documented"
        yield Problem(recovery, f"{shown}: a broken node may stay until somebody replaces it")


@rule("UC-HPD-009", on=CLUSTER)
def checks_without_taints(cluster: Resource) -> Iterator[Problem]:
    """Deep health checks and custom taints do not meet."""
    for group in instance_groups(cluster):
        checks, taints = group.value["OnStartDeepHealthChecks"], group.value.get("KubernetesConfig", "Taints")
        with taints.judged_apart():
            if taints.exists and checks.exists and taints.items():
                yield Problem(taints, f"{taints.shown} beside OnStartDeepHealthChecks, which bring taints of their own")


@rule("UC-HPD-010", on=CLUSTER)
def storage_is_complete(cluster: Resource) -> Iterator[Problem]:
    """Storage entries are few, and each has what its kind needs."""
    facts = hyperpod_facts()
    for group in instance_groups(cluster):
        configs = group.value["InstanceStorageConfigs"]
        with configs.judged_apart():
            entries = configs.items()
            if len(entries) > facts.most_storage_configs:
                yield Problem(configs, f"{len(entries)} entries, HyperPod takes {facts.most_storage_configs}")
            for entry in entries:
                with entry.judged_apart():
                    yield from _volume(entry["EbsVolumeConfig"])
                    yield from _mount(entry.get("FsxLustreConfig", "MountName"), facts.mount_name_length)


def _volume(volume: Value) -> Iterator[Problem]:
    if not volume.exists:
        return
    size, key = volume["VolumeSizeInGB"], volume["VolumeKmsKeyId"]
    if not volume["RootVolume"].boolean(False):
        if not size.exists:
            yield Problem(size, "absent for a data volume", "name the size")
        return
    if size.exists:
        yield Problem(size, f"{size.shown} GB for the root volume, whose size is given", "leave the size out")
    if not key.exists:
        yield Problem(key, "absent for the root volume, which is named to give it a key", "name the key")


def _mount(name: Value, longest: int) -> Iterator[Problem]:
    if name.exists and len(name.text()) > longest:
        yield Problem(name, f"{name.shown} has {len(name.text())} characters, a mount name has {longest} at most")


@rule("UC-HPD-011", on=CLUSTER)
def accounts_need_continuous(cluster: Resource) -> Iterator[Problem]:
    """An own accounting database comes with continuous provisioning."""
    database = cluster.get("Orchestrator", "Slurm", "AccountingDatabase")
    mode = cluster.get("NodeProvisioningMode")
    if database.exists and mode.text("") != _CONTINUOUS:
        yield Problem(mode, f"{mode.shown} beside AccountingDatabase, which needs {_CONTINUOUS}")
