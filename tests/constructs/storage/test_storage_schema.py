"""Whatever the plan accepts, the registry schemas and the API models of the services accept as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from hypothesis import given, settings
from hypothesis import strategies as st

from ultracluster.facts.efs import efs_facts
from ultracluster.facts.lustre import deployments, lustre_facts
from ultracluster.findings import FindingsError
from ultracluster.local.registry import registry
from ultracluster.local.validation import check_properties
from ultracluster.network.cluster_network import ClusterNetwork
from ultracluster.plan.lustre import DeploymentFields, ReadCache
from ultracluster.storage.data_repository import DataRepository
from ultracluster.storage.lustre_file_system import LustreFileSystem
from ultracluster.storage.shared_home import SharedHome

PLACES = {
    "FileSystemId": "fs-0123456789abcdef0",
    "SecurityGroupIds": "sg-0123456789abcdef0",
    "SecurityGroups": "sg-0123456789abcdef0",
    "Destination": "arn:aws:logs:us-east-1:111122223333:log-group:/aws/fsx/lustre/x",
}
capacities = st.integers(1, 400).map(lambda factor: factor * 1200)
fields = st.builds(
    DeploymentFields,
    deployment_type=st.sampled_from([row.deployment_type for row in deployments()] + ["INTELLIGENT_TIERING"]),
    storage_type=st.none() | st.sampled_from(["SSD", "HDD"]),
    capacity_gib=st.none() | capacities | st.integers(1, 40).map(lambda factor: factor * 6000),
    throughput_mbps_per_tib=st.none() | st.sampled_from([12, 40, 50, 100, 125, 200, 250, 500, 1000]),
    throughput_capacity_mbps=st.none() | st.integers(1, 500).map(lambda factor: factor * 4000),
    metadata_iops=st.none() | st.sampled_from(["automatic", 6000, 12000, 24000, 192000]),
    efa=st.booleans(),
    read_cache=st.none() | st.builds(ReadCache, mode=st.sampled_from(lustre_facts().tiering_cache_modes)),
)
arguments = st.fixed_dictionaries(
    {"deployment": fields},
    optional={
        "compression": st.sampled_from(lustre_facts().compressions),
        "file_system_type_version": st.sampled_from(["2.12", "2.15"]),
        "log_level": st.sampled_from(lustre_facts().log_levels),
        "backup_retention_days": st.integers(0, 90),
        "maintenance_start_time": st.sampled_from(["1:00:00", "7:23:59"]),
        "linked": st.booleans(),
    },
)
# Sound combinations, so that enough of the random ones reach the template.
SOUND = st.sampled_from(
    [
        DeploymentFields(deployment_type=row.deployment_type, storage_type=row.storage_type, capacity_gib=capacity,
                         throughput_mbps_per_tib=tier.tier, efa=efa)
        for row in deployments()
        for tier in row.tiers
        for efa, capacity in ((False, tier.step_gib * 2), (True, tier.efa_step_gib))
        if capacity
    ]
)  # fmt: skip


def literal(value: Any, name: str) -> Any:
    """Properties with the references replaced by what a deployment would put there."""
    match value:
        case {"Ref": _} | {"Fn::GetAtt": _} | {"Fn::Join": _}:
            return PLACES[name]
        case dict():
            return {key: literal(inner, key) for key, inner in value.items()}
        case list():
            return [literal(inner, name) for inner in value]
    return value


def faults(template: dict[str, Any]) -> list[str]:
    schemas = registry("us-east-1")
    return [
        f"{body['Type']} {fault}"
        for body in template["Resources"].values()
        if body["Type"].startswith(("AWS::FSx", "AWS::EFS"))
        for fault in check_properties(schemas.schema(body["Type"]), literal(body["Properties"], ""))
    ]


def network(stack: cdk.Stack) -> ClusterNetwork:
    vpc = ec2.Vpc.from_vpc_attributes(stack, "Vpc", vpc_id="vpc-1", availability_zones=["us-east-1a"])
    subnet = ec2.Subnet.from_subnet_id(stack, "Subnet", "subnet-0123456789abcdef0")
    return ClusterNetwork.from_existing(stack, "Network", vpc=vpc, fleet_subnets={"us-east-1a": subnet})


@pytest.fixture(scope="module")
def new_stack(cdk_context, tmp_path_factory) -> Callable[[], cdk.Stack]:
    """Make a stack in an application of its own; one folder for all, because each example writes it anew."""
    folder = str(tmp_path_factory.mktemp("cdk.out"))

    def make() -> cdk.Stack:
        app = cdk.App(builtin_cloud_formation_validation=False, context=cdk_context, outdir=folder)
        return cdk.Stack(app, "Test", env=cdk.Environment(account="111122223333", region="us-east-1"))

    return make


def lustre(stack: cdk.Stack, *, linked: bool = False, **arguments: Any) -> None:
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", "bucket")
    links = [DataRepository(file_system_path="/data", bucket=bucket, prefix="x", auto_export=["NEW"])]
    LustreFileSystem(stack, "Data", network=network(stack), data_repositories=links if linked else (), **arguments)


def faults_unless_refused(stack: cdk.Stack, synth, make: Callable[[], object]) -> list[str]:
    try:
        make()
    except FindingsError as refused:
        return [] if refused.findings else ["refused without a finding"]
    return faults(synth(stack))


@settings(max_examples=60)
@given(
    chosen=st.one_of(arguments, SOUND.flatmap(lambda sound: arguments.map(lambda rest: rest | {"deployment": sound})))
)
def test_lustre(new_stack, synth, chosen) -> None:
    stack = new_stack()
    assert faults_unless_refused(stack, synth, lambda: lustre(stack, **chosen)) == []


homes = st.fixed_dictionaries(
    {
        "throughput": st.sampled_from(
            [("elastic", None), ("bursting", None), ("provisioned", 1), ("provisioned", 3414)]
        ),
        "performance_mode": st.sampled_from(efs_facts().performance_modes),
        "infrequent_access_after_days": st.none() | st.sampled_from(efs_facts().lifecycle_days),
        "archive_after_days": st.none() | st.just(365),
        "one_zone": st.none() | st.just("us-east-1a"),
    }
)


@settings(max_examples=25)
@given(chosen=homes)
def test_home(new_stack, synth, chosen) -> None:
    stack = new_stack()
    mode, mibps = chosen.pop("throughput")
    chosen |= {"throughput_mode": mode, "provisioned_throughput_mibps": mibps}
    assert (
        faults_unless_refused(stack, synth, lambda: SharedHome(stack, "Home", network=network(stack), **chosen)) == []
    )


@pytest.mark.parametrize("name", ["StorageCapacity", "LustreConfiguration"])
def test_the_check_finds_a_wrong_property(new_stack, synth, name: str) -> None:
    stack = new_stack()
    lustre(stack, deployment=DeploymentFields(deployment_type="SCRATCH_2", capacity_gib=1200))
    template = synth(stack)
    (body,) = [each for each in template["Resources"].values() if each["Type"] == "AWS::FSx::FileSystem"]
    body["Properties"][name] = {"Unknown": 1}
    assert faults(template)
