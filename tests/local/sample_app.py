"""A small cluster in two stacks, of the resource types that the embedded AWS has to get right."""

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_efs as efs
from aws_cdk import aws_events as events
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs

INTERFACES = 33
"""A p5.48xlarge has 32 EFA interfaces and the primary one."""


class Storage(cdk.Stack):
    """Network and state: VPC, Lustre with associations, EFS, a bucket that stays."""

    def __init__(
        self, scope: cdk.App, construct_id: str, *, associations: int, deployment_type: str, **kwargs: object
    ) -> None:
        super().__init__(scope, construct_id, **kwargs)
        vpc = ec2.CfnVPC(self, "Vpc", cidr_block="10.0.0.0/16", tags=[cdk.CfnTag(key="Name", value="sample")])
        self.subnet = ec2.CfnSubnet(
            self, "Subnet", vpc_id=vpc.ref, cidr_block="10.0.0.0/20", availability_zone="us-east-1a"
        )
        group = ec2.CfnSecurityGroup(self, "Efa", group_description="EFA", vpc_id=vpc.ref)
        ec2.CfnSecurityGroupIngress(
            self, "EfaIn", group_id=group.attr_group_id, ip_protocol="-1", source_security_group_id=group.attr_group_id
        )
        ec2.CfnSecurityGroupEgress(
            self,
            "EfaOut",
            group_id=group.attr_group_id,
            ip_protocol="-1",
            destination_security_group_id=group.attr_group_id,
        )
        self.group_id = group.attr_group_id
        self._keep(vpc, self.subnet, group)
        self._nat(vpc)
        bucket = s3.Bucket(self, "Data", removal_policy=cdk.RemovalPolicy.RETAIN, versioned=True, enforce_ssl=True)
        lustre = fsx.CfnFileSystem(
            self,
            "Lustre",
            file_system_type="LUSTRE",
            storage_capacity=1200,
            subnet_ids=[self.subnet.ref],
            security_group_ids=[group.attr_group_id],
            lustre_configuration=fsx.CfnFileSystem.LustreConfigurationProperty(
                deployment_type=deployment_type, per_unit_storage_throughput=125, data_compression_type="LZ4"
            ),
        )
        lustre.apply_removal_policy(cdk.RemovalPolicy.RETAIN)
        for index in range(associations):
            fsx.CfnDataRepositoryAssociation(
                self,
                f"Data{index}",
                file_system_id=lustre.ref,
                file_system_path=f"/data{index}",
                data_repository_path=f"s3://{bucket.bucket_name}/data{index}",
            )
        home = efs.CfnFileSystem(self, "Home", encrypted=True, throughput_mode="elastic")
        efs.CfnMountTarget(
            self, "HomeMount", file_system_id=home.ref, subnet_id=self.subnet.ref, security_groups=[group.attr_group_id]
        )
        cdk.CfnOutput(self, "MountName", value=lustre.attr_lustre_mount_name)
        cdk.CfnOutput(self, "DnsName", value=f"{lustre.ref}.fsx.{self.region}.amazonaws.com")

    @staticmethod
    def _keep(*resources: cdk.CfnResource) -> None:
        # What a retained file system stands in cannot be deleted before it.
        for resource in resources:
            resource.apply_removal_policy(cdk.RemovalPolicy.RETAIN)

    def _nat(self, vpc: ec2.CfnVPC) -> None:
        address = ec2.CfnEIP(self, "Address", domain="vpc")
        ec2.CfnNatGateway(self, "Nat", subnet_id=self.subnet.ref, allocation_id=address.attr_allocation_id)
        role = iam.Role(self, "FlowRole", assumed_by=iam.ServicePrincipal("vpc-flow-logs.amazonaws.com"))
        group = logs.LogGroup(
            self, "Flows", removal_policy=cdk.RemovalPolicy.DESTROY, retention=logs.RetentionDays.ONE_MONTH
        )
        ec2.CfnFlowLog(
            self,
            "FlowLog",
            resource_id=vpc.ref,
            resource_type="VPC",
            traffic_type="ALL",
            log_group_name=group.log_group_name,
            deliver_logs_permission_arn=role.role_arn,
        )
        ec2.CfnVPCEndpoint(
            self, "S3", vpc_id=vpc.ref, service_name=f"com.amazonaws.{self.region}.s3", vpc_endpoint_type="Gateway"
        )


class Compute(cdk.Stack):
    """A fleet and what watches it."""

    def __init__(
        self, scope: cdk.App, construct_id: str, *, storage: Storage, nodes: int, interface_type: str, **kwargs: object
    ) -> None:
        super().__init__(scope, construct_id, **kwargs)
        role = iam.CfnRole(
            self,
            "Role",
            assume_role_policy_document={
                "Version": "2012-10-17",
                "Statement": [
                    {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}
                ],
            },
        )
        profile = iam.CfnInstanceProfile(self, "Profile", roles=[role.ref])
        placement = ec2.CfnPlacementGroup(self, "Placement", strategy="cluster")
        image = ec2.MachineImage.from_ssm_parameter(
            "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
        ).get_image(self)
        text = cdk.CfnMapping(self, "Boot", mapping={"shared": {"text": "set -e\n"}})
        template = ec2.CfnLaunchTemplate(
            self,
            "Nodes",
            launch_template_data=ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(
                image_id=image.image_id,
                instance_type="p5.48xlarge",
                iam_instance_profile=ec2.CfnLaunchTemplate.IamInstanceProfileProperty(name=profile.ref),
                placement=ec2.CfnLaunchTemplate.PlacementProperty(group_name=placement.ref),
                user_data=cdk.Fn.base64(cdk.Fn.join("", ["#!/bin/bash\n", text.find_in_map("shared", "text")])),
                network_interfaces=[
                    ec2.CfnLaunchTemplate.NetworkInterfaceProperty(
                        network_card_index=max(0, index - 1),
                        device_index=min(1, index),
                        groups=[storage.group_id],
                        interface_type="interface" if index == 0 else interface_type,
                        delete_on_termination=True,
                    )
                    for index in range(INTERFACES)
                ],
            ),
        )
        version = autoscaling.CfnAutoScalingGroup.LaunchTemplateSpecificationProperty(
            launch_template_id=template.ref, version=template.attr_latest_version_number
        )
        autoscaling.CfnAutoScalingGroup(
            self,
            "Fleet",
            min_size="0",
            max_size="8",
            desired_capacity=str(nodes),
            vpc_zone_identifier=[storage.subnet.ref],
            mixed_instances_policy=autoscaling.CfnAutoScalingGroup.MixedInstancesPolicyProperty(
                launch_template=autoscaling.CfnAutoScalingGroup.LaunchTemplateProperty(
                    launch_template_specification=version,
                    overrides=[
                        autoscaling.CfnAutoScalingGroup.LaunchTemplateOverridesProperty(
                            instance_type="p5.48xlarge", launch_template_specification=version
                        )
                    ],
                )
            ),
            lifecycle_hook_specification_list=[
                autoscaling.CfnAutoScalingGroup.LifecycleHookSpecificationProperty(
                    lifecycle_hook_name="ready",
                    lifecycle_transition="autoscaling:EC2_INSTANCE_LAUNCHING",
                    heartbeat_timeout=600,
                )
            ],
        )
        self._watch()

    def _watch(self) -> None:
        topic = sns.Topic(self, "People")
        queue = sqs.Queue(self, "Interruptions", encryption=sqs.QueueEncryption.SQS_MANAGED)
        events.CfnRule(
            self,
            "Interrupted",
            event_pattern={"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]},
            targets=[events.CfnRule.TargetProperty(arn=queue.queue_arn, id="queue")],
        )
        depth = cloudwatch.CfnAlarm(
            self,
            "Depth",
            comparison_operator="GreaterThanThreshold",
            evaluation_periods=1,
            threshold=0,
            period=60,
            namespace="AWS/SQS",
            metric_name="ApproximateNumberOfMessagesVisible",
            statistic="Maximum",
            alarm_actions=[topic.topic_arn],
            dimensions=[cloudwatch.CfnAlarm.DimensionProperty(name="QueueName", value=queue.queue_name)],
        )
        cloudwatch.CfnAlarm(
            self,
            "Idle",
            comparison_operator="LessThanThreshold",
            evaluation_periods=3,
            threshold=70,
            metrics=[
                cloudwatch.CfnAlarm.MetricDataQueryProperty(id="e", expression="m * 100", return_data=True),
                cloudwatch.CfnAlarm.MetricDataQueryProperty(
                    id="m",
                    return_data=False,
                    metric_stat=cloudwatch.CfnAlarm.MetricStatProperty(
                        metric=cloudwatch.CfnAlarm.MetricProperty(metric_name="gpu", namespace="UltraCluster"),
                        period=60,
                        stat="Average",
                    ),
                ),
            ],
        )
        cloudwatch.CfnCompositeAlarm(self, "Any", alarm_rule=f'ALARM("{depth.ref}")')
        cloudwatch.CfnDashboard(self, "Board", dashboard_body='{"widgets": []}')


def build(app: cdk.App, **settings: str) -> None:
    """Add the two stacks.

    Settings: prefix of the stack names, nodes, associations, interface_type, deployment_type.
    """
    env = cdk.Environment(account="111122223333", region="us-east-1")
    prefix = settings.get("prefix", "Sample")
    storage = Storage(
        app,
        f"{prefix}Storage",
        associations=int(settings.get("associations", "1")),
        deployment_type=settings.get("deployment_type", "PERSISTENT_2"),
        env=env,
    )
    Compute(
        app,
        f"{prefix}Compute",
        storage=storage,
        nodes=int(settings.get("nodes", "2")),
        interface_type=settings.get("interface_type", "efa"),
        env=env,
    )
    cdk.Tags.of(app).add("cluster", prefix)


if __name__ == "__main__":
    application = cdk.App(builtin_cloud_formation_validation=False)
    names = ("prefix", "nodes", "associations", "interface_type", "deployment_type")
    build(application, **{name: str(value) for name in names if (value := application.node.try_get_context(name))})
    application.synth()
