"""UC-TPL-010, 011 and 013: suppressions, tags and macros."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.fabric import launch_template, template
from support.policy import assert_finds, assert_not_judged, assert_passes, judged
from ultracluster.policy.engine import judge
from ultracluster.policy.load import load

VPC = "AWS::EC2::VPC"


def ids(*templates: Any) -> set[str]:
    return {found for found in judged(*templates).ids if found.startswith("UC-TPL")}


# UC-TPL-010


def with_metadata(**metadata: Any) -> dict[str, Any]:
    return template(X={"Type": "AWS::SNS::Topic", "Metadata": metadata})


@pytest.mark.parametrize(
    "metadata",
    [
        {"cdk_nag": {"rules_to_suppress": [{"id": "AwsSolutions-SNS3", "reason": " "}]}},
        {"cfn_nag": {"rules_to_suppress": [{"id": "W47"}]}},
        {"checkov": {"skip": [{"id": "CKV_AWS_26"}]}},
    ],
)
def test_a_suppression_without_a_reason(metadata):
    found = with_metadata(**metadata)
    assert_finds("UC-TPL-010", found, place="is suppressed without a reason")
    assert ids(found) == {"UC-TPL-010"}


@pytest.mark.parametrize(
    "metadata",
    [
        {"cdk_nag": {"rules_to_suppress": [{"id": "AwsSolutions-SNS3", "reason": "OPS-12"}]}},
        {"checkov": {"skip": [{"id": "CKV_AWS_26", "comment": "public data"}]}},
        {"cfn_nag": "x", "checkov": {"skip": ["CKV"]}},
        {},
    ],
)
def test_suppressions_with_a_reason(metadata):
    assert_passes("UC-TPL-010", with_metadata(**metadata))


def acknowledged(folder: Any, data: dict[str, str]) -> list[str]:
    body = template(Topic={"Type": "AWS::SNS::Topic", "Metadata": {"aws:cdk:path": "App/Topic/Resource"}})
    metadata = {"/App/Topic": [{"type": "aws:cdk:acknowledged-rules", "data": data}]}
    stack = {"type": "aws:cloudformation:stack", "properties": {"templateFile": "a.json"}, "metadata": metadata}
    (folder / "a.json").write_text(json.dumps(body))
    (folder / "manifest.json").write_text(json.dumps({"version": "53.0.0", "artifacts": {"App": stack}}))
    faults = [fault for each in load([str(folder)]).assemblies for fault in judge(each, fenced=False).faults]
    return [f"{fault.resource_id}: {fault.message}" for fault in faults if fault.rule_id == "UC-TPL-010"]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (
            {"AwsSolutions-SNS3": "OPS-12"},
            ["Topic: AwsSolutions-SNS3 is acknowledged on App/Topic without the name of its plugin in front"],
        ),
        ({"AwsSolutions::SNS3": ""}, ["Topic: AwsSolutions::SNS3 is acknowledged on App/Topic without a reason"]),
        ({"AwsSolutions::SNS3": "OPS-12", "UltraClusterChecks::UC-LUS-018": ""}, []),
    ],
)
def test_acknowledgements_of_the_cdk(tmp_path, data, found):
    assert acknowledged(tmp_path, data) == found


# UC-TPL-011


def tags(*pairs: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"Key": key, "Value": value} for key, value in pairs]


@pytest.mark.parametrize(
    ("listed", "place"),
    [
        (tags(("aws:owner", "me")), "X Tags[0].Key: aws:owner begins with aws:"),
        (tags(("AWS:owner", "me")), "AWS:owner begins with aws:"),
        ({"aws:owner": "me"}, "aws:owner begins with aws:"),
        (tags(("k" * 129, "x")), "has 129 characters, 128 are allowed"),
        (tags(("owner", "v" * 257)), "has 257 characters, 256 are allowed"),
        (tags(*((f"k{at}", "v") for at in range(51))), "X Tags: 51 tags, a resource takes 50"),
        ({f"k{at}": "v" for at in range(51)}, "51 tags"),
        (tags((({"Fn::Sub": "aws:${AWS::Region}"}), "x"), ("aws:own", "x")), "aws:own begins"),
    ],
)
def test_tags_that_a_service_refuses(listed, place):
    found = template(X={"Type": VPC, "Properties": {"Tags": listed}})
    assert_finds("UC-TPL-011", found, place=place)
    assert ids(found) == {"UC-TPL-011"}


def test_tags_of_launch_templates():
    specifications = [{"ResourceType": "instance", "Tags": tags(("aws:own", "x"))}]
    place = "Lt LaunchTemplateData.TagSpecifications[0].Tags[0].Key: aws:own"
    assert_finds("UC-TPL-011", template(Lt=launch_template(None, TagSpecifications=specifications)), place=place)
    assert_passes("UC-TPL-011", template(Lt=launch_template(None)))


@pytest.mark.parametrize(
    "listed",
    [
        tags(*((f"k{at}", "v") for at in range(50))),
        tags(("Name", {"Fn::Sub": "${AWS::StackName}-train"}), ("awsome", "x"), ("aws-owner", "x")),
        {"Name": {"Ref": "AWS::StackName"}, "k" * 128: "v" * 256},
        {"Fn::If": ["Own", tags(("owner", "me")), {"Ref": "AWS::NoValue"}]},
    ],
)
def test_tags_that_fit(listed):
    conditions = {"Own": {"Fn::Equals": [{"Ref": "Own"}, "yes"]}}
    found = template({"Own": {"Type": "String"}}, conditions, X={"Type": VPC, "Properties": {"Tags": listed}})
    assert_passes("UC-TPL-011", found)


def test_only_aws_has_these_limits():
    assert_passes("UC-TPL-011", template(X={"Type": "Custom::Own", "Properties": {"Tags": tags(("aws:own", "x"))}}))


@pytest.mark.parametrize("listed", [{"Ref": "Own"}, tags(({"Ref": "Own"}, "x"))])
def test_tags_that_are_not_known(listed):
    found = template({"Own": {"Type": "String"}}, X={"Type": VPC, "Properties": {"Tags": listed}})
    assert_not_judged("UC-TPL-011", found)


def test_a_count_that_no_branch_reaches():
    conditions = {"Own": {"Fn::Equals": [{"Ref": "Own"}, "yes"]}}
    none = {"Ref": "AWS::NoValue"}
    first, second = (tags(*((f"{letter}{at}", "v") for at in range(30))) for letter in "ab")
    parameters = {"Own": {"Type": "String", "Default": "yes"}}

    def made(other: list[Any]) -> dict[str, Any]:
        either = [{"Fn::If": ["Own", one, none]} for one in first] + [
            {"Fn::If": ["Own", *other, one]} for one in second
        ]
        return template(parameters, conditions, X={"Type": VPC, "Properties": {"Tags": either}})

    assert_passes("UC-TPL-011", made([none]))
    assert ids(made([{"Key": "x", "Value": "y"}])) == {"UC-TPL-011"}


# UC-TPL-013

LOOP = """
Transform: AWS::LanguageExtensions
Parameters: {Names: {Type: CommaDelimitedList, Default: "A,B"}}
Resources:
  Fn::ForEach::Fleets:
    - Name
    - %s
    - ${Name}Lt: {Type: %s, Properties: {}}
"""


@pytest.mark.parametrize("collection", ["!Ref Names", "!Split [',', !ImportValue x]"])
def test_a_loop_over_what_the_deployment_says(collection):
    found = LOOP % (collection, "AWS::EC2::LaunchTemplate")
    assert_finds("UC-TPL-013", found, place="Fn::ForEach::Fleets makes AWS::EC2::LaunchTemplate, as many")


@pytest.mark.parametrize(("collection", "kind"), [("[A, B]", "AWS::EC2::LaunchTemplate"), ("!Ref Names", "AWS::X::Y")])
def test_a_loop_that_hides_nothing(collection, kind):
    assert_passes("UC-TPL-013", LOOP % (collection, kind))


@pytest.mark.parametrize("transform", ["Own", ["AWS::LanguageExtensions", "Own"], {"Name": "AWS::Include"}])
def test_a_macro(transform):
    found = {"Transform": transform, **template(Topic={"Type": "AWS::SNS::Topic"})}
    assert_finds("UC-TPL-013", found, place="Transform: macro ")
    assert ids(found) == {"UC-TPL-013"}


@pytest.mark.parametrize("transform", ["AWS::Serverless-2016-10-31", ["AWS::LanguageExtensions"], {"Ref": "x"}, None])
def test_macros_that_add_nothing_to_judge(transform):
    assert_passes("UC-TPL-013", {"Transform": transform, **template(Topic={"Type": "AWS::SNS::Topic"})})


def test_a_transform_in_the_place_of_resources_or_properties():
    include = {"Name": "AWS::Include", "Parameters": {"Location": "s3://own/part.yaml"}}
    assert_finds("UC-TPL-013", template(**{"Fn::Transform": include, "Lt": launch_template(None)}), place="may add res")
    inside = template(Lt=launch_template(None, **{"Fn::Transform": include}))
    assert_finds("UC-TPL-013", inside, place="Fn::Transform in Lt may add properties that no rule sees")
    assert_passes("UC-TPL-013", template(X={"Type": "Own::Own::Own", "Properties": {"Fn::Transform": include}}))


def test_types_that_are_no_texts_hide_nothing():
    inside = {"Type": ["x"], "Properties": {"Fn::Transform": {}}}
    assert_passes("UC-TPL-013", template(X=inside, Y=["Fn::Transform"]))
