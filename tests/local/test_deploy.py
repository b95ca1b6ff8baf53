"""The real CDK CLI against the embedded AWS: create, no change, update, failure, destroy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ultracluster.local import LocalError

pytestmark = pytest.mark.slow

SAMPLE = Path(__file__).with_name("sample_app.py")


def types_that_stand(inventory, prefix):
    stacks = [stack for stack in inventory.stacks if stack.name.startswith(prefix)]
    return {item.type_name: item for stack in stacks for item in stack.resources}


def test_the_command_deploys_and_prints_what_stands(cloud, tmp_path):
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text("region: us-east-1\n", encoding="utf-8")
    program = "from ultracluster_cli.local import local; local()"
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            program,
            "deploy",
            str(cluster),
            "--state-dir",
            str(cloud.settings.state_dir),
            "--format",
            "json",
            "--app",
            f"{sys.executable} {SAMPLE}",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert run.returncode == 0, run.stderr
    assert "CREATE_COMPLETE" in run.stderr
    assert "Environment aws://111122223333/us-east-1 bootstrapped" in run.stderr
    shown = json.loads(run.stdout)
    stacks = {stack["name"]: stack for stack in shown["stacks"] if stack["name"].startswith("Sample")}
    assert {name: stack["status"] for name, stack in stacks.items()} == {
        "SampleStorage": "CREATE_COMPLETE",
        "SampleCompute": "CREATE_COMPLETE",
    }
    resources = [resource for stack in stacks.values() for resource in stack["resources"]]
    assert [resource for resource in resources if not resource["stands"]] == []
    (template,) = [item["details"] for item in resources if item["type_name"] == "AWS::EC2::LaunchTemplate"]
    assert template == {"instance_type": "p5.48xlarge", "version": 1, "interfaces": 33, "efa_interfaces": 32}


def test_a_second_deploy_changes_nothing(cloud, sample, lines):
    app = sample("Same")
    cloud.deploy(app, lambda _: None)
    before = cloud.inventory()
    cloud.deploy(app, lines.append)
    text = "\n".join(lines)
    assert text.count("(no changes)") == 2
    assert "UPDATE_IN_PROGRESS" not in text
    assert types_that_stand(cloud.inventory(), "Same") == types_that_stand(before, "Same")


def test_an_update_scales_the_fleet_and_touches_nothing_else(cloud, sample, lines):
    cloud.deploy(sample("Scale", nodes="2"), lambda _: None)
    inventory = cloud.deploy(sample("Scale", nodes="6"), lines.append)
    group = types_that_stand(inventory, "Scale")["AWS::AutoScaling::AutoScalingGroup"]
    assert (group.details["desired"], group.details["listed_instances"]) == (6, 6)
    updated = {line.split("|")[4].strip() for line in lines if "| UPDATE_COMPLETE" in line}
    assert updated == {"AWS::AutoScaling::AutoScalingGroup", "AWS::CloudFormation::Stack"}


def test_an_update_adds_an_association_and_keeps_the_file_system(cloud, sample, lines):
    before = types_that_stand(cloud.deploy(sample("Data", associations="1"), lambda _: None), "Data")
    after = cloud.deploy(sample("Data", associations="2"), lines.append)
    assert types_that_stand(after, "Data")["AWS::FSx::FileSystem"] == before["AWS::FSx::FileSystem"]
    ours = [item for stack in after.stacks if stack.name == "DataStorage" for item in stack.resources]
    paths = [item.details["path"] for item in ours if item.type_name == "AWS::FSx::DataRepositoryAssociation"]
    assert paths == ["/data0", "/data1"]
    created = {line.split("|")[4].strip() for line in lines if "| CREATE_COMPLETE" in line}
    assert created == {"AWS::FSx::DataRepositoryAssociation"}


def test_a_wrong_property_fails_the_creation_and_leaves_nothing(cloud, sample, lines):
    with pytest.raises(LocalError) as raised:
        cloud.deploy(sample("Wrong", interface_type="efa-fast"), lines.append)
    message = str(raised.value)
    assert "WrongCompute/Nodes (AWS::EC2::LaunchTemplate)" in message
    assert (
        "LaunchTemplateData.NetworkInterfaces[1].InterfaceType: 'efa-fast' is not one of interface, efa, efa-only"
        in message
    )
    assert "[UC-LOC-006]" in message
    assert "ROLLBACK_COMPLETE" in "\n".join(lines)
    (stack,) = [stack for stack in cloud.inventory().stacks if stack.name == "WrongCompute"]
    assert (stack.status, stack.resources) == ("ROLLBACK_COMPLETE", ())
    ours = {
        "AWS::EC2::PlacementGroup": "describe_placement_groups",
        "AWS::IAM::InstanceProfile": "list_instance_profiles",
    }
    answers = [cloud.clients("ec2").describe_placement_groups(), cloud.clients("iam").list_instance_profiles()]
    assert [name for name, answer in zip(ours, answers, strict=True) if "WrongCompute" in str(answer)] == []


def test_a_wrong_property_in_an_update_is_rolled_back_to_what_stood(cloud, sample, lines):
    before = types_that_stand(cloud.deploy(sample("Undo", nodes="2"), lambda _: None), "Undo")
    with pytest.raises(LocalError) as raised:
        cloud.deploy(sample("Undo", nodes="4", deployment_type="PERSISTENT_9"), lines.append)
    assert "LustreConfiguration.DeploymentType: 'PERSISTENT_9' is not one of" in str(raised.value)
    statuses = {stack.name: stack.status for stack in cloud.inventory().stacks}
    assert statuses["UndoStorage"] == "UPDATE_ROLLBACK_COMPLETE"
    assert types_that_stand(cloud.inventory(), "Undo") == before


def test_destroy_keeps_what_is_retained_and_a_new_deploy_stands_beside_it(cloud, sample, lines):
    app = sample("Gone")
    first = types_that_stand(cloud.deploy(app, lambda _: None), "Gone")
    removal = cloud.destroy(lines.append, app=app, stop=False)
    assert removal.apps == ("Gone",)
    assert not removal.stopped
    assert [stack.name for stack in removal.left.stacks if stack.name.startswith("Gone")] == []
    ours = {item.physical_id for item in first.values()}
    kept = {item.type_name: item.physical_id for item in removal.left.retained if item.physical_id in ours}
    standing = ["EC2::SecurityGroup", "EC2::Subnet", "EC2::VPC", "FSx::FileSystem", "S3::Bucket"]
    assert kept == {f"AWS::{kind}": first[f"AWS::{kind}"].physical_id for kind in standing}
    assert "DELETE_SKIPPED" in "\n".join(lines)
    gateways = cloud.clients("ec2").describe_nat_gateways()["NatGateways"]
    states = {gateway["NatGatewayId"]: gateway["State"] for gateway in gateways}
    assert states.get(first["AWS::EC2::NatGateway"].physical_id, "deleted") == "deleted"
    again = types_that_stand(cloud.deploy(app, lambda _: None), "Gone")
    assert again["AWS::S3::Bucket"].physical_id != first["AWS::S3::Bucket"].physical_id
    cloud.destroy(lambda _: None, app=app, stop=False)
    assert cloud.destroy(lambda _: None, app=app, stop=False).apps == ()
