"""cdk-nag over a network and fleets in three stacks: nothing is left, and every acknowledgement has its own reason."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3

from support.compute import home, lustre, p5
from support.nag import nag_report, reasons, unacknowledged
from ultracluster.acknowledge import acknowledge, prefixed
from ultracluster.network.cluster_network import ClusterNetwork
from ultracluster.spot.spot_training_fleet import SpotTrainingFleet
from ultracluster.storage.bucket_access import BucketAccess

ENV = cdk.Environment(account="111122223333", region="us-east-1")


@pytest.fixture(scope="module")
def report(make_app_once):
    app = make_app_once()
    network_stack, storage, compute = (cdk.Stack(app, name, env=ENV) for name in ("Network", "Storage", "Compute"))
    network = ClusterNetwork(network_stack, "Network", availability_zones=["us-east-1a", "us-east-1b"])
    bucket = s3.Bucket(storage, "Data", enforce_ssl=True)
    acknowledge(bucket, {"AwsSolutions-S1": "access logs of a test bucket are of no use"})
    p5(
        compute,
        network=network,
        availability_zone="us-east-1a",
        storage=[lustre(compute), home(compute)],
        bucket_access=[BucketAccess(bucket=bucket, prefix="tokens/"), BucketAccess(bucket=bucket, write=True)],
    )
    SpotTrainingFleet(
        compute, "Research", network=network, instance_types=["p5.48xlarge", "p5en.48xlarge"], min_count=0, max_count=4
    )
    return nag_report(app)


@pytest.fixture(scope="module")
def make_app_once(cdk_context, tmp_path_factory):
    def make():
        return cdk.App(
            builtin_cloud_formation_validation=False,
            context=cdk_context,
            outdir=str(tmp_path_factory.mktemp("nag")),
        )

    return make


def test_nothing_is_left(report):
    assert unacknowledged(report) == []


def test_wildcards_are_acknowledged_one_by_one_across_stacks_too(report):
    given = reasons(report)
    wildcards = [key for key in given if "IAM5" in key]
    assert any("Fn::GetStackOutput" in key or "Fn::ImportValue" in key for key in wildcards)
    assert any(":autoScalingGroup:*:" in key for key in wildcards)
    assert "AwsSolutions::AwsSolutions-IAM5[Resource::*]" in wildcards
    assert not any(key.endswith("IAM5") for key in given)


def test_every_reason_says_something(report):
    assert all(len(reason.split()) >= 8 for reason in reasons(report).values())


@pytest.mark.parametrize(
    ("rule_id", "written"),
    [
        ("AwsSolutions-S1", "AwsSolutions::AwsSolutions-S1"),
        ("AwsSolutions-IAM5[Resource::*]", "AwsSolutions::AwsSolutions-IAM5[Resource::*]"),
        ("AwsSolutions::AwsSolutions-S1", "AwsSolutions::AwsSolutions-S1"),
        ("HIPAA.Security-S3", "HIPAA.Security::HIPAA.Security-S3"),
        ("UC-LUS-001", "UltraClusterChecks::UC-LUS-001"),
    ],
)
def test_an_acknowledgement_carries_the_name_of_its_plugin(rule_id, written):
    assert prefixed(rule_id) == written


def test_an_acknowledgement_without_a_reason_is_refused(stack):
    with pytest.raises(ValueError, match="UC-LUS-001: a reason is needed"):
        acknowledge(stack, {"UC-LUS-001": " "})
