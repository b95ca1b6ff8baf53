"""A Spot fleet over several instance types and zones, with what it takes to live with interruptions.

What it makes beside a `TrainingFleet`: one launch template per layout of network cards, a mixed instances policy, and
`SpotInterruptions` (rules, queue, dead-letter queue, topic). Over several zones the nodes have no EFA, whose traffic
does not leave a zone; in one zone they have. What it costs: Spot prices, a customer key when it has to make the topic
itself, and the work lost since the last checkpoint whenever a node is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from ultracluster.plan.capacity import Spot
from ultracluster.plan.fleet import FleetRequest
from ultracluster.plan.image_options import Image, ImageSource, image_from
from ultracluster.plan.network_interfaces import InterfaceLayout
from ultracluster.plan.placement import AUTO, Placement
from ultracluster.plan.volumes import RootVolume
from ultracluster.spot.interruptions import SpotInterruptions
from ultracluster.storage.bucket_access import BucketAccess
from ultracluster.storage.contract import SharedStorage

__all__ = ["SpotTrainingFleet"]


class SpotTrainingFleet(Fleet):
    """Nodes of several interchangeable types, wherever Spot capacity is deepest.

    Example:
        ```python
        SpotTrainingFleet(
            self, "Research",
            network=network,
            instance_types=["p5.48xlarge", "p5e.48xlarge", "p5en.48xlarge"],
            min_count=0,
            max_count=8,
        )
        ```

    Args:
        scope: the parent.
        construct_id: the id in the parent, and the name of the fleet in tags.
        network: where the nodes stand.
        instance_types: EC2 names, the preferred one first.
        count: number of nodes; or give `min_count` and `max_count`.
        min_count: fewest nodes.
        max_count: most nodes.
        availability_zones: zones to look for capacity in; all zones of the network by default. One zone means EFA.
        capacity: On-Demand base and share, allocation strategy, highest price; all Spot and price-capacity-optimized
            by default.
        efa: EFA devices per node; 0 over several zones and all that a type has in one zone by default.
        interface_layout: how interfaces are laid out on the network cards; the fewest addresses by default.
        placement: `AUTO` makes a cluster group for a fleet with EFA in one zone.
        efa_placement_group: an `EfaPlacementGroup` made before.
        security_groups: further groups for the primary interface.
        role: an existing role.
        encryption_key: customer key of the root volumes.
        image: the machine image, or a `TunedImage`; the Deep Learning base image of the accelerator's vendor by
            default.
        root_volume: size and speed of the gp3 root volume.
        storage: shared file systems to mount, in this order.
        bucket_access: buckets and prefixes that nodes may use; checkpoints belong here.
        user_data: your own script with its `#!` line, run once before a node enters service.
        metadata_hop_limit: hops of instance metadata answers; 1 by default.
        detailed_monitoring: one-minute EC2 metrics; on by default.
        tuning: settings of nodes that are not applied unasked, by the names of the table of settings.
        notification_topic: gets launches, terminations and interruptions. Its policy and its key have to let
            `events.amazonaws.com` and Auto Scaling publish (`NotificationTopic` does). Without one, a topic for
            interruptions is made.
        metrics_namespace: CloudWatch namespace of the agent's metrics.
        log_retention_days: how long the fleet's logs are kept.
        auto_scaling_group_name: name of the group; derived from the path by default.
        tags: tags of instances, volumes and interfaces.
        catalog: instance types to know, in place of the library's own; `catalog_with_records([Path("new.json")])` adds
            those of DescribeInstanceTypes records to it.

    Attributes:
        interruptions: rules, queues and topic.

    Raises:
        FindingsError: with everything that is wrong, each with the value, the limit and the fix.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        network: ClusterNetwork,
        instance_types: Sequence[str],
        count: int | None = None,
        min_count: int | None = None,
        max_count: int | None = None,
        availability_zones: Sequence[str] | None = None,
        capacity: Spot | None = None,
        efa: int | None = None,
        interface_layout: InterfaceLayout = InterfaceLayout.MIN_IP,
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
    ) -> None:
        request = FleetRequest(
            name=construct_id,
            instance_types=tuple(instance_types),
            availability_zones=network.availability_zones if availability_zones is None else tuple(availability_zones),
            count=count,
            min_count=min_count,
            max_count=max_count,
            capacity=capacity or Spot(),
            efa=efa,
            layout=interface_layout,
            placement=placement,
            image=image_from(image),
            root_volume=root_volume or RootVolume(),
            metadata_hop_limit=metadata_hop_limit,
            detailed_monitoring=detailed_monitoring,
            tuning=tuple(tuning),
            catalog=catalog,
        )
        super().__init__(
            scope,
            construct_id,
            request=request,
            faults=_no_spot(f"{scope.node.path}/{construct_id}", request.capacity),
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
        self.interruptions = SpotInterruptions(
            self, "Interruptions", fleet_name=self.auto_scaling_group_name, topic=notification_topic
        )

    @property
    def interruption_queue_name(self) -> str:
        """Literal name of the queue with notices for programs."""
        return self.interruptions.queue_name

    @property
    def interruption_dead_letter_queue_name(self) -> str:
        """Literal name of the queue with what could not be delivered or handled."""
        return self.interruptions.dead_letter_queue_name


def _no_spot(subject: str, capacity: object) -> tuple[Finding, ...]:
    """Another kind of capacity would leave queue, rules and topic without a single notice."""
    if isinstance(capacity, Spot):
        return ()
    message = f"{type(capacity).__name__} in a Spot fleet, whose queue and rules wait for Spot notices"
    fix = "pass Spot(...) with its On-Demand base and share, or use TrainingFleet"
    return (finding("UC-API-002", f"{subject}.capacity", message, fix),)
