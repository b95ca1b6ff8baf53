"""The programs of a node as an asset: written into the assembly, uploaded once per stack, read by the nodes alone."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import aws_cdk as cdk
import pytest

from support.compute import data_of, imported_network, p5
from support.templates import launch_template_data, only, user_data
from ultracluster.plan.node_program import INSTALLED_AT, node_program

ENV = cdk.Environment(account="111122223333", region="us-east-1")
VALUES = {"AWS::AccountId": "111122223333", "AWS::Region": "us-east-1", "AWS::Partition": "aws"}


def assets(directory: str, stack: cdk.Stack) -> dict[str, tuple[Path, dict[str, str]]]:
    """Files of a stack beside its template: by digest the file in the assembly and its only destination."""
    folder = Path(directory)
    manifest = json.loads((folder / f"{stack.artifact_id}.assets.json").read_text())
    found = {}
    for digest, entry in manifest["files"].items():
        if not entry["source"]["path"].endswith(".template.json"):
            (place,) = entry["destinations"].values()
            found[digest] = (folder / entry["source"]["path"], place)
    return found


def fetched(template, data, values=VALUES) -> tuple[str, str]:
    """Address and digest in the shell part of user data."""
    (line,) = [line for line in user_data(template, data, values).splitlines() if line.startswith("python3 ")]
    program, url, digest, installed, _ = line.split()[1:]
    assert (program, installed) == ("/opt/ultracluster/bootstrap.py", INSTALLED_AT)
    return url, digest


def test_the_file_of_the_assembly_is_the_program_and_nodes_fetch_it_from_where_it_is_uploaded(app):
    stack = cdk.Stack(app, "Test", env=ENV)
    p5(stack)
    assembly = app.synth()
    ((file, place),) = assets(assembly.directory, stack).values()
    assert file.read_bytes() == node_program().data
    assert place["bucketName"] == "cdk-hnb659fds-assets-111122223333-us-east-1"
    template = json.loads(Path(assembly.directory, stack.template_file).read_text())
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert fetched(template, data_of(template)) == (f"s3://{place['bucketName']}/{place['objectKey']}", digest)


def test_many_fleets_of_a_stack_have_one_asset_and_two_stacks_have_one_each(app):
    stacks = [cdk.Stack(app, name, env=ENV) for name in ("One", "Two")]
    for stack in stacks:
        network = imported_network(stack)
        for name in ("a", "b"):
            p5(stack, name, network=network)
    directory = app.synth().directory
    files = [file for stack in stacks for file, _ in assets(directory, stack).values()]
    assert len(files) == 2
    assert len(set(files)) == 1


def test_without_an_environment_bucket_and_region_are_those_of_the_deployment(app):
    stack = cdk.Stack(app, "Anywhere")
    p5(stack)
    template = json.loads(Path(app.synth().directory, stack.template_file).read_text())
    url, _ = fetched(template, data_of(template))
    ((_, place),) = assets(app.outdir, stack).values()
    assert url == f"s3://cdk-hnb659fds-assets-111122223333-us-east-1/{place['objectKey']}"
    written = json.dumps(only(template, "AWS::IAM::ManagedPolicy"))
    assert '"Fn::Sub": "cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}"' in written
    assert '"Ref": "AWS::Partition"' in written


def test_a_stage_uploads_the_file_of_the_app(app):
    stage = cdk.Stage(app, "Prod", env=ENV)
    stack = cdk.Stack(stage, "Compute")
    p5(stack)
    app.synth()
    ((file, _),) = assets(stage.outdir, stack).values()
    assert file.resolve().parent == Path(app.outdir).resolve(), "one file for all stages"
    assert file.read_bytes() == node_program().data


def test_a_nested_stack_uploads_through_its_parent(app):
    parent = cdk.Stack(app, "Parent", env=ENV)
    nested = cdk.NestedStack(parent, "Fleets")
    p5(nested)
    directory = app.synth().directory
    template = json.loads(Path(directory, nested.template_file).read_text())
    url, _ = fetched(template, data_of(template))
    (place,) = [place for file, place in assets(directory, parent).values() if file.suffix == ".pyz"]
    assert url.endswith(f"/{place['objectKey']}")


@pytest.mark.parametrize(
    "synthesizer",
    [
        lambda: cdk.DefaultStackSynthesizer(qualifier="team", bucket_prefix="nodes/"),
        lambda: cdk.DefaultStackSynthesizer(file_assets_bucket_name="our-assets-${AWS::Region}"),
        cdk.CliCredentialsStackSynthesizer,
    ],
    ids=["qualifier-and-prefix", "own-bucket", "cli-credentials"],
)
def test_other_synthesizers_say_where_the_file_goes(app, synthesizer):
    stack = cdk.Stack(app, "Test", env=ENV, synthesizer=synthesizer())
    p5(stack)
    directory = app.synth().directory
    ((_, place),) = assets(directory, stack).values()
    template = json.loads(Path(directory, stack.template_file).read_text())
    url, _ = fetched(template, data_of(template))
    bucket = place["bucketName"].replace("${AWS::Region}", "us-east-1").replace("${AWS::AccountId}", "111122223333")
    assert url == f"s3://{bucket}/{place['objectKey']}"
    (statement,) = [
        found
        for found in only(template, "AWS::IAM::ManagedPolicy")["PolicyDocument"]["Statement"]
        if found.get("Sid") == "OwnPrograms"
    ]
    assert place["objectKey"] in json.dumps(statement["Resource"])


def test_the_legacy_synthesizer_leaves_the_place_to_parameters(app):
    stack = cdk.Stack(app, "Test", env=ENV, synthesizer=cdk.LegacyStackSynthesizer())
    p5(stack)
    template = json.loads(Path(app.synth().directory, stack.template_file).read_text())
    named = {name for name in template["Parameters"] if name.startswith("AssetParameters")}
    assert len(named) == 3, "bucket, key, digest"
    (data,) = launch_template_data(template)
    assert all(name in json.dumps(data["UserData"]) for name in named if "ArtifactHash" not in name)


def test_the_template_assertions_of_the_cdk_work_too(stack):
    from aws_cdk.assertions import Template

    p5(stack)
    Template.from_stack(stack).resource_count_is("AWS::EC2::LaunchTemplate", 1)


def test_an_app_with_a_folder_of_its_own_has_the_file_there(tmp_path, cdk_context):
    app = cdk.App(outdir=str(tmp_path / "out"), context=cdk_context, builtin_cloud_formation_validation=False)
    p5(cdk.Stack(app, "Test", env=ENV))
    app.synth()
    (file,) = (tmp_path / "out").glob("*.pyz")
    assert file.read_bytes() == node_program().data
