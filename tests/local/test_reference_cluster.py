"""The life of the P5 reference cluster in the embedded AWS: create, no change, scale, add an association, destroy."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest
import yaml

from support.sources import ROOT
from ultracluster.local import App, Inventory

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
NAME = "reference"


@pytest.fixture
def cluster(tmp_path: Path):
    """A copy of the reference file under another name; called with changes, it writes them."""
    path = tmp_path / "cluster.yaml"
    content = yaml.safe_load((ROOT / "apps/p5_pretrain/cluster.yaml").read_text(encoding="utf-8"))
    content["name"] = NAME
    content["fleets"][0]["capacity"]["end"] = "2030-01-15T11:30:00Z"

    def write(*, nodes: int = 16, links: int = 2) -> Path:
        content["fleets"][0]["count"] = nodes
        lustre = content["storage"]["lustre"][0]
        lustre["data_repositories"] = [
            {"file_system_path": "/data", "bucket": "datasets"},
            {"file_system_path": "/checkpoints", "bucket": "checkpoints", "auto_export": ["NEW", "CHANGED"]},
            {"file_system_path": "/scratch", "bucket": "datasets", "prefix": "scratch"},
        ][:links]
        lustre["data_repositories"][0]["prefix"] = "tokens"
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return path

    return write


def standing(inventory: Inventory, stack: str, kind: str) -> list:
    """Resources of a type in one stack of the cluster."""
    found = [entry for entry in inventory.stacks if entry.name == f"{NAME}-{stack}"]
    return [item for entry in found for item in entry.resources if item.type_name == f"AWS::{kind}"]


def uploaded_programs(cloud, template_id: str) -> tuple[str, bytes]:
    """The digest that nodes of a launch template expect, and what they would fetch."""
    versions = cloud.clients("ec2").describe_launch_template_versions(LaunchTemplateId=template_id)
    data = versions["LaunchTemplateVersions"][0]["LaunchTemplateData"]["UserData"]
    written = base64.b64decode(data).decode()
    bucket, key, digest = re.search(r"bootstrap\.py s3://([^/]+)/(\S+) ([0-9a-f]{64}) ", written).groups()
    return digest, cloud.clients("s3").get_object(Bucket=bucket, Key=key)["Body"].read()


def test_the_reference_cluster_lives_and_leaves_its_state(cloud, cluster):
    made = cloud.deploy(App.of_cluster(cluster()), lambda _: None)
    ours = {stack.name: stack.status for stack in made.stacks if stack.name.startswith(NAME)}
    assert ours == {
        f"{NAME}-{stack}": "CREATE_COMPLETE" for stack in ("network", "storage", "observability", "compute")
    }
    (template,) = standing(made, "compute", "EC2::LaunchTemplate")
    assert template.details == {"instance_type": "p5.48xlarge", "version": 1, "interfaces": 33, "efa_interfaces": 32}
    assert len(standing(made, "storage", "FSx::DataRepositoryAssociation")) == 2
    digest, programs = uploaded_programs(cloud, template.physical_id)
    assert hashlib.sha256(programs).hexdigest() == digest

    lines: list[str] = []
    cloud.deploy(App.of_cluster(cluster()), lines.append)
    assert "\n".join(lines).count("(no changes)") == 4

    lines.clear()
    scaled = cloud.deploy(App.of_cluster(cluster(nodes=12)), lines.append)
    (group,) = standing(scaled, "compute", "AutoScaling::AutoScalingGroup")
    assert (group.details["desired"], group.details["min"], group.details["max"]) == (12, 12, 12)
    assert standing(scaled, "compute", "EC2::LaunchTemplate") == [template]

    (before,) = standing(scaled, "storage", "FSx::FileSystem")
    linked = cloud.deploy(App.of_cluster(cluster(nodes=12, links=3)), lambda _: None)
    assert len(standing(linked, "storage", "FSx::DataRepositoryAssociation")) == 3
    assert standing(linked, "storage", "FSx::FileSystem") == [before]

    cloud.destroy(lambda _: None, app=App.of_cluster(cluster(nodes=12, links=3)), stop=False)
    left = cloud.inventory()
    assert [stack for stack in left.stacks if stack.name.startswith(NAME)] == []
    kept = {item.type_name.removeprefix("AWS::") for item in left.retained}
    assert {"FSx::FileSystem", "EFS::FileSystem", "S3::Bucket", "KMS::Key", "EC2::VPC", "EC2::Subnet"} <= kept
    assert not kept & {"AutoScaling::AutoScalingGroup", "EC2::NatGateway", "EC2::VPCEndpoint", "EC2::LaunchTemplate"}
