"""The shared home in a template."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms

from support.groups import rules
from support.templates import all_properties, only, resource_types, resources
from ultracluster.findings import FindingsError
from ultracluster.plan.home import AccessPoint
from ultracluster.storage.shared_home import SharedHome

JOBS = AccessPoint(name="jobs", path="/jobs", uid=1001, gid=1002)


def test_the_defaults(stack, network, synth) -> None:
    SharedHome(stack, "Home", network=network)
    template = synth(stack)
    body = only(template, "AWS::EFS::FileSystem")
    assert body["Encrypted"] is True
    assert (body["ThroughputMode"], body["PerformanceMode"]) == ("elastic", "generalPurpose")
    assert body["BackupPolicy"] == {"Status": "ENABLED"}
    assert body["LifecyclePolicies"] == [
        {"TransitionToIA": "AFTER_30_DAYS"},
        {"TransitionToPrimaryStorageClass": "AFTER_1_ACCESS"},
        {"TransitionToArchive": "AFTER_90_DAYS"},
    ]
    (resource,) = resources(template, "AWS::EFS::FileSystem").values()
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_a_mount_without_tls_is_refused_and_so_is_any_other_way_in(stack, network, synth) -> None:
    SharedHome(stack, "Home", network=network)
    allow, deny = only(synth(stack), "AWS::EFS::FileSystem")["FileSystemPolicy"]["Statement"]
    assert allow["Effect"] == "Allow"
    assert allow["Condition"] == {"Bool": {"elasticfilesystem:AccessedViaMountTarget": "true"}}
    assert "elasticfilesystem:ClientMount" in allow["Action"]
    assert (deny["Effect"], deny["Action"]) == ("Deny", "*")
    assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_a_mount_target_in_each_zone_named_by_the_zone(stack, network, synth) -> None:
    home = SharedHome(stack, "Home", network=network)
    targets = all_properties(synth(stack), "AWS::EFS::MountTarget")
    assert [each["SubnetId"] for each in targets] == ["subnet-storageus-east-1a", "subnet-storageus-east-1b"]
    assert all(len(each["SecurityGroups"]) == 1 for each in targets)
    assert [target.node.id for target in home.mount_targets.values()] == [
        "MountTarget-us-east-1a",
        "MountTarget-us-east-1b",
    ]


def test_one_zone_has_one_target(stack, network, synth) -> None:
    SharedHome(stack, "Home", network=network, one_zone="us-east-1b")
    template = synth(stack)
    assert only(template, "AWS::EFS::FileSystem")["AvailabilityZoneName"] == "us-east-1b"
    assert only(template, "AWS::EFS::MountTarget")["SubnetId"] == "subnet-storageus-east-1b"


def test_nfs_is_open_from_clients_to_targets(stack, network, synth) -> None:
    home = SharedHome(stack, "Home", network=network)
    servers, clients = (
        stack.get_logical_id(group) for group in (home.security_groups.cfn_servers, home.security_groups.cfn_clients)
    )
    assert rules(synth(stack)) == {("in", servers, clients, 2049, 2049), ("out", clients, servers, 2049, 2049)}


def test_access_points_and_the_one_that_is_mounted(stack, network, synth) -> None:
    home = SharedHome(stack, "Home", network=network, access_points=[JOBS], mount_access_point="jobs")
    body = only(synth(stack), "AWS::EFS::AccessPoint")
    assert body["PosixUser"] == {"Uid": "1001", "Gid": "1002"}
    assert body["RootDirectory"] == {
        "Path": "/jobs",
        "CreationInfo": {"OwnerUid": "1001", "OwnerGid": "1002", "Permissions": "0750"},
    }
    slots = stack.resolve(dict(home.mount.slots))
    assert slots["access_point_id"] == {"Ref": stack.get_logical_id(home.access_points["jobs"])}
    assert slots["file_system_id"] == {"Ref": stack.get_logical_id(home.cfn_file_system)}
    assert "tls" in home.mount.options


def test_the_whole_file_system_is_mounted_unless_said_otherwise(stack, network) -> None:
    home = SharedHome(stack, "Home", network=network, access_points=[JOBS])
    assert home.mount.slots["access_point_id"] == ""
    assert (home.mount.kind, home.mount.efa) == ("efs", False)


def test_other_choices(stack, network, synth) -> None:
    key = kms.Key(stack, "Key")
    SharedHome(
        stack,
        "Home",
        network=network,
        throughput_mode="provisioned",
        provisioned_throughput_mibps=512,
        infrequent_access_after_days=None,
        archive_after_days=None,
        backup=False,
        encryption_key=key,
        removal_policy=cdk.RemovalPolicy.DESTROY,
    )
    body = only(synth(stack), "AWS::EFS::FileSystem")
    assert (body["ThroughputMode"], body["ProvisionedThroughputInMibps"]) == ("provisioned", 512)
    assert "LifecyclePolicies" not in body
    assert body["BackupPolicy"] == {"Status": "DISABLED"}
    assert "KmsKeyId" in body


def test_faults_come_together(stack, network) -> None:
    with pytest.raises(FindingsError) as caught:
        SharedHome(stack, "Home", network=network, provisioned_throughput_mibps=1, mount_path="/home")
    assert [each.subject for each in caught.value.findings] == [
        "Test/Home.mount_path",
        "Test/Home.provisioned_throughput_mibps",
    ]


def test_an_existing_file_system_lets_clients_in_and_makes_nothing_else(stack, network, synth) -> None:
    targets = ec2.SecurityGroup.from_security_group_id(stack, "Targets", "sg-targets")
    home = SharedHome.from_existing(
        stack, "Home", file_system_id="fs-0123456789abcdef0", security_group=targets, vpc=network.vpc
    )
    template = synth(stack)
    assert set(resource_types(template)) == {
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::SecurityGroupIngress",
        "AWS::EC2::SecurityGroupEgress",
    }
    clients = stack.get_logical_id(home.security_groups.cfn_clients)
    assert ("in", "sg-targets", clients, 2049, 2049) in rules(template)
    assert home.mount.slots == {"file_system_id": "fs-0123456789abcdef0", "access_point_id": ""}


def test_a_plain_vpc_with_a_subnet_per_zone(stack, network, synth) -> None:
    subnets = {zone: network.storage_subnet(zone) for zone in ("us-east-1a", "us-east-1b")}
    home = SharedHome(stack, "Home", vpc=network.vpc, subnets=subnets)
    assert list(home.mount_targets) == ["us-east-1a", "us-east-1b"]
    targets = all_properties(synth(stack), "AWS::EFS::MountTarget")
    assert [each["SubnetId"] for each in targets] == ["subnet-storageus-east-1a", "subnet-storageus-east-1b"]


def test_the_place_is_named_once_and_has_a_subnet_in_each_zone(stack, network) -> None:
    subnets = {"us-east-1a": network.storage_subnet("us-east-1a")}
    for arguments in (
        {},
        {"network": network, "vpc": network.vpc},
        {"network": network, "subnets": subnets},
        {"vpc": network.vpc},
        {"vpc": network.vpc, "subnets": {}},
    ):
        with pytest.raises(FindingsError, match=r"\.network: .*give network, or vpc and subnets \[UC-STG-006\]"):
            SharedHome(cdk.Stack(), "Home", **arguments)
    with pytest.raises(FindingsError, match=r"Home\.subnets: no subnet in us-east-1b; .*\[UC-API-001\]"):
        SharedHome(stack, "Home", vpc=network.vpc, subnets=subnets, availability_zones=["us-east-1a", "us-east-1b"])
