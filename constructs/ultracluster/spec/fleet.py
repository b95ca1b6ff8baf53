"""`fleets`: instance types, counts, zones, capacity, fabric, image and what the nodes may reach."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from ultracluster.spec.base import Many, SpecModel
from ultracluster.spec.capacity import CapacitySpec, OnDemandSpec
from ultracluster.spec.forms import BucketReference, FilePath, Name, PlacementGroupName, Prefix, Tags, TypeName, Zone
from ultracluster.spec.image import DlamiSpec, ImageSpec, RootVolumeSpec
from ultracluster.spec.keys import KeyRule, at_most_one, exactly_one, fault, needs
from ultracluster.spec.wording import shown, truth_word

__all__ = ["BucketAccessSpec", "ExistingPlacementGroupSpec", "FleetSpec"]


class ExistingPlacementGroupSpec(SpecModel):
    """A cluster placement group that exists already."""

    name: PlacementGroupName = Field(description="Name of the group.", examples=["training-a"])


def _kind_of_placement(value: object) -> str:
    return "{group}" if isinstance(value, dict | ExistingPlacementGroupSpec) else "{word}"


PlacementSpec = Annotated[
    Annotated[Literal["auto", "none"], Tag("{word}")] | Annotated[ExistingPlacementGroupSpec, Tag("{group}")],
    Discriminator(_kind_of_placement),
]


def _switch_or_number(value: object) -> object:
    if value is None or isinstance(value, bool) or (isinstance(value, int) and value >= 0):
        return value
    message = f"{shown(value)} is neither true nor false nor a number of interfaces"
    raise fault("UC-SPC-005", message, f"write {truth_word(value) or 'true, false or a number'}")


EfaSetting = Annotated[bool | Annotated[int, Field(ge=0)] | None, BeforeValidator(_switch_or_number)]


class BucketAccessSpec(SpecModel):
    """What the nodes of a fleet may do in one bucket."""

    bucket: BucketReference = Field(
        description="Name of a bucket under storage.buckets, or s3://bucket of one that exists already.",
        examples=["checkpoints"],
    )
    prefix: Prefix = Field(default="", description="Only below this prefix; default: the whole bucket.")
    write: bool = Field(
        default=False, description="Whether objects can be written and deleted too; reading alone is the safe default."
    )


class FleetSpec(SpecModel):
    """A group of equal nodes that starts, scales and is replaced together."""

    key_rules: ClassVar[tuple[KeyRule, ...]] = (
        exactly_one("instance_type", "instance_types", example="instance_type: p5.48xlarge"),
        exactly_one("count", "max_count", example="count: 2"),
        needs("min_count", "max_count"),
        at_most_one("availability_zone", "availability_zones"),
    )

    name: Name = Field(
        description="Name of the fleet, unique in the cluster. It is part of construct ids: a new name makes a new "
        "fleet.",
        examples=["train"],
    )
    instance_type: TypeName | None = Field(
        default=None, description="The type of every node.", examples=["p5.48xlarge"]
    )
    instance_types: Many[TypeName] | None = Field(
        default=None,
        min_length=1,
        description="Several types, for Spot: more pools to choose from, fewer interruptions.",
        examples=[["p5.48xlarge", "p5en.48xlarge"]],
    )
    count: int | None = Field(
        default=None,
        ge=1,
        description="Nodes, when their number is fixed: a gang starts only when all are there.",
        examples=[2],
    )
    min_count: int | None = Field(
        default=None,
        ge=0,
        description="Fewest nodes; default with max_count: 0, because idle accelerators cost the most.",
    )
    max_count: int | None = Field(default=None, ge=1, description="Most nodes.", examples=[8])
    availability_zone: Zone | None = Field(
        default=None,
        description="Zone of the fleet; default: the only zone of the network. Nodes that talk over EFA share one "
        "zone.",
        examples=["us-east-1a"],
    )
    availability_zones: Many[Zone] | None = Field(
        default=None,
        min_length=1,
        description="Several zones, for fleets of single nodes and Spot without EFA.",
        examples=[["us-east-1a", "us-east-1b"]],
    )
    capacity: CapacitySpec = Field(
        default=OnDemandSpec.model_construct(),
        description="How the instances are bought; On-Demand unless said otherwise.",
        examples=[{"kind": "capacity-block", "reservation_id": "cr-0a1b2c3d4e5f60718"}],
    )
    efa: EfaSetting = Field(
        default=None,
        description="EFA interfaces per node: default (or true) all that the type has, false none, or a number. "
        "Collectives use all of them, so fewer only helps where addresses or interfaces run out.",
    )
    interface_layout: Literal["min-ip", "max-bandwidth", "all-efa"] = Field(
        default="min-ip",
        description="min-ip: one address per node and every other interface EFA only. max-bandwidth: further "
        "interfaces with an address where AWS documents them. all-efa: every interface with EFA and an address, as AWS "
        "PCS wants it.",
    )
    placement_group: PlacementSpec = Field(
        default="auto",
        description="auto: a cluster placement group where it helps (not with Capacity Blocks and reservations, which "
        "have their own placement). none: no group. Or {name: ...} of a group that exists.",
    )
    image: ImageSpec = Field(
        default=DlamiSpec.model_construct(),
        description="What the nodes boot; the Deep Learning Base AMI unless said otherwise.",
    )
    root_volume: RootVolumeSpec = Field(
        default=RootVolumeSpec.model_construct(), description="The root volume of each node."
    )
    user_data: FilePath | None = Field(
        default=None,
        description="A script with its #! line, as a path relative to this file; it runs once on each node, after "
        "storage is mounted and before the node counts as ready.",
        examples=["bootstrap.sh"],
    )
    metadata_hop_limit: int = Field(
        default=1,
        ge=1,
        le=64,
        description="Network hops to the instance metadata service (version 2 only). 1 keeps containers with their own "
        "network away from the credentials of the node; 2 lets them in.",
    )
    tuning: Many[Name] = Field(
        default=(),
        description="Settings of nodes that are not applied unasked, by the names of the table of settings: "
        "large-memory-writeback, lustre-tcp-buffers, head-node; of clients of Lustre: checkpoint-writers, "
        "large-directories, sequential-readers. Those that take a reboot belong into an image.",
        examples=[["large-memory-writeback"]],
    )
    mounts: Many[Name] | None = Field(
        default=None,
        description="Names of the shared file systems to mount (home is the name of storage.home); default: all.",
        examples=[["scratch", "home"]],
    )
    bucket_access: Many[BucketAccessSpec] | None = Field(
        default=None,
        description="What the nodes may do in S3; default: read the data buckets, read and write the checkpoint "
        "buckets of this file.",
    )
    detailed_monitoring: bool = Field(
        default=True, description="One-minute EC2 metrics, so that alarms see a lost node within minutes."
    )
    tags: Tags = Field(default={}, description="Tags of this fleet, beside those of the cluster.")
