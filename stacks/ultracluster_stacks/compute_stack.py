"""The fleets: what costs most and lives shortest. Nothing depends on this stack, so it can go and come back alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk

from ultracluster.fleet.fleet import Fleet
from ultracluster.plan.capacity_options import Spot
from ultracluster.spot.interruptions import SpotInterruptions
from ultracluster.storage.bucket_access import BucketAccess
from ultracluster.storage.contract import SharedMount
from ultracluster.storage.security_groups import StorageSecurityGroups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_sns as sns
    from constructs import Construct

    from ultracluster import ClusterNetwork
    from ultracluster.plan.cluster import FleetAttachments
    from ultracluster.plan.fleet import FleetRequest
    from ultracluster.spec.observability import ObservabilitySpec
    from ultracluster.storage.contract import SharedStorage
    from ultracluster_stacks.storage_stack import StorageStack

__all__ = ["ComputeStack"]


class ComputeStack(cdk.Stack):
    """The fleets of a cluster.

    Attributes:
        fleets: by the names of the cluster file.
        interruptions: rules, queues and topic of the Spot fleets, by the same names.
        clients: groups of the clients of file systems that serve EFA, by the names of those.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        requests: Sequence[FleetRequest],
        attachments: Sequence[FleetAttachments],
        network: ClusterNetwork,
        storage: StorageStack,
        observability: ObservabilitySpec,
        topic: sns.ITopic,
        env: cdk.Environment,
    ) -> None:
        # Indented, fifty fleets would take twice their share of the one megabyte that a template may have.
        super().__init__(
            scope, construct_id, env=env, description="fleets of a training cluster", suppress_template_indentation=True
        )
        self._network, self._storage, self._topic, self._observability = network, storage, topic, observability
        self.interruptions: dict[str, SpotInterruptions] = {}
        self.clients: dict[str, StorageSecurityGroups] = {}
        self.fleets = {
            request.name: self._fleet(request, attached)
            for request, attached in zip(requests, attachments, strict=True)
        }

    def _fleet(self, request: FleetRequest, attached: FleetAttachments) -> Fleet:
        fleet = Fleet(
            self,
            request.name,
            request=request,
            network=self._network,
            storage=[self._shared(name) for name in attached.mounts],
            bucket_access=[
                BucketAccess(bucket=self._storage.bucket(access.bucket), prefix=access.prefix, write=access.write)
                for access in attached.bucket_access
            ],
            user_data=attached.user_script,
            notification_topic=self._topic,
            metrics_namespace=self._observability.metrics_namespace,
            log_retention_days=self._observability.log_retention_days,
            auto_scaling_group_name=attached.auto_scaling_group_name,
            tags=attached.tags,
        )
        if isinstance(request.capacity, Spot):
            self.interruptions[request.name] = SpotInterruptions(
                fleet, "Interruptions", fleet_name=fleet.auto_scaling_group_name, topic=self._topic
            )
        return fleet

    def _shared(self, name: str) -> SharedStorage:
        """A file system, with a group of its clients in this stack when it is attached to every interface.

        The one beside the file system would be a reference into another stack: 190 characters on each of 33 interfaces.
        """
        lustre = self._storage.lustre.get(name)
        if lustre is None or not lustre.mount.efa:
            return self._storage.shared[name]
        if name not in self.clients:
            self.clients[name] = StorageSecurityGroups(
                self,
                f"Clients-{name}",
                vpc=self._network.vpc,
                ports=(),  # EFA: all traffic
                both_ways=True,
                servers=lustre.security_groups.servers,
            )
        return SharedMount(mount=lustre.mount, client_security_group=self.clients[name].clients)
