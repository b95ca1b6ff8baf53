"""The Lustre file system in a template."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms

from support.groups import rules
from support.templates import only, resource_types, resources
from ultracluster.findings import FindingsError
from ultracluster.plan.lustre import (
    CheckpointLoad,
    DeploymentFields,
    IntelligentTiering,
    Persistent1,
    Persistent2,
    ReadCache,
    Scratch2,
)
from ultracluster.storage.lustre_file_system import LustreFileSystem

SSD = Persistent2(capacity_gib=4800, throughput_mbps_per_tib=500)
EFA = Persistent2(capacity_gib=4800, throughput_mbps_per_tib=1000, efa=True)
ZONE = "us-east-1a"
FILE_SYSTEM = "AWS::FSx::FileSystem"


def make(stack, network, construct_id="Data", **arguments) -> LustreFileSystem:
    defaults = {"network": network, "availability_zone": ZONE, "deployment": SSD}
    return LustreFileSystem(stack, construct_id, **(defaults | arguments))


def test_the_defaults_of_a_persistent_file_system(stack, network, synth) -> None:
    make(stack, network)
    template = synth(stack)
    body = only(template, FILE_SYSTEM)
    assert body["FileSystemTypeVersion"] == "2.15"
    assert (body["StorageType"], body["StorageCapacity"]) == ("SSD", 4800)
    assert body["SubnetIds"] == ["subnet-storageus-east-1a"]
    assert len(body["SecurityGroupIds"]) == 1
    assert body["LustreConfiguration"] == {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 500,
        "DataCompressionType": "LZ4",
        "MetadataConfiguration": {"Mode": "AUTOMATIC"},
    }


@pytest.mark.parametrize(
    ("deployment", "part"),
    [
        (Scratch2(capacity_gib=1200), {"DeploymentType": "SCRATCH_2", "DataCompressionType": "LZ4"}),
        (
            Persistent1(capacity_gib=6000, throughput_mbps_per_tib=12, storage_type="HDD"),
            {
                "DeploymentType": "PERSISTENT_1",
                "PerUnitStorageThroughput": 12,
                "DriveCacheType": "NONE",
                "DataCompressionType": "LZ4",
            },
        ),
        (
            EFA,
            {
                "DeploymentType": "PERSISTENT_2",
                "PerUnitStorageThroughput": 1000,
                "EfaEnabled": True,
                "MetadataConfiguration": {"Mode": "AUTOMATIC"},
                "DataCompressionType": "LZ4",
            },
        ),
        (
            IntelligentTiering(
                throughput_capacity_mbps=4000, read_cache=ReadCache(mode="USER_PROVISIONED", size_gib=320)
            ),
            {
                "DeploymentType": "PERSISTENT_2",
                "ThroughputCapacity": 4000,
                "DataReadCacheConfiguration": {"SizingMode": "USER_PROVISIONED", "SizeGiB": 320},
                "MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": 6000},
                "DataCompressionType": "LZ4",
            },
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_deployment_writes_its_settings_and_no_other(stack, network, synth, deployment, part) -> None:
    make(stack, network, deployment=deployment)
    body = only(synth(stack), FILE_SYSTEM)
    assert body["LustreConfiguration"] == part
    assert ("StorageCapacity" in body) is not isinstance(deployment, IntelligentTiering)


def test_everything_else_that_can_be_asked_for(stack, network, synth) -> None:
    key = kms.Key(stack, "Key")
    make(
        stack,
        network,
        encryption_key=key,
        compression="NONE",
        file_system_type_version="2.12",
        backup_retention_days=14,
        backup_start_time="03:00",
        copy_tags_to_backups=True,
        maintenance_start_time="7:05:00",
        log_level="ERROR_ONLY",
        log_retention_days=30,
    )
    template = synth(stack)
    body = only(template, FILE_SYSTEM)
    assert body["KmsKeyId"] == {"Fn::GetAtt": [stack.get_logical_id(key.node.default_child), "Arn"]}
    lustre = body["LustreConfiguration"]
    assert lustre["DataCompressionType"] == "NONE"
    assert "MetadataConfiguration" not in lustre  # server version 2.12 takes none
    assert lustre["AutomaticBackupRetentionDays"] == 14
    assert lustre["DailyAutomaticBackupStartTime"] == "03:00"
    assert lustre["CopyTagsToBackups"] is True
    assert lustre["WeeklyMaintenanceStartTime"] == "7:05:00"
    assert lustre["LogConfiguration"]["Level"] == "ERROR_ONLY"
    group = only(template, "AWS::Logs::LogGroup")
    assert group["LogGroupName"].startswith("/aws/fsx/")
    assert group["RetentionInDays"] == 30
    assert "log-group:" in str(lustre["LogConfiguration"]["Destination"])
    assert ":*" not in str(lustre["LogConfiguration"]["Destination"])


def test_disabled_logging_has_no_destination(stack, network, synth) -> None:
    make(stack, network, log_level="DISABLED")
    template = synth(stack)
    assert only(template, FILE_SYSTEM)["LustreConfiguration"]["LogConfiguration"] == {"Level": "DISABLED"}
    assert "AWS::Logs::LogGroup" not in resource_types(template)


def test_state_is_retained_with_the_group_that_it_stands_in(stack, network, synth) -> None:
    fs = make(stack, network)
    template = synth(stack)
    kept = {key for key, body in template["Resources"].items() if body.get("DeletionPolicy") == "Retain"}
    assert all(template["Resources"][key]["UpdateReplacePolicy"] == "Retain" for key in kept)
    servers = stack.get_logical_id(fs.security_groups.cfn_servers)
    assert {template["Resources"][key]["Type"] for key in kept} == {
        FILE_SYSTEM,
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::SecurityGroupIngress",
        "AWS::EC2::SecurityGroupEgress",
    }
    # What is kept names nothing that goes: a rule to the deleted clients' group could not stay.
    assert servers in kept
    clients = stack.get_logical_id(fs.security_groups.cfn_clients)
    assert clients not in str([template["Resources"][key] for key in kept])


def test_destroy_keeps_nothing(stack, network, synth) -> None:
    make(stack, network, removal_policy=cdk.RemovalPolicy.DESTROY)
    policies = {body.get("DeletionPolicy") for body in synth(stack)["Resources"].values()}
    assert policies <= {None, "Delete"}


def test_a_snapshot_policy_is_refused(stack, network) -> None:
    with pytest.raises(FindingsError, match=r"Test/Data\.removal_policy: SNAPSHOT .*UC-STG-001"):
        make(stack, network, removal_policy=cdk.RemovalPolicy.SNAPSHOT)


def test_faults_name_the_construct_and_come_together(stack, network) -> None:
    with pytest.raises(FindingsError) as caught:
        make(
            stack,
            network,
            deployment=DeploymentFields(deployment_type="PERSISTENT_2", capacity_gib=3600),
            log_level="X",
        )
    assert [(each.rule_id, each.subject) for each in caught.value.findings] == [
        ("UC-LUS-002", "Test/Data.throughput_mbps_per_tib"),
        ("UC-LUS-001", "Test/Data.capacity_gib"),
        ("UC-LUS-022", "Test/Data.log_level"),
    ]


def test_warnings_of_the_plan_are_shown_at_synthesis(stack, network, app) -> None:
    make(stack, network, checkpoints=CheckpointLoad(size_gb=10_000, interval_minutes=10))
    messages = app.synth().get_stack_by_name("Test").messages
    assert [each.id for each in messages if "UC-LUS-025" in str(each.entry.data)] == ["/Test/Data"]


def test_the_place_comes_from_the_network_or_from_vpc_and_subnet(stack, network, synth) -> None:
    subnet = ec2.Subnet.from_subnet_id(stack, "Own", "subnet-own")
    LustreFileSystem(stack, "Data", deployment=SSD, vpc=network.vpc, subnet=subnet)
    assert only(synth(stack), FILE_SYSTEM)["SubnetIds"] == ["subnet-own"]


def test_a_place_that_is_open_or_contradicts_itself_is_refused(stack, network) -> None:
    cases = {
        "Both": ({"network": network, "vpc": network.vpc, "availability_zone": ZONE}, "network"),
        "Neither": ({}, "network"),
        "HalfAPlace": ({"vpc": network.vpc}, "network"),
        "WhichZone": ({"network": network}, "availability_zone"),
    }
    for name, (arguments, subject) in cases.items():
        with pytest.raises(FindingsError) as caught:
            LustreFileSystem(stack, name, deployment=SSD, **arguments)
        found = [(each.rule_id, each.subject) for each in caught.value.findings]
        assert found == [("UC-STG-006", f"Test/{name}.{subject}")]


def test_a_zone_that_the_network_lacks_is_refused(stack, network) -> None:
    with pytest.raises(FindingsError, match="us-east-1c"):
        make(stack, network, availability_zone="us-east-1c")


def test_the_mount_is_what_a_fleet_needs(stack, network, synth) -> None:
    fs = make(stack, network, deployment=EFA, mount_path="/data")
    assert (fs.mount.kind, fs.mount.mount_path, fs.mount.efa) == ("lustre", "/data", True)
    cdk.CfnOutput(stack, "Dns", value=fs.mount.slots["dns_name"])
    cdk.CfnOutput(stack, "Name", value=fs.mount.slots["mount_name"])
    cdk.CfnOutput(stack, "Command", value=fs.mount_command)
    template = synth(stack)
    (logical_id,) = resources(template, FILE_SYSTEM)
    outputs = template["Outputs"]
    assert outputs["Dns"]["Value"] == {"Fn::GetAtt": [logical_id, "DNSName"]}
    assert outputs["Name"]["Value"] == {"Fn::GetAtt": [logical_id, "LustreMountName"]}
    assert outputs["Command"]["Value"]["Fn::Join"][1] == [
        "sudo mount -t lustre -o noatime,flock,_netdev ",
        {"Fn::GetAtt": [logical_id, "DNSName"]},
        "@tcp:/",
        {"Fn::GetAtt": [logical_id, "LustreMountName"]},
        " /data",
    ]


def test_existing_groups_are_used_and_get_no_rules(stack, network, synth) -> None:
    servers = ec2.SecurityGroup.from_security_group_id(stack, "Servers", "sg-servers")
    clients = ec2.SecurityGroup.from_security_group_id(stack, "Clients", "sg-clients")
    fs = make(stack, network, security_group=servers, client_security_group=clients)
    template = synth(stack)
    assert only(template, FILE_SYSTEM)["SecurityGroupIds"] == ["sg-servers"]
    assert fs.client_security_group.security_group_id == "sg-clients"
    assert rules(template) == set()


def test_an_existing_file_system_lets_clients_in_and_makes_nothing_else(stack, network, synth) -> None:
    servers = ec2.SecurityGroup.from_security_group_id(stack, "Servers", "sg-servers")
    fs = LustreFileSystem.from_existing(
        stack,
        "Old",
        file_system_id="fs-0123456789abcdef0",
        mount_name="abcdef",
        security_group=servers,
        vpc=network.vpc,
    )
    template = synth(stack)
    assert set(resource_types(template)) == {
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::SecurityGroupIngress",
        "AWS::EC2::SecurityGroupEgress",
    }
    clients = stack.get_logical_id(fs.security_groups.cfn_clients)
    owners = {(owner, peer) for _, owner, peer, _, _ in rules(template)}
    assert owners == {("sg-servers", clients), (clients, "sg-servers"), (clients, clients)}
    assert stack.resolve(fs.mount.slots["mount_name"]) == "abcdef"
    assert "fs-0123456789abcdef0.fsx.us-east-1." in str(stack.resolve(fs.mount.slots["dns_name"]))
    assert fs.plan is None


def test_the_mount_path_of_an_existing_file_system_is_checked(stack, network) -> None:
    servers = ec2.SecurityGroup.from_security_group_id(stack, "Servers", "sg-servers")
    with pytest.raises(FindingsError, match="UC-STG-002"):
        LustreFileSystem.from_existing(
            stack,
            "Old",
            file_system_id="fs-0123456789abcdef0",
            mount_name="x",
            security_group=servers,
            vpc=network.vpc,
            mount_path="/",
        )


def test_a_metric_is_that_of_the_file_system(stack, network) -> None:
    fs = make(stack, network)
    metric = fs.metric("DataReadBytes")
    assert (metric.namespace, metric.metric_name, metric.statistic) == ("AWS/FSx", "DataReadBytes", "Sum")
    assert metric.dimensions == {"FileSystemId": fs.file_system_id}


def test_ids_come_from_the_users_name_alone(stack, network, make_app, synth) -> None:
    """Growing a file system, changing its tier or adding a link must never move a logical id: that replaces data."""
    make(stack, network)
    before = set(synth(stack)["Resources"])
    other = cdk.Stack(make_app(), "Test", env=cdk.Environment(account="111122223333", region="us-east-1"))
    subnet = ec2.Subnet.from_subnet_id(other, "Own", "subnet-own")
    vpc = ec2.Vpc.from_vpc_attributes(other, "Vpc", vpc_id="vpc-1", availability_zones=["us-east-1a"])
    grown = Persistent2(capacity_gib=48000, throughput_mbps_per_tib=1000, metadata_iops=24000)
    LustreFileSystem(other, "Data", deployment=grown, vpc=vpc, subnet=subnet, compression="NONE")
    assert before <= set(synth(other)["Resources"])


def test_a_retention_that_does_not_exist_is_told_with_the_other_faults(stack, network) -> None:
    with pytest.raises(FindingsError) as caught:
        make(stack, network, log_level="WARN_ERROR", log_retention_days=91, mount_path="/")
    told = {(found.rule_id, found.subject) for found in caught.value.findings}
    assert told == {("UC-API-007", "Test/Data.log_retention_days"), ("UC-STG-002", "Test/Data.mount_path")}
