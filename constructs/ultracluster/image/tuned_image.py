"""A machine image for training nodes: built on a schedule, tested on a new instance, distributed, and retired.

It defines an EC2 Image Builder pipeline with its recipe and components, the role, profile and security group of build
instances, a bucket and a log group for their logs, a topic that tells of every build, the distribution with one
parameter per Region, and the policy that deletes old images. A build costs about two hours of two small instances and
the snapshots of the images that are kept. It refuses names that nobody knows, a base that does not exist for the
accelerators, and build types of another architecture.

Nothing here replaces a node: the parameter is read when a stack with fleets is deployed, and only nodes that start
after that boot the new image.
"""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_imagebuilder as imagebuilder
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from constructs import Construct

from ultracluster.acknowledge import report_warnings
from ultracluster.facts.image_versions import ImageVersions
from ultracluster.findings import raise_if_errors
from ultracluster.image.build_role import BuildAccess, build_role
from ultracluster.image.defaults import LOG_DAYS, LOG_PREFIX, SCHEDULE
from ultracluster.image.distribution import distribution, let_accounts_use
from ultracluster.image.recipe import recipe
from ultracluster.image.retention import retention_policy, retention_role
from ultracluster.image.workshop import build_security_group, log_bucket, log_group, notifications
from ultracluster.network.cluster_network import ClusterNetwork
from ultracluster.node_asset import node_program_asset
from ultracluster.plan.image_build import Base, TunedImagePlan, TunedImageRequest, check_tuned_image, plan_tuned_image
from ultracluster.plan.image_distribution import (
    PARAMETER_PREFIX,
    ImageRegion,
    ImageRetention,
    check_parameter,
    check_regions,
    check_retention,
)
from ultracluster.plan.image_options import Dlami, SsmImage
from ultracluster.plan.log_retention import check_log_retention
from ultracluster.storage.cluster_key import ClusterKey

__all__ = ["TunedImage"]

_NAME_LENGTH = 64
_Infrastructure = imagebuilder.CfnInfrastructureConfiguration
_Pipeline = imagebuilder.CfnImagePipeline


class TunedImage(Construct):
    """An Image Builder pipeline for tuned machine images.

    Example:
        ```python
        image = TunedImage(self, "Image", network=network)
        TrainingFleet(self, "Train", image=image, ...)
        ```

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        network: where build and test instances run: in a private subnet, with a way to the internet.
        availability_zone: of the network; the first one by default.
        base: the Deep Learning AMI (the default, because its driver, EFA and container runtime are tested together), or
            a plain Amazon Linux 2023 or Ubuntu, which gets the pinned driver.
        vendor: whose accelerators it is for: `nvidia` by default, or `aws` for Trainium and Inferentia.
        architecture: `x86_64` by default, or `arm64`.
        opt_ins: settings that are not applied unasked, by the names of the table of settings.
        without: parts that are left out: `agent`, `dcgm`, `efa`, `gdrcopy`, `lustre`, `node-exporter`.
        versions: what is installed; the pinned versions of this library by default.
        instance_types: what is built and tested on. Without an accelerator by default; on types with one the health
            checks of its devices run as well.
        root_gib: root volume of the image in GiB; what the build needs by default.
        schedule: when it is built, as Image Builder writes it; `None` only when somebody starts the pipeline.
        regions: further Regions and accounts; the Region of the stack may be named to share the image there.
        parameter_name: of the parameter that holds the newest tested image; must begin with `/imagebuilder/`.
        retention: which old images are deleted.
        scan_for_vulnerabilities: whether Amazon Inspector looks at every build; it has to be active in the account.
        encryption_key: of images, logs and notices; a key of its own by default.
        notification_topic: gets the result of every build. Its key has to let the service-linked role of Image Builder
            in; the topic that is made here by default does.
        log_retention_days: how long logs of builds are kept.
        image_name: of all parts, plain text; derived from the construct's path by default.

    Attributes:
        plan: the decisions, with their reasons.
        image_name, parameter_name: plain text, known before deployment.
        components, recipe, infrastructure, distribution, pipeline: what was made of Image Builder.
        retention_policy, retention_role: what deletes old images.
        role, instance_profile, security_group: of build instances. A customer key of the bootstrap bucket is granted to
            the role as to any other: `key.grant_decrypt(image.role)`.
        encryption_key, log_bucket, log_group, notification_topic: around them.

    Raises:
        FindingsError: with everything that is wrong with the arguments.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        network: ClusterNetwork,
        availability_zone: str | None = None,
        base: Base | None = None,
        vendor: str = "nvidia",
        architecture: str = "x86_64",
        opt_ins: Sequence[str] = (),
        without: Sequence[str] = (),
        versions: ImageVersions | None = None,
        instance_types: Sequence[str] = (),
        root_gib: int | None = None,
        schedule: str | None = SCHEDULE,
        regions: Sequence[ImageRegion] = (),
        parameter_name: str | None = None,
        retention: ImageRetention | None = None,
        scan_for_vulnerabilities: bool = True,
        encryption_key: kms.IKey | None = None,
        notification_topic: sns.ITopic | None = None,
        log_retention_days: int = LOG_DAYS,
        image_name: str | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._stack = cdk.Stack.of(self)
        # In lower case, as Image Builder writes it in every ARN.
        unique = cdk.Names.unique_resource_name(self, max_length=_NAME_LENGTH, separator="-").lower()
        self.image_name = image_name or unique
        self.parameter_name = parameter_name or f"{PARAMETER_PREFIX}ultracluster/{self.image_name}"
        self._retention = retention or ImageRetention()
        self._regions = tuple(regions)
        request = TunedImageRequest(
            base=Dlami() if base is None else base,
            vendor=vendor,
            architecture=architecture,
            opt_ins=tuple(opt_ins),
            without=tuple(without),
            versions=versions,
            instance_types=tuple(instance_types),
            root_gib=root_gib,
        )
        self.plan = self._decide(request, log_retention_days)
        self._tags = {"Name": self.image_name, "ultracluster:image": self.image_name}
        self.encryption_key: kms.IKey = encryption_key or ClusterKey(self, "Key").key
        self._make_workshop(network, notification_topic, log_retention_days)
        self.components, self.recipe = recipe(
            self,
            name=self.image_name,
            plan=self.plan,
            key_arn=self.encryption_key.key_arn,
            program_address=f"s3://{self._program.s3_bucket_name}/{self._program.s3_object_key}",
            tags=self._tags,
        )
        zone = availability_zone or network.availability_zones[0]
        self.infrastructure = self._infrastructure(network.fleet_subnet(zone))
        self.distribution = self._distribution()
        self.pipeline = self._pipeline(schedule, scan=scan_for_vulnerabilities)
        for route in network.outbound_routes([zone]):
            self.pipeline.add_resource_dependency(route)
        self._retire()

    @property
    def image(self) -> SsmImage:
        """The newest tested image, for the `image` of a fleet: read when the stack of the fleet is deployed."""
        return SsmImage(parameter=self.parameter_name, os=self.plan.os, root_device_name=self.plan.root_device_name)

    @property
    def pipeline_arn(self) -> str:
        """What `aws imagebuilder start-image-pipeline-execution` takes."""
        return self.pipeline.attr_arn

    def _decide(self, request: TunedImageRequest, log_retention_days: int) -> TunedImagePlan:
        path = self.node.path
        found = [
            *check_tuned_image(request, subject=path),
            *check_regions(self._regions, home=self._stack.region, subject=path),
            *check_retention(self._retention, subject=path),
            *check_parameter(self.parameter_name, subject=path),
            *check_log_retention(log_retention_days, subject=f"{path}.log_retention_days"),
        ]
        raise_if_errors(found)
        plan = plan_tuned_image(request, subject=path)
        report_warnings(self, plan.warnings)
        return plan

    def _make_workshop(self, network: ClusterNetwork, topic: sns.ITopic | None, log_retention_days: int) -> None:
        """What the build instances need around them."""
        key = self.encryption_key
        self.security_group: ec2.CfnSecurityGroup = build_security_group(self, "SecurityGroup", vpc=network.vpc)
        self.log_bucket: s3.Bucket = log_bucket(self, "Logs", key=key, days=log_retention_days)
        self.log_group: logs.CfnLogGroup = log_group(
            self, "LogGroup", image_name=self.image_name, key_arn=key.key_arn, days=log_retention_days
        )
        self.notification_topic: sns.ITopic = topic or notifications(self, "Notices", key=key)
        self._program = node_program_asset(self._stack)
        access = BuildAccess(
            component_name_prefix=self.image_name,
            program_arn=self._stack.format_arn(
                service="s3",
                region="",
                account="",
                resource=self._program.s3_bucket_name,
                resource_name=self._program.s3_object_key,
            ),
            log_bucket_arn=self.log_bucket.bucket_arn,
            log_prefix=LOG_PREFIX,
            log_group_arn=self.log_group.attr_arn,
            key_arn=key.key_arn,
        )
        self.role: iam.Role = build_role(self, "Role", access=access)
        self.instance_profile = iam.CfnInstanceProfile(self, "InstanceProfile", roles=[self.role.role_name])

    def _infrastructure(self, subnet: ec2.ISubnet) -> imagebuilder.CfnInfrastructureConfiguration:
        return _Infrastructure(
            self,
            "Infrastructure",
            name=self.image_name,
            description=f"where {self.image_name} is built and tested",
            instance_profile_name=self.instance_profile.ref,
            instance_types=list(self.plan.instance_types),
            subnet_id=subnet.subnet_id,
            security_group_ids=[self.security_group.attr_group_id],
            sns_topic_arn=self.notification_topic.topic_arn,
            instance_metadata_options=_Infrastructure.InstanceMetadataOptionsProperty(
                http_tokens="required", http_put_response_hop_limit=1
            ),
            logging=_Infrastructure.LoggingProperty(
                s3_logs=_Infrastructure.S3LogsProperty(
                    s3_bucket_name=self.log_bucket.bucket_name, s3_key_prefix=LOG_PREFIX
                )
            ),
            terminate_instance_on_failure=True,  # its logs are in the bucket, and nobody would stop it
            resource_tags=self._tags,
            tags=self._tags,
        )

    def _distribution(self) -> imagebuilder.CfnDistributionConfiguration:
        home = self._stack.region
        named = next((each for each in self._regions if each.region == home), ImageRegion(region=home))
        own = ImageRegion(
            region=home,
            key_arn=self.encryption_key.key_arn,
            shared_with=named.shared_with,
            copied_to=named.copied_to,
        )
        let_accounts_use(self.encryption_key, [*own.shared_with, *own.copied_to])
        others = [each for each in self._regions if each.region != home]
        return distribution(
            self,
            "Distribution",
            name=self.image_name,
            parameter_name=self.parameter_name,
            regions=[own, *others],
            tags=self._tags,
        )

    def _pipeline(self, schedule: str | None, *, scan: bool) -> imagebuilder.CfnImagePipeline:
        when = None
        if schedule is not None:
            when = _Pipeline.ScheduleProperty(
                schedule_expression=schedule, pipeline_execution_start_condition="EXPRESSION_MATCH_ONLY"
            )
        return _Pipeline(
            self,
            "Resource",
            name=self.image_name,
            description=f"builds, tests and distributes {self.image_name}",
            image_recipe_arn=self.recipe.attr_arn,
            infrastructure_configuration_arn=self.infrastructure.attr_arn,
            distribution_configuration_arn=self.distribution.attr_arn,
            enhanced_image_metadata_enabled=True,
            image_tests_configuration=_Pipeline.ImageTestsConfigurationProperty(
                image_tests_enabled=True, timeout_minutes=120
            ),
            image_scanning_configuration=_Pipeline.ImageScanningConfigurationProperty(image_scanning_enabled=scan),
            logging_configuration=_Pipeline.PipelineLoggingConfigurationProperty(
                image_log_group_name=self.log_group.ref, pipeline_log_group_name=self.log_group.ref
            ),
            schedule=when,
            status="ENABLED",
            image_tags=self._tags,
            tags=self._tags,
        )

    def _retire(self) -> None:
        self.retention_role: iam.Role = retention_role(self, "RetentionRole", recipe_name=self.image_name)
        self.retention_policy: imagebuilder.CfnLifecyclePolicy = retention_policy(
            self,
            "Retention",
            name=self.image_name,
            retention=self._retention,
            role=self.retention_role,
            tags={"ultracluster:image": self.image_name},
        )
