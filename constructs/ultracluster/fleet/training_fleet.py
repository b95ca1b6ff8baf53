"""A fleet of one instance type: On-Demand, from a reservation, from a Capacity Block, or Spot.

What it makes: launch template, Auto Scaling group, role, instance profile, log group, placement group where one helps,
EFA security group. What it costs: the instances from the moment it is deployed, their root volumes, and a few custom
metrics. What it refuses: interface lists EC2 would refuse, a placement group with a Capacity Block or beside a
reservation that was not made in it, zones that part an EFA fleet, volumes and images that do not fit, and everything
else that `ultracluster.plan.fleet` checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct

from ultracluster.facts.instances import InstanceType
from ultracluster.findings import Finding, finding
from ultracluster.fleet.defaults import LOG_RETENTION_DAYS
from ultracluster.fleet.fleet import METRICS_NAMESPACE, Fleet
from ultracluster.network.cluster_network import ClusterNetwork
from ultracluster.placement.efa_placement_group import EfaPlacementGroup
from ultracluster.plan.capacity import Capacity, OnDemand
from ultracluster.plan.fleet import FleetRequest
from ultracluster.plan.image_options import Image, ImageSource, image_from
from ultracluster.plan.network_interfaces import InterfaceLayout, NetworkInterface
from ultracluster.plan.placement import AUTO, Placement
from ultracluster.plan.volumes import RootVolume
from ultracluster.storage.bucket_access import BucketAccess
from ultracluster.storage.contract import SharedStorage

__all__ = ["TrainingFleet"]


class TrainingFleet(Fleet):
    """Nodes of one instance type in an Auto Scaling group.

    Example:
        ```python
        TrainingFleet(
            self, "Train",
            network=network,
            instance_type="p5.48xlarge",
            count=4,
            capacity=CapacityBlock(reservation_id="cr-0123456789abcdef0"),
            storage=[lustre],
            bucket_access=[BucketAccess(bucket=checkpoints.bucket, write=True)],
        )
        ```

    Args:
        scope: the parent.
        construct_id: the id in the parent, and the name of the fleet in tags.
        network: where the nodes stand.
        instance_type: EC2 name of the type, for example `p5.48xlarge`.
        count: number of nodes; or give `min_count` and `max_count`.
        min_count: fewest nodes.
        max_count: most nodes. Between the two the size is left to whoever scales the group.
        availability_zone: zone of the nodes; the only zone of the network by default.
        availability_zones: zones of a fleet without EFA, in place of `availability_zone`.
        capacity: how the nodes are bought; On-Demand by default. `Spot()` here is one type; `SpotTrainingFleet` takes
            several and listens for interruptions.
        efa: EFA devices per node; all that the type has by default, 0 for none.
        interface_layout: how interfaces are laid out on the network cards; the fewest addresses by default.
        network_interfaces: an interface list of your own, checked like the library's.
        associate_public_ip: whether the only interface of a node gets a public address; never with several interfaces.
        placement: `AUTO` follows capacity and zones; `NONE`, or `ExistingPlacementGroup(name=...)`.
        efa_placement_group: an `EfaPlacementGroup` made before, to share its security group or to use an existing one.
        security_groups: further groups for the primary interface.
        role: an existing role; what nodes need is added to it where its policies may be changed.
        encryption_key: customer key of the root volumes; the key of the account by default. Encrypted either way.
        image: the machine image, or a `TunedImage`; the Deep Learning base image of the accelerator's vendor by
            default.
        root_volume: size and speed of the gp3 root volume.
        storage: shared file systems to mount, in this order.
        bucket_access: buckets and prefixes that nodes may use; none by default.
        user_data: your own script with its `#!` line, run once before a node enters service.
        metadata_hop_limit: hops of instance metadata answers; 1 by default, 2 lets containers on a bridge reach it.
        detailed_monitoring: one-minute EC2 metrics; on by default, as the group's alarms count minutes.
        tuning: settings of nodes that are not applied unasked, by the names of the table of settings.
        notification_topic: gets launches, terminations and their failures.
        metrics_namespace: CloudWatch namespace of the agent's metrics.
        log_retention_days: how long the fleet's logs are kept.
        auto_scaling_group_name: name of the group; derived from the path by default. Changing it replaces the group.
        tags: tags of instances, volumes and interfaces, beside `Name`, `ultracluster:fleet` and those of `cdk.Tags`.
        catalog: instance types to know, in place of the library's own; `catalog_with_records([Path("new.json")])` adds
            those of DescribeInstanceTypes records to it.
        now: the present time for checks of a Capacity Block's end; the clock by default.

    Raises:
        FindingsError: with everything that is wrong, each with the value, the limit and the fix.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        network: ClusterNetwork,
        instance_type: str,
        count: int | None = None,
        min_count: int | None = None,
        max_count: int | None = None,
        availability_zone: str | None = None,
        availability_zones: Sequence[str] | None = None,
        capacity: Capacity | None = None,
        efa: int | None = None,
        interface_layout: InterfaceLayout = InterfaceLayout.MIN_IP,
        network_interfaces: Sequence[NetworkInterface] | None = None,
        associate_public_ip: bool = False,
        placement: Placement = AUTO,
        efa_placement_group: EfaPlacementGroup | None = None,
        security_groups: Sequence[ec2.ISecurityGroup] = (),
        role: iam.IRole | None = None,
        encryption_key: kms.IKey | None = None,
        image: Image | ImageSource | None = None,
        root_volume: RootVolume | None = None,
        storage: Sequence[SharedStorage] = (),
        bucket_access: Sequence[BucketAccess] = (),
        user_data: str | None = None,
        metadata_hop_limit: int = 1,
        detailed_monitoring: bool = True,
        tuning: Sequence[str] = (),
        notification_topic: sns.ITopic | None = None,
        metrics_namespace: str = METRICS_NAMESPACE,
        log_retention_days: int = LOG_RETENTION_DAYS,
        auto_scaling_group_name: str | None = None,
        tags: Mapping[str, str] | None = None,
        catalog: Mapping[str, InstanceType] | None = None,
        now: datetime | None = None,
    ) -> None:
        request = FleetRequest(
            name=construct_id,
            instance_types=(instance_type,),
            availability_zones=_zones(network, availability_zone, availability_zones),
            count=count,
            min_count=min_count,
            max_count=max_count,
            capacity=capacity or OnDemand(),
            efa=efa,
            layout=interface_layout,
            network_interfaces=None if network_interfaces is None else tuple(network_interfaces),
            associate_public_ip=associate_public_ip,
            placement=placement,
            image=image_from(image),
            root_volume=root_volume or RootVolume(),
            metadata_hop_limit=metadata_hop_limit,
            detailed_monitoring=detailed_monitoring,
            tuning=tuple(tuning),
            catalog=catalog,
            now=now or datetime.now(UTC),
        )
        super().__init__(
            scope,
            construct_id,
            request=request,
            faults=_zone_faults(scope, construct_id, network, availability_zone, availability_zones),
            network=network,
            efa_placement_group=efa_placement_group,
            security_groups=security_groups,
            role=role,
            encryption_key=encryption_key,
            storage=storage,
            bucket_access=bucket_access,
            user_data=user_data,
            notification_topic=notification_topic,
            metrics_namespace=metrics_namespace,
            log_retention_days=log_retention_days,
            auto_scaling_group_name=auto_scaling_group_name,
            tags=tags,
        )


def _zones(network: ClusterNetwork, zone: str | None, zones: Sequence[str] | None) -> tuple[str, ...]:
    """The zones of a fleet: those named, or the only zone of the network; with a fault, any to go on with."""
    if zone is not None:
        return (zone,)
    return network.availability_zones[:1] if zones is None else tuple(zones)


def _zone_faults(
    scope: Construct, construct_id: str, network: ClusterNetwork, zone: str | None, zones: Sequence[str] | None
) -> list[Finding]:
    """Zones are named once, or there is only one: none is ever picked at random."""
    known = network.availability_zones
    one_of_the_two = (zone is None) != (zones is None)
    if one_of_the_two or (zone is None and len(known) == 1):
        return []
    subject = f"{scope.node.path}/{construct_id}.availability_zone"
    if zone is not None:
        message = "availability_zone and availability_zones are both given"
        return [finding("UC-API-002", subject, message, "leave one of them out")]
    message = f"the network has {len(known)} zones ({', '.join(known)}) and none is named"
    return [finding("UC-API-005", subject, message)]
