"""C44: a scanner cannot read an address that is a token; storage uses rules from group to group, so it never has to.

The same run shows that cdk-nag finds nothing else in the storage constructs that is not acknowledged with a reason.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from ultracluster.network.cluster_network import ClusterNetwork
from ultracluster.plan.buckets import BucketPurpose
from ultracluster.plan.home import AccessPoint
from ultracluster.plan.lustre import IntelligentTiering, Persistent2, Scratch2
from ultracluster.storage.cluster_key import ClusterKey
from ultracluster.storage.data_repository import DataRepository
from ultracluster.storage.lustre_file_system import LustreFileSystem
from ultracluster.storage.shared_home import SharedHome
from ultracluster.storage.training_bucket import TrainingBucket

pytestmark = pytest.mark.slow
ZONES = ["us-east-1a", "us-east-1b"]


def storage_stack(app: cdk.App) -> None:
    """One of everything, in every form."""
    environment = cdk.Environment(account="111122223333", region="us-east-1")
    network = ClusterNetwork(cdk.Stack(app, "Net", env=environment), "Network", availability_zones=ZONES)
    stack = cdk.Stack(app, "Storage", env=environment)
    key = ClusterKey(stack, "Key").key
    data = TrainingBucket(stack, "Data", encryption_key=key)
    checkpoints = TrainingBucket(stack, "Checkpoints", purpose=BucketPurpose.CHECKPOINTS)
    links = [
        DataRepository(file_system_path="/data", bucket=data),
        DataRepository(file_system_path="/checkpoints", bucket=checkpoints, auto_export=["NEW", "CHANGED"]),
    ]
    deployments = {
        "Linked": Persistent2(capacity_gib=4800, throughput_mbps_per_tib=500),
        "Efa": Persistent2(capacity_gib=4800, throughput_mbps_per_tib=1000, efa=True),
        "Elastic": IntelligentTiering(throughput_capacity_mbps=4000),
        "Scratch": Scratch2(capacity_gib=1200),
    }
    for name, deployment in deployments.items():
        linked = {"data_repositories": links, "root_squash": "65534:65534"} if name == "Linked" else {}
        LustreFileSystem(stack, name, network=network, availability_zone="us-east-1a", deployment=deployment, **linked)
    point = AccessPoint(name="jobs", path="/jobs", uid=1001, gid=1001)
    SharedHome(stack, "Home", network=network, encryption_key=key, access_points=[point])


@pytest.fixture(scope="module")
def report(cdk_context, tmp_path_factory) -> dict[str, Any]:
    """What cdk-nag's AwsSolutions pack says."""
    from cdk_nag import AwsSolutionsChecks

    folder = tmp_path_factory.mktemp("cdk.out")
    app = cdk.App(builtin_cloud_formation_validation=False, context=cdk_context, outdir=str(folder))
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app, verbose=True))
    storage_stack(app)
    app.synth()
    reports = json.loads(Path(folder, "validation-report.json").read_text(encoding="utf-8"))["pluginReports"]
    (nag,) = [each for each in reports if each["pluginName"] == "AwsSolutions"]
    return nag


def test_nothing_is_open_nothing_is_unreadable(report: dict[str, Any]) -> None:
    assert report["violations"] == []


def test_each_acknowledgement_has_its_prefix_and_a_reason(report: dict[str, Any]) -> None:
    silenced = report["suppressedViolations"]
    assert {each["ruleName"].partition("[")[0] for each in silenced} == {"AwsSolutions-S1", "AwsSolutions-IAM4"}
    assert all(each["acknowledgedId"].startswith("AwsSolutions::") for each in silenced)
    assert all(len(each["reason"]) > 20 for each in silenced)
