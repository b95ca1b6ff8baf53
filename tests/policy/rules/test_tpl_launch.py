"""UC-TPL-005, 008 and 009: lists, versions and names around launch templates."""

from __future__ import annotations

from typing import Any

import pytest

from support.fabric import batch, entry, group, launch_template, mixed, node_group, pcs, template
from support.policy import assert_finds, assert_not_judged, assert_passes, judged

BROKEN = {"0": entry(), "1": entry(1)}
OVERRIDE = {"0": {"InstanceType": "p5.48xlarge"}}
NONE = {"Ref": "AWS::NoValue"}


def ids(*templates: Any) -> set[str]:
    return {found for found in judged(*templates).ids if found.startswith("UC-TPL")}


# UC-TPL-005


def fleet(**properties: Any) -> dict[str, Any]:
    return {"Type": "AWS::EC2::EC2Fleet", "Properties": properties}


@pytest.mark.parametrize(
    ("resource", "place"),
    [
        (launch_template(BROKEN), "NetworkInterfaces: an object with 0, 1 in the place of a list, as an override"),
        (launch_template(None, BlockDeviceMappings={"DeviceName": "/dev/xvda"}), "an object with DeviceName in the"),
        (mixed(OVERRIDE), "Overrides: an object with 0 in the place of a list"),
        (fleet(LaunchTemplateConfigs={"0": {}}), "LaunchTemplateConfigs: an object"),
        (fleet(LaunchTemplateConfigs=[{"Overrides": OVERRIDE}]), "LaunchTemplateConfigs[0].Overrides: an object"),
        ({"Type": "AWS::EC2::Instance", "Properties": {"NetworkInterfaces": BROKEN}}, "NetworkInterfaces: an object"),
        (
            {
                "Type": "AWS::EC2::SpotFleet",
                "Properties": {"SpotFleetRequestConfigData": {"LaunchTemplateConfigs": [{"Overrides": OVERRIDE}]}},
            },
            "SpotFleetRequestConfigData.LaunchTemplateConfigs[0].Overrides",
        ),
    ],
)
def test_an_object_in_the_place_of_a_list(resource, place):
    assert_finds("UC-TPL-005", template(X=resource, Lt=launch_template(None)), place=place)
    assert ids(template(X=resource, Lt=launch_template(None))) == {"UC-TPL-005"}


def test_lists_are_fine():
    assert_passes("UC-TPL-005", template(Lt=launch_template([entry()], BlockDeviceMappings=[])))
    assert_passes("UC-TPL-005", template(Lt=launch_template(None), X=mixed([{"InstanceType": "p5.48xlarge"}])))
    assert_passes("UC-TPL-005", template(Lt=launch_template(NONE)))
    chosen = {"Fn::If": ["Efa", [entry()], NONE]}
    assert_passes("UC-TPL-005", template(None, {"Efa": {"Fn::Equals": ["a", "a"]}}, Lt=launch_template(chosen)))


@pytest.mark.parametrize("listed", [{"Ref": "List"}, {"Fn::Transform": {"Name": "Own"}}])
def test_lists_that_are_not_known(listed):
    parameters = {"List": {"Type": "CommaDelimitedList"}}
    assert_not_judged("UC-TPL-005", template(parameters, Lt=launch_template(listed)))


def test_one_branch_is_no_list():
    chosen = {"Fn::If": ["Efa", [entry()], BROKEN]}
    conditions = {"Efa": {"Fn::Equals": [{"Ref": "Efa"}, "yes"]}}
    found = template({"Efa": {"Type": "String"}}, conditions, Lt=launch_template(chosen))
    assert ids(found) == {"UC-TPL-005"}


# UC-TPL-008

LATEST, DEFAULT = {"Fn::GetAtt": ["Lt", "LatestVersionNumber"]}, {"Fn::GetAtt": "Lt.DefaultVersionNumber"}


def versioned(version: Any, launch: Any = None) -> dict[str, Any]:
    specification = {"LaunchTemplateId": launch or {"Ref": "Lt"}, "Version": version}
    return group(LaunchTemplate=specification)


@pytest.mark.parametrize("version", ["$Latest", "$Default", "1", 7, DEFAULT])
def test_a_version_that_does_not_move_with_the_template(version):
    found = template(Lt=launch_template(None), Nodes=versioned(version))
    assert_finds("UC-TPL-008", found, place="Nodes LaunchTemplate.Version: ")
    assert ids(found) == {"UC-TPL-008"}


@pytest.mark.parametrize("key", ["base", "override"])
def test_versions_in_a_policy(key):
    wrong = {"LaunchTemplateId": {"Ref": "Lt"}, "Version": "$Latest"}
    overrides = [{"InstanceType": "p5.48xlarge", **({"LaunchTemplateSpecification": wrong} if key != "base" else {})}]
    nodes = mixed(overrides)
    if key == "base":
        nodes["Properties"]["MixedInstancesPolicy"]["LaunchTemplate"]["LaunchTemplateSpecification"] = wrong
    assert_finds("UC-TPL-008", template(Lt=launch_template(None), Nodes=nodes), place="Version: $Latest")


@pytest.mark.parametrize(
    "nodes",
    [
        versioned(LATEST),
        group(),
        versioned("3", "lt-0123456789abcdef0"),
        batch(LaunchTemplate={"LaunchTemplateName": "elsewhere", "Version": "4"}),
        node_group(LaunchTemplate={"Id": {"Ref": "Lt"}, "Version": LATEST}),
    ],
)
def test_versions_that_are_chosen(nodes):
    assert_passes("UC-TPL-008", template(Lt=launch_template(None), Nodes=nodes))


def test_no_version_on_a_node_group_is_the_default_one():
    nodes = node_group(LaunchTemplate={"Id": {"Ref": "Lt"}})
    found = template(Lt=launch_template(None), Nodes=nodes)
    assert_finds("UC-TPL-008", found, place="Nodes LaunchTemplate: no version, so changes of Lt never arrive")
    assert_passes("UC-TPL-008", template(Nodes=node_group(LaunchTemplate={"Id": "lt-0123456789abcdef0"})))


def test_a_version_that_is_not_known():
    parameters = {"Version": {"Type": "String"}, "Id": {"Type": "String"}}
    assert_not_judged("UC-TPL-008", template(parameters, Lt=launch_template(None), Nodes=versioned({"Ref": "Version"})))
    assert_not_judged("UC-TPL-008", template(parameters, Nodes=versioned("3", {"Ref": "Id"})))


def test_a_launch_template_by_its_name():
    made = launch_template(None)
    made["Properties"]["LaunchTemplateName"] = "train"
    nodes = group(LaunchTemplate={"LaunchTemplateName": "train", "Version": "1"})
    assert_finds("UC-TPL-008", template(Lt=made, Nodes=nodes), place="version 1 is fixed, so changes of Lt never")


def test_version_and_launch_template_under_one_condition():
    conditions = {"Own": {"Fn::Equals": [{"Ref": "Own"}, "yes"]}}
    parameters = {"Own": {"Type": "String", "Default": "yes"}}

    def made(first: Any, second: Any) -> dict[str, Any]:
        launch = {"Fn::If": ["Own", {"Ref": "Lt"}, "lt-0123456789abcdef0"]}
        return template(
            parameters,
            conditions,
            Lt=launch_template(None),
            Nodes=versioned({"Fn::If": ["Own", first, second]}, launch),
        )

    assert_passes("UC-TPL-008", made(LATEST, "3"))
    assert ids(made("3", LATEST)) == {"UC-TPL-008"}


# UC-TPL-009


@pytest.mark.parametrize(
    ("resource", "key"),
    [
        (pcs(Name="train"), "Name"),
        (node_group(NodegroupName={"Fn::Sub": "${AWS::StackName}-train"}), "NodegroupName"),
        ({"Type": "AWS::Batch::ComputeEnvironment", "Properties": {"ComputeEnvironmentName": {"Ref": "Name"}}},
         "ComputeEnvironmentName"),
    ],
)  # fmt: skip
def test_a_name_on_what_is_replaced(resource, key):
    found = template({"Name": {"Type": "String"}}, X=resource, Lt=launch_template(None))
    assert_finds("UC-TPL-009", found, place=f"X {key}: ")


@pytest.mark.parametrize(
    "resource",
    [
        pcs(),
        node_group(NodegroupName=NONE),
        {"Type": "AWS::PCS::Queue", "Properties": {"ClusterId": "pcs_1", "Name": "train"}},
        {
            "Type": "AWS::Batch::ComputeEnvironment",
            "Properties": {"ComputeEnvironmentName": "train", "ReplaceComputeEnvironment": False},
        },
        {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateName": "train", "LaunchTemplateData": {}}},
        {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "AWSPCS-node"}},
    ],
)
def test_names_that_may_stay(resource):
    assert_passes("UC-TPL-009", template(X=resource, Lt=launch_template(None)))


def test_a_name_that_may_be_in_place():
    environment = {"ComputeEnvironmentName": "train", "ReplaceComputeEnvironment": {"Ref": "Replace"}}
    resource = {"Type": "AWS::Batch::ComputeEnvironment", "Properties": environment}
    assert_not_judged("UC-TPL-009", template({"Replace": {"Type": "String"}}, X=resource))
