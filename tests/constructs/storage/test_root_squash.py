"""Root squash, which only an API call can set."""

from __future__ import annotations

import json

from aws_cdk import aws_s3 as s3

from support.templates import resources, text
from ultracluster.plan.lustre import Persistent2
from ultracluster.storage.data_repository import DataRepository
from ultracluster.storage.lustre_file_system import LustreFileSystem

CALL = "Custom::LustreRootSquash"


def lustre(stack, network, **arguments) -> LustreFileSystem:
    deployment = Persistent2(capacity_gib=1200, throughput_mbps_per_tib=125)
    return LustreFileSystem(
        stack, "Data", network=network, availability_zone="us-east-1a", deployment=deployment, **arguments
    )


def test_the_call_is_made_on_creation_and_on_change_and_never_undone(stack, network, synth) -> None:
    fs = lustre(stack, network, root_squash="65534:65534", no_squash_nids=["10.0.1.6@tcp"])
    template = synth(stack)
    (call,) = resources(template, CALL).values()
    properties = call["Properties"]
    assert "Delete" not in properties
    file_system = stack.get_logical_id(fs.cfn_file_system)
    for event in ("Create", "Update"):
        asked = json.loads(text(template, properties[event]))
        assert (asked["service"], asked["action"]) == ("FSx", "updateFileSystem")
        assert asked["parameters"] == {
            "FileSystemId": f"${{{file_system}}}",
            "LustreConfiguration": {
                "RootSquashConfiguration": {"RootSquash": "65534:65534", "NoSquashNids": ["10.0.1.6@tcp"]}
            },
        }


def test_the_call_may_change_this_file_system_only(stack, network, synth) -> None:
    fs = lustre(stack, network, root_squash="65534:65534")
    (policy,) = resources(synth(stack), "AWS::IAM::Policy").values()
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Action"] == "fsx:UpdateFileSystem"
    assert statement["Resource"] == {"Fn::GetAtt": [stack.get_logical_id(fs.cfn_file_system), "ResourceARN"]}


def test_the_call_waits_for_the_associations(stack, network, synth) -> None:
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", "bucket")
    lustre(
        stack,
        network,
        root_squash="1000:1000",
        data_repositories=[DataRepository(file_system_path="/data", bucket=bucket)],
    )
    template = synth(stack)
    (call,) = resources(template, CALL).values()
    assert set(resources(template, "AWS::FSx::DataRepositoryAssociation")) <= set(call["DependsOn"])


def test_nothing_is_called_unless_asked(stack, network, synth) -> None:
    lustre(stack, network)
    assert not resources(synth(stack), CALL)
