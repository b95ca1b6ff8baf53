"""The launch template of one card layout: the plan's decisions as EC2 wants them."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from ultracluster.plan.capacity import CapacityPlan
from ultracluster.plan.fleet import FleetPlan
from ultracluster.plan.spot import LayoutGroup
from ultracluster.plan.volumes import RootVolumePlan
from ultracluster.values import dataclass

__all__ = ["NodeParts", "launch_template"]

_Template = ec2.CfnLaunchTemplate
_TAGGED = ("instance", "volume", "network-interface")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeParts:
    """What the launch templates of one fleet have in common and only the stack knows; values may be tokens.

    Attributes:
        image_id: the machine image.
        instance_profile_arn: the profile of the role.
        primary_groups: security groups of the primary interface.
        other_groups: security groups of every other interface.
        placement_group_name: the group to launch into, if any.
        key_arn: customer key of the root volume, if any.
        tags: tags of instance, volume and interfaces, rendered at synthesis.
    """

    image_id: str
    instance_profile_arn: str
    primary_groups: Sequence[str]
    other_groups: Sequence[str]
    placement_group_name: str | None
    key_arn: str | None
    tags: cdk.IResolvable


def launch_template(
    scope: Construct, construct_id: str, *, plan: FleetPlan, layout: LayoutGroup, parts: NodeParts, user_data: str
) -> ec2.CfnLaunchTemplate:
    """Make the launch template of one card layout.

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        plan: the fleet as decided.
        layout: types and interfaces of this template.
        parts: references that the fleet's templates share.
        user_data: the bootstrap, base64.
    """
    types = layout.instance_types
    name = parts.placement_group_name
    template = _Template(
        scope,
        construct_id,
        launch_template_data=_Template.LaunchTemplateDataProperty(
            image_id=parts.image_id,
            # Several types are named by the overrides of the mixed instances policy.
            instance_type=types[0].name if len(types) == 1 else None,
            iam_instance_profile=_Template.IamInstanceProfileProperty(arn=parts.instance_profile_arn),
            network_interfaces=_network_interfaces(plan, layout, parts),
            block_device_mappings=[_root_volume(plan.root_volume, parts.key_arn)],
            metadata_options=_Template.MetadataOptionsProperty(
                http_endpoint="enabled",
                http_tokens="required",
                http_put_response_hop_limit=plan.metadata_hop_limit,
            ),
            monitoring=_Template.MonitoringProperty(enabled=plan.detailed_monitoring),
            placement=None if name is None else _Template.PlacementProperty(group_name=name),
            capacity_reservation_specification=_reservation(plan.capacity),
            instance_market_options=_market(plan.capacity),
            # One token for the three lists: tags added to the scope later (`cdk.Tags.of`) are in it too.
            tag_specifications=cdk.Token.as_any([{"resourceType": kind, "tags": parts.tags} for kind in _TAGGED]),
            user_data=user_data,
        ),
    )
    if 0 < layout.interfaces.efa_count < layout.interfaces.efa_available:
        # For the policy rules, which else expect every fabric device of the type.
        template.add_metadata("ultracluster", {"efa_interfaces": layout.interfaces.efa_count})
    return template


def _network_interfaces(
    plan: FleetPlan, layout: LayoutGroup, parts: NodeParts
) -> list[ec2.CfnLaunchTemplate.NetworkInterfaceProperty | cdk.IResolvable]:
    primary_groups, other_groups = list(parts.primary_groups), list(parts.other_groups)
    return [
        _Template.NetworkInterfaceProperty(
            network_card_index=interface.card,
            device_index=interface.device,
            interface_type=interface.kind,
            groups=other_groups if place else primary_groups,
            delete_on_termination=True,  # an interface that outlives its node blocks the deletion of its groups
            # EC2 assigns no public address beside a second interface and refuses the key on efa-only entries.
            associate_public_ip_address=True if plan.associate_public_ip and not place else None,
        )
        for place, interface in enumerate(layout.interfaces.interfaces)
    ]


def _root_volume(volume: RootVolumePlan, key_arn: str | None) -> ec2.CfnLaunchTemplate.BlockDeviceMappingProperty:
    return _Template.BlockDeviceMappingProperty(
        device_name=volume.device_name,
        ebs=_Template.EbsProperty(
            volume_type="gp3",
            volume_size=volume.size_gib,
            iops=volume.iops,
            throughput=volume.throughput_mibps,
            encrypted=True,
            kms_key_id=key_arn,
            delete_on_termination=True,
        ),
    )


def _reservation(
    capacity: CapacityPlan,
) -> ec2.CfnLaunchTemplate.CapacityReservationSpecificationProperty | None:
    if capacity.reservation_id is None and capacity.resource_group_arn is None:
        return None
    return _Template.CapacityReservationSpecificationProperty(
        capacity_reservation_preference=capacity.preference,
        capacity_reservation_target=_Template.CapacityReservationTargetProperty(
            capacity_reservation_id=capacity.reservation_id,
            capacity_reservation_resource_group_arn=capacity.resource_group_arn,
        ),
    )


def _market(capacity: CapacityPlan) -> ec2.CfnLaunchTemplate.InstanceMarketOptionsProperty | None:
    if capacity.market_type is None:
        return None
    return _Template.InstanceMarketOptionsProperty(market_type=capacity.market_type)
