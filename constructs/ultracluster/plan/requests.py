"""From the models of the cluster file to the requests of the plan functions: a change of form, without a decision.

The planner and the stacks use the same conversions, so both ask the same questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, assert_never

from ultracluster.facts.images import operating_systems
from ultracluster.plan.buckets import BucketPurpose, BucketRequest
from ultracluster.plan.capacity_options import Capacity, CapacityBlock, OnDemand, Reservation, Spot
from ultracluster.plan.data_repository import DataRepositoryRequest
from ultracluster.plan.fleet import FleetRequest
from ultracluster.plan.home import HomeRequest
from ultracluster.plan.image_options import Al2023, Ami, Dlami, Image, SsmImage, Ubuntu
from ultracluster.plan.lustre_deployments import DeploymentFields, ReadCache
from ultracluster.plan.lustre_request import CheckpointLoad, LustreRequest
from ultracluster.plan.network import ExistingNetwork, ExistingSubnet, NetworkRequest
from ultracluster.plan.network_interfaces import InterfaceLayout
from ultracluster.plan.placement import AUTO, NONE, ExistingPlacementGroup, Placement
from ultracluster.plan.volumes import RootVolume

if TYPE_CHECKING:
    from datetime import datetime

    from ultracluster.facts.instances import InstanceType
    from ultracluster.spec.capacity import CapacitySpec
    from ultracluster.spec.fleet import FleetSpec
    from ultracluster.spec.image import ImageSpec
    from ultracluster.spec.lustre import DataRepositorySpec, LustreSpec
    from ultracluster.spec.network import ExistingNetworkSpec, ExistingSubnetSpec, NetworkSpec
    from ultracluster.spec.storage import BucketSpec, HomeSpec

__all__ = [
    "bucket_request",
    "capacity_of",
    "fleet_request",
    "fleet_zones",
    "home_request",
    "image_of",
    "lustre_request",
    "network_request",
    "placement_of",
]


def fleet_zones(fleet: FleetSpec, network_zones: Sequence[str]) -> tuple[str, ...]:
    """The zones that a fleet names, or the only zone of the network; empty when the network has several.

    Args:
        fleet: the fleet.
        network_zones: zones of the network.
    """
    if fleet.availability_zones is not None:
        return fleet.availability_zones
    if fleet.availability_zone is not None:
        return (fleet.availability_zone,)
    return tuple(network_zones) if len(network_zones) == 1 else ()


def fleet_request(
    fleet: FleetSpec,
    *,
    availability_zones: tuple[str, ...],
    region: str | None,
    catalog: Mapping[str, InstanceType] | None = None,
    now: datetime | None = None,
) -> FleetRequest:
    """What a fleet of the file asks of the plan.

    Args:
        fleet: the fleet.
        availability_zones: its zones, see `fleet_zones`.
        region: Region of the cluster.
        catalog: known instance types; the library's own by default.
        now: the time to hold the end of a Capacity Block against.
    """
    single = (fleet.instance_type,) if fleet.instance_type is not None else ()
    return FleetRequest(
        name=fleet.name,
        instance_types=fleet.instance_types or single,
        availability_zones=availability_zones,
        count=fleet.count,
        min_count=fleet.min_count if fleet.max_count is None else fleet.min_count or 0,
        max_count=fleet.max_count,
        capacity=capacity_of(fleet.capacity),
        efa=_efa(fleet.efa),
        layout=InterfaceLayout(fleet.interface_layout),
        placement=placement_of(fleet),
        image=image_of(fleet.image),
        root_volume=RootVolume(
            size_gib=fleet.root_volume.size_gib,
            iops=fleet.root_volume.iops,
            throughput_mibps=fleet.root_volume.throughput_mibps,
        ),
        metadata_hop_limit=fleet.metadata_hop_limit,
        detailed_monitoring=fleet.detailed_monitoring,
        tuning=fleet.tuning,
        region=region,
        catalog=catalog,
        now=now,
    )


def _efa(setting: int | None) -> int | None:
    """True and nothing mean all that the type has, false means none."""
    if setting is None or setting is True:
        return None
    return int(setting)


def capacity_of(spec: CapacitySpec) -> Capacity:
    """The purchase option of a fleet."""
    match spec.kind:
        case "on-demand":
            return OnDemand()
        case "reservation":
            return Reservation(
                reservation_id=spec.reservation_id,
                resource_group_arn=spec.resource_group_arn,
                placement_group_name=spec.placement_group,
                size=spec.size,
            )
        case "capacity-block":
            return CapacityBlock(reservation_id=spec.reservation_id, size=spec.size, end=spec.end)
        case "spot":
            return Spot(
                on_demand_base_count=spec.on_demand_base_count,
                on_demand_percentage_above_base=spec.on_demand_percentage_above_base,
                allocation_strategy=spec.allocation_strategy,
                max_price_usd=spec.max_price_usd,
            )
        case _:
            assert_never(spec)


def placement_of(fleet: FleetSpec) -> Placement:
    """The placement group that a fleet asks for."""
    match fleet.placement_group:
        case "auto":
            return AUTO
        case "none":
            return NONE
        case existing:
            return ExistingPlacementGroup(name=existing.name)


def image_of(spec: ImageSpec) -> Image:
    """The machine image of a fleet."""
    match spec.kind:
        case "dlami":
            return Dlami(os=spec.os)
        case "al2023":
            return Al2023()
        case "ubuntu":
            return Ubuntu(version=spec.version)
        case "ami":
            return Ami(ami_id=spec.ami_id, os=spec.os, root_device_name=spec.root_device_name)
        case "ssm":
            return SsmImage(parameter=spec.parameter, os=spec.os, root_device_name=spec.root_device_name)
        case "tuned":
            # A recipe keeps the root device of its base.
            root = operating_systems()[spec.os].root_device_name
            return SsmImage(parameter=spec.parameter, os=spec.os, root_device_name=root)
        case _:
            assert_never(spec)


def network_request(
    network: NetworkSpec, *, region: str | None, addresses_by_zone: Mapping[str, int]
) -> NetworkRequest:
    """What the file asks of the network.

    Args:
        network: the network of the file.
        region: Region of the cluster.
        addresses_by_zone: private addresses that the fleets take in each zone when they are at their largest.
    """
    return NetworkRequest(
        availability_zones=network.availability_zones,
        vpc_cidr=network.vpc_cidr,
        region=region,
        addresses_by_zone=addresses_by_zone,
        nat_gateways=network.nat_gateways,
        interface_endpoints=network.interface_endpoints,
        existing=None if network.existing is None else _existing_network(network.existing),
    )


def _existing_network(spec: ExistingNetworkSpec) -> ExistingNetwork:
    return ExistingNetwork(
        vpc_id=spec.vpc_id,
        vpc_cidr=spec.vpc_cidr,
        subnets=tuple(map(_existing_subnet, spec.subnets)),
        storage_subnets=tuple(map(_existing_subnet, spec.storage_subnets)),
    )


def _existing_subnet(spec: ExistingSubnetSpec) -> ExistingSubnet:
    return ExistingSubnet(
        subnet_id=spec.subnet_id, availability_zone=spec.availability_zone, route_table_id=spec.route_table_id
    )


def lustre_request(lustre: LustreSpec, *, availability_zone: str | None) -> LustreRequest:
    """What a Lustre file system of the file asks of the plan.

    Args:
        lustre: the file system.
        availability_zone: its zone, when it is known.
    """
    cache, load = lustre.read_cache, lustre.checkpoints
    return LustreRequest(
        name=lustre.name,
        deployment=DeploymentFields(
            deployment_type=lustre.deployment_type,
            storage_type=lustre.storage_type,
            capacity_gib=lustre.capacity_gib,
            throughput_mbps_per_tib=lustre.throughput_mbps_per_tib,
            throughput_capacity_mbps=lustre.throughput_capacity_mbps,
            metadata_iops=lustre.metadata_iops,
            efa=lustre.efa,
            drive_cache=lustre.drive_cache,
            read_cache=None if cache is None else ReadCache(mode=cache.mode, size_gib=cache.size_gib),
        ),
        compression=lustre.compression,
        file_system_type_version=lustre.file_system_type_version,
        log_level=lustre.log_level,
        backup_retention_days=lustre.backup_retention_days,
        backup_start_time=lustre.backup_start_time,
        copy_tags_to_backups=lustre.copy_tags_to_backups,
        maintenance_start_time=lustre.maintenance_start_time,
        root_squash=lustre.root_squash,
        no_squash_nids=lustre.no_squash_nids,
        data_repositories=tuple(map(_data_repository, lustre.data_repositories)),
        availability_zone=availability_zone,
        mount_path=lustre.mount_path,
        removal_policy=lustre.removal_policy,
        checkpoints=None
        if load is None
        else CheckpointLoad(size_gb=load.size_gb, interval_minutes=load.interval_minutes),
    )


def _data_repository(spec: DataRepositorySpec) -> DataRepositoryRequest:
    return DataRepositoryRequest(
        file_system_path=spec.file_system_path,
        bucket=spec.bucket,
        prefix=spec.prefix,
        auto_import=spec.auto_import,
        auto_export=spec.auto_export,
        imported_file_chunk_size_mib=spec.imported_file_chunk_size_mib,
    )


def home_request(home: HomeSpec, *, availability_zones: tuple[str, ...]) -> HomeRequest:
    """What the shared home of the file asks of the plan.

    Args:
        home: the shared home.
        availability_zones: zones that get a mount target.
    """
    return HomeRequest(
        name="home",
        availability_zones=availability_zones,
        throughput_mode=home.throughput_mode,
        provisioned_throughput_mibps=home.provisioned_throughput_mibps,
        infrequent_access_after_days=_days(home.infrequent_access_after_days),
        archive_after_days=_days(home.archive_after_days),
        backup=home.backup,
        mount_path=home.mount_path,
        removal_policy=home.removal_policy,
    )


def _days(value: int | Literal["never"]) -> int | None:
    return None if value == "never" else value


def bucket_request(bucket: BucketSpec) -> BucketRequest:
    """What a bucket that is made with the cluster asks of the plan."""
    return BucketRequest(
        name=bucket.name,
        purpose=BucketPurpose(bucket.purpose),
        versioned=bucket.versioned,
        removal_policy=bucket.removal_policy,
    )
