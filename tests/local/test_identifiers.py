"""Ids and attributes of the resources that nothing implements: in the form that the schemas ask for."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.local.emulator.seeds import made_up_image
from ultracluster.local.identifiers import Scope, attributes_of, physical_id, with_names
from ultracluster.local.patterns import example
from ultracluster.local.registry import registry
from ultracluster.local.validation import accepts


def made(type_name, properties=(), name="Stack-Logical-0A1B2C3D4E5F6", seed=7):
    schema = registry("us-east-1").schema(type_name)
    scope = Scope(region="us-east-1", account="111122223333", name=name, rng=random.Random(seed))
    named = with_names(schema, dict(properties), scope)
    return schema, named, attributes_of(schema, named, scope)


def test_nearly_every_attribute_of_every_type_fits_its_own_schema():
    total, misfits = 0, []
    for type_name in sorted(registry("us-east-1").types):
        schema, _, attributes = made(type_name)
        for path in schema.read_only:
            if ".".join(path) in attributes:
                total += 1
                if not accepts(schema, schema.node(path), attributes[".".join(path)]):
                    misfits.append((type_name, path))
    assert total > 5000
    # What is left are patterns with look-arounds or contradicting formats, of services that no training cluster uses.
    assert len(misfits) < total * 0.004, misfits


def test_the_types_of_this_library_fit_without_exception():
    ours = re.compile(
        "AWS::(FSx|EC2|EFS|AutoScaling|CloudWatch|PCS|Batch|EKS|SageMaker::Cluster|ImageBuilder|APS|Grafana|IAM|S3|SQS|SNS|KMS)::?"
    )
    for type_name in sorted(name for name in registry("us-east-1").types if ours.match(name)):
        schema, named, attributes = made(type_name)
        nested = all(len(path) > 1 for path in schema.primary_identifier)
        assert physical_id(schema, named, attributes) or nested, type_name
        for path in schema.read_only:
            value = attributes.get(".".join(path))
            assert value is None or accepts(schema, schema.node(path), value), (type_name, path, value)


def test_a_lustre_file_system_looks_like_one():
    schema, named, attributes = made("AWS::FSx::FileSystem")
    identifier = physical_id(schema, named, attributes)
    assert re.fullmatch("fs-[0-9a-f]{17}", identifier)
    assert attributes["DNSName"] == f"{identifier}.fsx.us-east-1.amazonaws.com"
    assert attributes["ResourceARN"] == f"arn:aws:fsx:us-east-1:111122223333:file-system/{identifier}"
    assert re.fullmatch("[a-z0-9]{8}", attributes["LustreMountName"])


def test_an_arn_names_what_it_depends_on():
    _, _, attributes = made("AWS::FSx::DataRepositoryAssociation", {"FileSystemId": "fs-0123456789abcdef0"})
    assert attributes["ResourceARN"].startswith(
        "arn:aws:fsx:us-east-1:111122223333:association/fs-0123456789abcdef0/dra-"
    )


def test_a_name_is_made_where_the_template_gives_none():
    schema, named, attributes = made("AWS::Batch::JobDefinition")
    assert physical_id(schema, named, attributes)
    _, named, _ = made("AWS::ResourceGroups::Group")
    assert named["Name"] == "Stack-Logical-0A1B2C3D4E5F6"
    _, named, _ = made("AWS::ResourceGroups::Group", {"Name": "mine"})
    assert named["Name"] == "mine"


def test_parts_of_an_identifier_are_joined():
    schema, named, attributes = made("AWS::EC2::EIP")
    assert physical_id(schema, named, attributes) == f"{attributes['PublicIp']}|{attributes['AllocationId']}"


def test_a_read_only_part_of_an_object_that_was_not_given_does_not_exist():
    _, _, without = made("AWS::EC2::VPC")
    _, _, given_one = made("AWS::EC2::VPC", {"VpcEncryptionControl": {"Mode": "monitor"}})
    assert not [name for name in without if name.startswith("VpcEncryptionControl.")]
    assert [name for name in given_one if name.startswith("VpcEncryptionControl.")]


@pytest.mark.parametrize(
    "pattern",
    [
        "^fs-[0-9a-f]{8,40}$",
        "^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$",
        r"^arn:aws(-\w+)*:pcs:[^:]+:\d{12}:cluster/.+$",
        "(A|B)\\d?",
        "[^a]+",
    ],
)
@given(seed=st.integers(min_value=0, max_value=10_000))
def test_an_example_follows_its_pattern(pattern, seed):
    text = example(pattern, random.Random(seed))
    assert text is not None
    assert re.search(pattern, text)


def test_a_pattern_that_python_cannot_read_has_no_example():
    assert example("^[unclosed", random.Random(1)) is None


def test_an_image_is_the_same_each_time_and_another_in_each_region():
    name = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
    assert re.fullmatch("ami-[0-9a-f]{17}", made_up_image(name, "us-east-1"))
    assert made_up_image(name, "us-east-1") == made_up_image(name, "us-east-1")
    assert made_up_image(name, "us-east-1") != made_up_image(name, "us-west-2")
