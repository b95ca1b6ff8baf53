"""The plan of a whole cluster: what `ultracluster plan` prints and the stacks build.

`plan_cluster` has every subject planned, collects the findings of all and raises once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from ultracluster.findings import Finding, raise_if_errors
from ultracluster.plan.cluster_draft import ClusterDraft
from ultracluster.plan.cluster_rules import mounted_by
from ultracluster.plan.cluster_steps import draft_cluster
from ultracluster.plan.cost import CostPlan, plan_cost
from ultracluster.plan.names import auto_scaling_group_name
from ultracluster.plan.quotas import QuotaPlan, plan_quotas
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from ultracluster.plan.alarms import AlarmPlan
    from ultracluster.plan.buckets import BucketPlan
    from ultracluster.plan.decision import Decision
    from ultracluster.plan.fleet import FleetPlan
    from ultracluster.plan.home import HomePlan
    from ultracluster.plan.lustre_request import LustrePlan
    from ultracluster.plan.network import NetworkPlan
    from ultracluster.spec.cluster import ClusterSpec
    from ultracluster.spec.fleet import FleetSpec

__all__ = ["BucketAccessPlan", "ClusterPlan", "FleetAttachments", "cluster_plan", "plan_cluster"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketAccessPlan:
    """What the nodes of a fleet may do in one bucket.

    Attributes:
        bucket: name of a bucket of the cluster, or an `s3://` address.
        prefix: only below this prefix; empty for the whole bucket.
        write: whether objects can be written and deleted.
    """

    bucket: str
    prefix: str
    write: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetAttachments:
    """What a fleet is joined with, beside its own plan.

    Attributes:
        fleet: name of the fleet.
        auto_scaling_group_name: literal name of its group.
        mounts: names of the file systems it mounts.
        bucket_access: what its nodes may do in S3.
        user_script: text of the user's script, if any.
        user_data_bytes: the largest user data of its launch templates, in bytes before base64.
        tags: tags of the fleet alone.
    """

    fleet: str
    auto_scaling_group_name: str
    mounts: tuple[str, ...]
    bucket_access: tuple[BucketAccessPlan, ...]
    user_script: str | None
    user_data_bytes: int
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """A cluster as decided.

    Attributes:
        name: name of the cluster.
        region: its Region.
        account: its account, when it is named.
        network: VPC and subnets.
        fleets: plans of the fleets, in the order of the file.
        attachments: what each of them is joined with, in the same order.
        lustre: plans of the Lustre file systems.
        home: plan of the shared home, if there is one.
        buckets: plans of the buckets that are made.
        existing_buckets: names of the buckets that exist already, by their name in the file.
        alarms: alarms by what they watch (`fleets[0]`, `storage.lustre[0]`).
        quotas: vCPU quotas to ask for.
        cost: hourly price of the nodes.
        warnings: findings that do not stop the plan.
        decisions: everything that was decided, and why.
    """

    name: str
    region: str
    account: str | None
    network: NetworkPlan
    fleets: tuple[FleetPlan, ...]
    attachments: tuple[FleetAttachments, ...]
    lustre: tuple[LustrePlan, ...]
    home: HomePlan | None
    buckets: tuple[BucketPlan, ...]
    existing_buckets: Mapping[str, str]
    alarms: Mapping[str, tuple[AlarmPlan, ...]]
    quotas: tuple[QuotaPlan, ...]
    cost: CostPlan
    warnings: tuple[Finding, ...]
    decisions: tuple[Decision, ...]


def plan_cluster(spec: ClusterSpec, *, base_dir: Path, now: datetime | None = None) -> ClusterPlan:
    """Decide everything about a cluster.

    Args:
        spec: what the cluster file asks.
        base_dir: the folder of the cluster file, from which the paths in it start.
        now: the time to hold the ends of Capacity Blocks against; None judges no end as past.

    Raises:
        FindingsError: with every fault of every subject.
    """
    from ultracluster.spec.parts import parts_of

    draft = draft_cluster(parts_of(spec), base_dir=base_dir, now=now)
    raise_if_errors(draft.findings)
    return cluster_plan(spec, draft)


def cluster_plan(spec: ClusterSpec, draft: ClusterDraft) -> ClusterPlan:
    """The plan behind a draft without errors."""
    if draft.network is None:
        raise ValueError("network: a draft without errors has a network")
    fleets = {plan.name: plan for plan in draft.fleets.values()}
    return ClusterPlan(
        name=spec.name,
        region=spec.region,
        account=spec.account,
        network=draft.network,
        fleets=tuple(fleets.values()),
        attachments=tuple(_attachments(spec, draft, index) for index in draft.fleets),
        lustre=tuple(draft.lustre.values()),
        home=draft.home,
        buckets=tuple(draft.buckets.values()),
        existing_buckets={bucket.name: bucket.bucket_name for bucket in spec.storage.buckets if bucket.bucket_name},
        alarms=draft.alarms,
        quotas=plan_quotas(fleets, region=spec.region),
        cost=plan_cost(fleets, region=spec.region),
        warnings=tuple(draft.findings),
        decisions=tuple(_decisions(draft)),
    )


def _attachments(spec: ClusterSpec, draft: ClusterDraft, index: int) -> FleetAttachments:
    fleet = spec.fleets[index]
    return FleetAttachments(
        fleet=fleet.name,
        auto_scaling_group_name=auto_scaling_group_name(spec.name, fleet.name),
        mounts=mounted_by(fleet, draft.parts),
        bucket_access=tuple(_bucket_access(spec, fleet)),
        user_script=draft.scripts.get(index),
        user_data_bytes=max(plan.size_upper_bound_bytes for plan in draft.user_data[index]),
        tags=fleet.tags,
    )


def _bucket_access(spec: ClusterSpec, fleet: FleetSpec) -> Iterator[BucketAccessPlan]:
    """What the fleet asks for; else it reads the data buckets and writes the checkpoint buckets of the cluster."""
    if fleet.bucket_access is None:
        for bucket in spec.storage.buckets:
            yield BucketAccessPlan(bucket=bucket.name, prefix="", write=bucket.purpose == "checkpoints")
        return
    for access in fleet.bucket_access:
        yield BucketAccessPlan(bucket=access.bucket, prefix=access.prefix, write=access.write)


def _decisions(draft: ClusterDraft) -> Iterator[Decision]:
    if draft.network is not None:
        yield from draft.network.decisions
    for index, fleet in draft.fleets.items():
        yield from fleet.decisions
        for user_data in draft.user_data[index][:1]:
            yield from user_data.decisions
    for lustre in draft.lustre.values():
        yield from lustre.decisions
    if draft.home is not None:
        yield from draft.home.decisions
    for bucket in draft.buckets.values():
        yield from bucket.decisions
