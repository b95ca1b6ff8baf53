"""Cluster placement group and EFA security group of one fleet.

EFA admits traffic by security-group id, never by address: the group must allow everything from itself and to itself.
Both self rules are resources of their own here, so that they exist whatever else the group allows. The placement group
carries no tags, because every property of one, tags included, can only be changed by replacing it under running nodes.
"""

from __future__ import annotations

from typing import assert_never

import jsii
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from ultracluster.findings import FindingsError, finding
from ultracluster.plan.placement import AUTO, AutoPlacement, ExistingPlacementGroup, NoPlacement, Placement

__all__ = ["EfaPlacementGroup"]

_ALL_TRAFFIC = "-1"
_NOWHERE = ec2.CfnSecurityGroup.EgressProperty(
    cidr_ip="255.255.255.255/32",
    ip_protocol="icmp",
    from_port=252,
    to_port=86,
    description="no traffic: an empty list would be replaced by the default rule to everywhere",
)


@jsii.implements(ec2.IConnectable)
class EfaPlacementGroup(Construct):
    """Where the nodes of a fleet stand, and the security group through which they talk EFA.

    Example:
        ```python
        fabric = EfaPlacementGroup(self, "Fabric", vpc=network.vpc)
        TrainingFleet(self, "Train", network=network, instance_type="p5.48xlarge", count=4, efa_placement_group=fabric)
        ```

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        vpc: the VPC of the security group.
        placement: `AUTO` makes a cluster placement group, `NONE` makes none (Capacity Blocks, reservations outside a
            group, several zones), `ExistingPlacementGroup(name=...)` uses one as it is.
        security_group: an existing group to give the self rules to; a new one by default.
        has_self_rules: the given group already allows all traffic from and to itself; EC2 refuses a second equal rule.
        allow_all_outbound: whether a new group also lets nodes reach everywhere (package mirrors, endpoints, S3). The
            self rules stand beside it either way.

    Attributes:
        placement_group: the cluster placement group made here, if any.
        placement_group_name: name of the group to launch into; a token for one made here.
        security_group: the EFA group.
        security_group_id: its id; a token for one made here.
        cfn_security_group: the group made here; `None` for an existing one.
        self_ingress, self_egress: the two self rules made here.

    Raises:
        FindingsError: `has_self_rules` without a security group.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        vpc: ec2.IVpc,
        placement: Placement = AUTO,
        security_group: ec2.ISecurityGroup | None = None,
        has_self_rules: bool = False,
        allow_all_outbound: bool = True,
    ) -> None:
        super().__init__(scope, construct_id)
        if has_self_rules and security_group is None:
            message = "has_self_rules speaks of an existing group, but security_group is not given"
            raise FindingsError([finding("UC-API-002", f"{self.node.path}.has_self_rules", message)])
        self.placement_group: ec2.CfnPlacementGroup | None = None
        self.placement_group_name = self._placement(placement)
        self.cfn_security_group: ec2.CfnSecurityGroup | None = None
        self.self_ingress: ec2.CfnSecurityGroupIngress | None = None
        self.self_egress: ec2.CfnSecurityGroupEgress | None = None
        # The id is read once: asking an imported group takes two crossings into the CDK.
        self.security_group, self.security_group_id = (
            self._security_group(vpc, allow_all_outbound=allow_all_outbound)
            if security_group is None
            else (security_group, security_group.security_group_id)
        )
        if not has_self_rules:
            self._self_rules(self.security_group_id)

    @property
    def connections(self) -> ec2.Connections:
        """The network connections of the EFA group."""
        return self.security_group.connections

    def _placement(self, placement: Placement) -> str | None:
        match placement:
            case AutoPlacement():
                self.placement_group = ec2.CfnPlacementGroup(self, "PlacementGroup", strategy="cluster")
                self.placement_group.add_property_deletion_override("Tags")
                return self.placement_group.ref
            case ExistingPlacementGroup(name=name):
                return name
            case NoPlacement():
                return None
        assert_never(placement)

    def _security_group(self, vpc: ec2.IVpc, *, allow_all_outbound: bool) -> tuple[ec2.ISecurityGroup, str]:
        # Without descriptions here and below: fifty fleets have fifty groups, and a template has a limit.
        everywhere = ec2.CfnSecurityGroup.EgressProperty(cidr_ip="0.0.0.0/0", ip_protocol=_ALL_TRAFFIC)
        self.cfn_security_group = ec2.CfnSecurityGroup(
            self,
            "Resource",  # adds nothing to the logical id, which every interface of every launch template repeats
            vpc_id=vpc.vpc_id,
            group_description=f"EFA of {self.node.path}"[:255],
            security_group_egress=[everywhere if allow_all_outbound else _NOWHERE],
        )
        group_id = self.cfn_security_group.ref
        group = ec2.SecurityGroup.from_security_group_id(
            self, "Imported", group_id, allow_all_outbound=allow_all_outbound
        )
        return group, group_id

    def _self_rules(self, group_id: str) -> None:
        self.self_ingress = ec2.CfnSecurityGroupIngress(
            self,
            "SelfIngress",
            group_id=group_id,
            source_security_group_id=group_id,
            ip_protocol=_ALL_TRAFFIC,
        )
        self.self_egress = ec2.CfnSecurityGroupEgress(
            self,
            "SelfEgress",
            group_id=group_id,
            destination_security_group_id=group_id,
            ip_protocol=_ALL_TRAFFIC,
        )
