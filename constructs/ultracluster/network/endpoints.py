"""Endpoints of a network: S3 through a gateway, free of charge, and the interface endpoints that nodes call."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from ultracluster.network.defaults import HTTPS_PORT
from ultracluster.plan.references import is_unresolved

__all__ = ["NetworkEndpoints"]


class NetworkEndpoints(Construct):
    """S3 gateway endpoint on every private route table, and interface endpoints with one security group of their own.

    The policy of the S3 endpoint lets everybody read (package repositories, model hubs and container layers come from
    buckets of other accounts) and only principals of this account do anything else, so that nothing can be written
    from inside the network with the keys of a foreign account.

    Attributes:
        s3: the gateway endpoint.
        interfaces: the interface endpoints by service (`ssm`, `logs`, ...), with private DNS names.
        security_group: their group, HTTPS from the VPC only; `None` without interface endpoints.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        vpc_id: str,
        vpc_cidr: str,
        route_table_ids: Sequence[str],
        subnet_ids: Sequence[str],
        services: Sequence[str],
    ) -> None:
        super().__init__(scope, construct_id)
        stack = cdk.Stack.of(self)
        self.s3 = ec2.CfnVPCEndpoint(
            self,
            "S3",
            vpc_id=vpc_id,
            vpc_endpoint_type="Gateway",
            service_name=f"com.amazonaws.{cdk.Aws.REGION}.s3",
            route_table_ids=list(route_table_ids),
            policy_document=_s3_policy(stack.account),
        )
        self.security_group: ec2.CfnSecurityGroup | None = None
        self.interfaces: dict[str, ec2.CfnVPCEndpoint] = {}
        if services and subnet_ids:
            self.security_group = self._security_group(vpc_id, vpc_cidr)
            groups = [self.security_group.attr_group_id]
            region = stack.region
            for service in services:
                self.interfaces[service] = ec2.CfnVPCEndpoint(
                    self,
                    service,
                    vpc_id=vpc_id,
                    vpc_endpoint_type="Interface",
                    service_name=_service_name(service, region),
                    subnet_ids=list(subnet_ids),
                    security_group_ids=groups,
                    private_dns_enabled=True,
                )

    def _security_group(self, vpc_id: str, vpc_cidr: str) -> ec2.CfnSecurityGroup:
        return ec2.CfnSecurityGroup(
            self,
            "SecurityGroup",
            vpc_id=vpc_id,
            group_description="interface endpoints: HTTPS from the VPC",
            security_group_ingress=[
                ec2.CfnSecurityGroup.IngressProperty(
                    ip_protocol="tcp",
                    from_port=HTTPS_PORT,
                    to_port=HTTPS_PORT,
                    cidr_ip=vpc_cidr,
                    description="HTTPS from the VPC",
                )
            ],
        )


def _service_name(service: str, region: str) -> str:
    """The full name of a service: that of its Region, except in China, where the CDK keeps a list of others."""
    if is_unresolved(region) or region.startswith("cn-"):
        return ec2.InterfaceVpcEndpointAwsService(service).name
    return f"com.amazonaws.{region}.{service}"


def _s3_policy(account: str) -> dict[str, object]:
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "OwnPrincipals",
                "Effect": "Allow",
                "Principal": {"AWS": "*"},
                "Action": "s3:*",
                "Resource": "*",
                "Condition": {"StringEquals": {"aws:PrincipalAccount": account}},
            },
            {
                "Sid": "EverybodyReads",
                "Effect": "Allow",
                "Principal": {"AWS": "*"},
                "Action": ["s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket"],
                "Resource": "*",
            },
        ],
    }
