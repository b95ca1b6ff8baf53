"""`cluster.yaml` as a whole."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ultracluster.spec.base import Many, SpecModel
from ultracluster.spec.fleet import FleetSpec
from ultracluster.spec.forms import AccountId, FilePath, Name, Region, Tags
from ultracluster.spec.network import NetworkSpec
from ultracluster.spec.observability import ObservabilitySpec
from ultracluster.spec.storage import StorageSpec

__all__ = ["ClusterSpec", "SchedulerSpec"]


class SchedulerSpec(SpecModel):
    """What starts jobs on the fleets."""

    kind: Literal["none"] = Field(
        default="none",
        description="none: the nodes wait for a launcher of your own. There is no other kind in this version.",
    )


class ClusterSpec(SpecModel):
    """A training cluster: network, fleets, storage and what watches over them."""

    schema_version: int = Field(default=1, ge=1, le=1, description="Version of this file format.")
    name: Name = Field(
        min_length=3,
        description="Name of the cluster, the first part of the names of its stacks. A new name makes a new cluster.",
        examples=["p5-pretrain"],
    )
    region: Region = Field(description="AWS Region.", examples=["us-east-1"])
    account: AccountId | None = Field(
        default=None,
        description="Account to deploy to, in quotes; default: the account of the credentials.",
        examples=["111122223333"],
    )
    tags: Tags = Field(default={}, description="Tags of everything in the cluster.")
    instance_type_records: Many[FilePath] = Field(
        default=(),
        description="Files with DescribeInstanceTypes records of types that the catalogue does not have, relative to "
        "this file.",
        examples=[["p7.48xlarge.json"]],
    )
    network: NetworkSpec = Field(description="Zones and VPC.", examples=[{"availability_zones": ["us-east-1a"]}])
    fleets: Many[FleetSpec] = Field(
        min_length=1,
        description="Groups of equal nodes.",
        examples=[[{"name": "train", "instance_type": "p5.48xlarge", "count": 2}]],
    )
    storage: StorageSpec = Field(default=StorageSpec.model_construct(), description="Shared file systems and buckets.")
    scheduler: SchedulerSpec = Field(
        default=SchedulerSpec.model_construct(), description="What starts jobs; nothing by default."
    )
    observability: ObservabilitySpec = Field(
        default=ObservabilitySpec.model_construct(), description="Alarms, dashboard, logs and metrics."
    )
