"""The composition root: one cluster file in, the stacks of the cluster out.

The order of deployment is network, storage, observability, compute. Alarms stand before the first node starts, and
nothing depends on compute: its fleets are named by literal names, not by references.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import aws_cdk as cdk

from ultracluster.plan.cluster_file import plan_file
from ultracluster.plan.cluster_files import read_catalog
from ultracluster.plan.requests import fleet_request
from ultracluster.values import dataclass
from ultracluster_stacks.compute_stack import ComputeStack
from ultracluster_stacks.network_stack import NetworkStack
from ultracluster_stacks.observability_stack import ObservabilityStack
from ultracluster_stacks.storage_stack import StorageStack

if TYPE_CHECKING:
    from pathlib import Path

    from constructs import Construct

    from ultracluster.plan.cluster import ClusterPlan
    from ultracluster.plan.fleet import FleetRequest
    from ultracluster.spec.cluster import ClusterSpec

__all__ = ["ClusterStacks", "assemble"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusterStacks:
    """The stacks of one cluster."""

    network: NetworkStack
    storage: StorageStack
    observability: ObservabilityStack
    compute: ComputeStack


def assemble(scope: Construct, cluster_file: Path, *, now: datetime | None = None) -> ClusterStacks:
    """Make the stacks of the cluster that a file describes.

    Args:
        scope: the app, or a stage of a pipeline.
        cluster_file: the `cluster.yaml`.
        now: the time to hold the ends of Capacity Blocks against; the clock by default.

    Raises:
        FindingsError: with everything that is wrong with the file and the plan.
    """
    now = now or datetime.now(UTC)
    spec, plan = plan_file(cluster_file, now=now)
    env = cdk.Environment(account=spec.account, region=spec.region)
    network = NetworkStack(
        scope,
        f"{spec.name}-network",
        plan=plan.network,
        flow_logs=spec.network.flow_logs,
        holds_retained_storage=any(lustre.removal_policy == "retain" for lustre in plan.lustre),
        env=env,
    )
    storage = StorageStack(
        scope, f"{spec.name}-storage", spec=spec.storage, plan=plan, network=network.network, env=env
    )
    observability = ObservabilityStack(
        scope, f"{spec.name}-observability", spec=spec.observability, plan=plan, storage=storage, env=env
    )
    compute = ComputeStack(
        scope,
        f"{spec.name}-compute",
        requests=_requests(spec, plan, cluster_file.parent, now),
        attachments=plan.attachments,
        network=network.network,
        storage=storage,
        observability=spec.observability,
        topic=observability.topic,
        env=env,
    )
    for stack in (network, storage, observability, compute):
        tags = cdk.Tags.of(stack)
        for key, value in {"ultracluster:cluster": spec.name, **spec.tags}.items():
            tags.add(key, value)
    return ClusterStacks(network=network, storage=storage, observability=observability, compute=compute)


def _requests(spec: ClusterSpec, plan: ClusterPlan, base_dir: Path, now: datetime) -> list[FleetRequest]:
    """The constructs plan from the same requests as the plan of the cluster did."""
    catalog, _ = read_catalog(spec.instance_type_records, base_dir)
    return [
        fleet_request(
            fleet, availability_zones=planned.availability_zones, region=spec.region, catalog=catalog, now=now
        )
        for fleet, planned in zip(spec.fleets, plan.fleets, strict=True)
    ]
