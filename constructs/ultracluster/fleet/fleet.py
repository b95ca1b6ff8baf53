"""What every fleet is made of, whatever it is bought as: the decisions of the plan, put into at most nine resources.

Launch template (one per card layout), Auto Scaling group with its life-cycle hooks inside, role and instance profile,
log group, placement group where the plan wants one, and the EFA security group with its two self rules. A Capacity
Block whose end is known adds a scheduled action. Once per stack there is the policy that all nodes have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import aws_cdk as cdk
import jsii
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from constructs import Construct

from ultracluster.acknowledge import acknowledge, report_warnings
from ultracluster.findings import Finding, FindingsError, finding, raise_if_errors
from ultracluster.fleet import checks
from ultracluster.fleet.auto_scaling import auto_scaling_group, scheduled_scale_in
from ultracluster.fleet.bootstrap import mount_request, mount_slots, mounts_over_efa
from ultracluster.fleet.defaults import LOG_RETENTION_DAYS
from ultracluster.fleet.launch_template import NodeParts, launch_template
from ultracluster.fleet.metrics import group_metric, node_metric
from ultracluster.fleet.role import NodeAccess, attach_policy, node_actions, node_policy, node_role, own_policy
from ultracluster.fleet.stack_wide import image_parameter, nodes_policy, stack_wide
from ultracluster.fleet.user_data import PROGRAM, render_user_data
from ultracluster.fleet.volume_key import allow_auto_scaling
from ultracluster.fleet.wildcards import acknowledge_wildcards
from ultracluster.network.cluster_network import ClusterNetwork
from ultracluster.placement.efa_placement_group import EfaPlacementGroup
from ultracluster.plan.bootstrap import BootstrapInputs, user_data_requests
from ultracluster.plan.fleet import FleetPlan, FleetRequest, plan_fleet
from ultracluster.plan.log_retention import check_log_retention
from ultracluster.plan.names import log_group_name
from ultracluster.plan.placement import AUTO, NONE, ExistingPlacementGroup, Placement
from ultracluster.plan.user_data import UserDataPlan, plan_user_data
from ultracluster.storage.bucket_access import BucketAccess
from ultracluster.storage.contract import SharedStorage

__all__ = ["METRICS_NAMESPACE", "Fleet"]

METRICS_NAMESPACE = "UltraCluster"
"""One namespace for all fleets: their metrics differ in the AutoScalingGroupName dimension."""

_NEWEST_IMAGE = (
    "the parameter is read when the stack is deployed, so that all nodes of one launch template version boot the same "
    "image, and nodes that run are not replaced; an image by its id is given with Ami"
)
_NAME_LENGTH = 64
"""Of the Auto Scaling group, when it is not given: fits into metric dimensions, queue and log group names."""


@jsii.implements(ec2.IConnectable, iam.IGrantable, cdk.ITaggableV2)
class Fleet(Construct):
    """The common part of `TrainingFleet` and `SpotTrainingFleet`; use one of those.

    Attributes:
        plan: the decisions, with their reasons.
        user_data_plans: the bootstrap of each launch template, in the order of `plan.layouts`.
        auto_scaling_group_name, log_group_name, metrics_namespace: plain text, known before deployment.
        auto_scaling_group, launch_templates, role, instance_profile, log_group, efa_placement_group, scale_in: what was
            made; `scale_in` is `None` unless the end of a Capacity Block is known.
        node_policy: what was added to an existing role; `None` for a role made here, and for one that took nothing.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        request: FleetRequest,
        faults: Sequence[Finding] = (),
        network: ClusterNetwork,
        efa_placement_group: EfaPlacementGroup | None = None,
        security_groups: Sequence[ec2.ISecurityGroup] = (),
        role: iam.IRole | None = None,
        encryption_key: kms.IKey | None = None,
        storage: Sequence[SharedStorage] = (),
        bucket_access: Sequence[BucketAccess] = (),
        user_data: str | None = None,
        notification_topic: sns.ITopic | None = None,
        metrics_namespace: str = METRICS_NAMESPACE,
        log_retention_days: int = LOG_RETENTION_DAYS,
        auto_scaling_group_name: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._stack, self._path = cdk.Stack.of(self), self.node.path  # read once: every look crosses into the CDK
        self._stack_wide = stack_wide(self._stack)
        self.network = network
        self.metrics_namespace = metrics_namespace
        self.auto_scaling_group_name = auto_scaling_group_name or cdk.Names.unique_resource_name(
            self, max_length=_NAME_LENGTH, separator="-"
        )
        self.log_group_name = log_group_name(self.auto_scaling_group_name)
        self._mounts = tuple(shared.mount for shared in storage)
        self._user_groups = [group.security_group_id for group in security_groups]
        self._storage_groups = [shared.client_security_group.security_group_id for shared in storage]
        faults = (*faults, *check_log_retention(log_retention_days, subject=f"{self._path}.log_retention_days"))
        self.plan = self._decide(request, faults, efa_placement_group, tags or {})
        self.user_data_plans = self._bootstrap(user_data)
        self._tag_manager = self._tags(tags or {})
        self.efa_placement_group = efa_placement_group or self._fabric()
        self.log_group = self._log_group(log_retention_days)
        self.node_policy: iam.Policy | None = None
        self.role = self._role(role, bucket_access)
        self.instance_profile = iam.CfnInstanceProfile(self, "InstanceProfile", roles=[self.role.role_name])
        self.launch_templates = self._launch_templates(encryption_key)
        self.auto_scaling_group = self._group(notification_topic)
        start = self.plan.capacity.scale_in_start_time
        self.scale_in = None if start is None else scheduled_scale_in(self, self.auto_scaling_group, start)

    @property
    def launch_template(self) -> ec2.CfnLaunchTemplate:
        """The only launch template, or the base template of a fleet with several card layouts."""
        return self.launch_templates[0]

    @property
    def security_group(self) -> ec2.ISecurityGroup:
        """The EFA group, on every interface of every node."""
        return self.efa_placement_group.security_group

    @property
    def connections(self) -> ec2.Connections:
        """Network connections of the nodes."""
        return self.security_group.connections

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """The role of the nodes."""
        return self.role

    @property
    def cdk_tag_manager(self) -> cdk.TagManager:
        """Tags of instances, volumes and interfaces: `cdk.Tags.of(...)` reaches them through this."""
        return self._tag_manager

    def metric(self, metric_name: str, *, statistic: str = "Average") -> cloudwatch.Metric:
        """A metric of the agent on the nodes, aggregated over the fleet."""
        return node_metric(self.metrics_namespace, self.auto_scaling_group_name, metric_name, statistic=statistic)

    def metric_desired_nodes(self) -> cloudwatch.Metric:
        """Nodes that the group wants."""
        return group_metric(self.auto_scaling_group_name, "GroupDesiredCapacity")

    def metric_nodes_in_service(self) -> cloudwatch.Metric:
        """Nodes that passed their bootstrap and are healthy."""
        return group_metric(self.auto_scaling_group_name, "GroupInServiceInstances")

    def _decide(
        self,
        request: FleetRequest,
        faults: Sequence[Finding],
        given: EfaPlacementGroup | None,
        tags: Mapping[str, str],
    ) -> FleetPlan:
        """Check arguments and plan together, so that all faults come out at once."""
        subject = self._path
        region = self._stack.region
        found = [
            *faults,
            *checks.check_zones(request.availability_zones, self.network.availability_zones, subject=subject),
            *checks.check_group_count(self._primary_groups("fabric"), subject=subject),
            *checks.check_group_name(self.auto_scaling_group_name, subject=subject),
            *checks.check_tags(tags, subject=subject),
        ]
        if given is not None and request.placement != AUTO:
            message = "placement and efa_placement_group both decide on the placement group"
            found.append(finding("UC-API-002", f"{subject}.placement", message, "leave one of them out"))
        request = replace(
            request,
            region=None if cdk.Token.is_unresolved(region) else region,
            placement=request.placement if given is None else _placement_of(given),
        )
        plan = _planned(request, found, subject)
        report_warnings(self, plan.warnings)
        return plan

    def _bootstrap(self, user_script: str | None) -> tuple[UserDataPlan, ...]:
        inputs = BootstrapInputs(
            auto_scaling_group_name=self.auto_scaling_group_name,
            metrics_namespace=self.metrics_namespace,
            mounts=tuple(map(mount_request, self._mounts)),
            user_script=user_script,
        )
        requests = user_data_requests(self.plan, inputs)
        plans = tuple(plan_user_data(request, subject=self._path) for request in requests)
        report_warnings(self, dict.fromkeys(warning for plan in plans for warning in plan.warnings))
        return plans

    def _tags(self, tags: Mapping[str, str]) -> cdk.TagManager:
        named = {"Name": self._path, "ultracluster:fleet": self.plan.name, **tags}
        rows = [{"key": key, "value": value} for key, value in named.items()]
        return cdk.TagManager(cdk.TagType.STANDARD, "AWS::EC2::LaunchTemplate", rows)

    def _fabric(self) -> EfaPlacementGroup:
        name = self.plan.placement.existing_name
        placement: Placement = NONE if name is None else ExistingPlacementGroup(name=name)
        return EfaPlacementGroup(
            self, "Efa", vpc=self.network.vpc, placement=AUTO if self.plan.placement.create else placement
        )

    def _log_group(self, retention_days: int) -> logs.CfnLogGroup:
        group = logs.CfnLogGroup(self, "LogGroup", log_group_name=self.log_group_name, retention_in_days=retention_days)
        # Its name is literal, so one that outlived its fleet would stand in the way of the next deployment.
        group.apply_removal_policy(cdk.RemovalPolicy.DESTROY)
        return group

    def _role(self, given: iam.IRole | None, buckets: Sequence[BucketAccess]) -> iam.IRole:
        common = self._stack_wide
        access = NodeAccess(
            log_group_arn=self.log_group.attr_arn,
            group_arn_pattern=self._stack.format_arn(
                service="autoscaling",
                resource="autoScalingGroup",
                resource_name=f"*:autoScalingGroupName/{self.auto_scaling_group_name}",
                arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
            ),
            metrics_namespace=self.metrics_namespace,
            program_arn=common.program_arn,
            event_bus_arn=common.event_bus_arn,
            suspends_rebalancing=len(self.plan.availability_zones) > 1,
            buckets=buckets,
            mounts=self._mounts,
        )
        document = own_policy(self._stack, access) if given is None else node_policy(self._stack, access)
        acknowledge_wildcards(self, document)
        if given is None:
            return node_role(self, document, nodes_policy(self._stack, access))
        policy, taken = attach_policy(self, given, document)
        if taken:
            self.node_policy = policy
        else:
            message = f"nothing can be added to this role; its nodes need {', '.join(node_actions(document))}"
            report_warnings(self, [finding("UC-API-012", f"{self._path}.role", message)])
        return given

    def _launch_templates(self, key: kms.IKey | None) -> tuple[ec2.CfnLaunchTemplate, ...]:
        if key is not None and not allow_auto_scaling(self._stack, key):
            message = "the policy of an imported key cannot be changed here"
            report_warnings(self, [finding("UC-API-006", f"{self._path}.encryption_key", message)])
        over_efa = [
            group
            for group, mount in zip(self._storage_groups, self._mounts, strict=True)
            if mounts_over_efa(self.plan, mount)
        ]
        fabric_group = self.efa_placement_group.security_group_id
        parts = NodeParts(
            image_id=self._image_id(),
            instance_profile_arn=self.instance_profile.attr_arn,
            primary_groups=self._primary_groups(fabric_group),
            other_groups=list(dict.fromkeys([fabric_group, *over_efa])),
            placement_group_name=self.efa_placement_group.placement_group_name,
            key_arn=None if key is None else key.key_arn,
            tags=self._tag_manager.rendered_tags,
        )
        slots = {**mount_slots(self._mounts), PROGRAM: self._stack_wide.program}
        return tuple(
            launch_template(
                self,
                "LaunchTemplate" if self.plan.spot is None else f"LaunchTemplate-{layout.key}",
                plan=self.plan,
                layout=layout,
                parts=parts,
                user_data=render_user_data(self._stack, bootstrap.parts, slots),
            )
            for layout, bootstrap in zip(self.plan.layouts, self.user_data_plans, strict=True)
        )

    def _primary_groups(self, fabric_group: str) -> list[str]:
        return list(dict.fromkeys([fabric_group, *self._user_groups, *self._storage_groups]))

    def _image_id(self) -> str:
        image = self.plan.image
        if image.ssm_parameter is None:
            return image.ami_id or ""
        # A template parameter, once per stack and image: resolved at deployment, so all nodes until the next one agree.
        acknowledge(self, {"UC-IMG-010": _NEWEST_IMAGE})
        return image_parameter(self._stack, image.ssm_parameter)

    def _group(self, topic: sns.ITopic | None) -> autoscaling.CfnAutoScalingGroup:
        zones = self.plan.availability_zones
        group = auto_scaling_group(
            self,
            plan=self.plan,
            name=self.auto_scaling_group_name,
            subnet_ids=[subnet.subnet_id for subnet in self.network.fleet_subnets(zones)],
            launch_templates=self.launch_templates,
            topic_arn=None if topic is None else topic.topic_arn,
        )
        self._acknowledge(topic)
        for route in self.network.outbound_routes(zones):
            group.add_resource_dependency(route)  # the bootstrap needs a way out of the VPC at its first line
        if self.node_policy is not None:
            group.node.add_dependency(self.node_policy)  # a role made here has its policy inside
        return group

    def _acknowledge(self, topic: sns.ITopic | None) -> None:
        reasons: dict[str, str] = {}
        if topic is None:
            reasons["AwsSolutions-AS3"] = (
                "no notification_topic was given; the group publishes its metrics, and an alarm on nodes in service "
                "below the desired number covers failed launches"
            )
        if self.plan.spot is not None:
            reasons["AwsSolutions-EC26"] = (
                "the rule looks for a launch template beside the mixed instances policy and fails; every launch "
                "template of this fleet encrypts its only volume"
            )
        acknowledge(self, reasons)


def _placement_of(given: EfaPlacementGroup) -> Placement:
    """What a given group means for the plan: its name, or the path where the name is a token that nobody can read."""
    name = given.placement_group_name
    if name is None:
        return NONE
    return ExistingPlacementGroup(name=given.node.path if cdk.Token.is_unresolved(name) else name)


def _planned(request: FleetRequest, found: Sequence[Finding], subject: str) -> FleetPlan:
    try:
        plan = plan_fleet(request, subject=subject)
    except FindingsError as error:
        raise FindingsError([*found, *error.findings]) from None
    raise_if_errors(found)
    return plan
