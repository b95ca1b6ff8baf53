"""UC-TPL-001 to 004 and 014: size, counts and user data of a template."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from support.fabric import launch_template, template
from support.policy import assert_finds, assert_not_judged, assert_passes, judged
from ultracluster.policy.engine import judge
from ultracluster.policy.load import load

BIG = "x" * 20_000
TOPIC = {"Type": "AWS::SNS::Topic"}


def many(count: int, **more: Any) -> dict[str, Any]:
    return {"Resources": {f"Topic{at}": TOPIC for at in range(count)}, **more}


def described(size: int) -> dict[str, Any]:
    return {"Description": "x" * (size - 64), "Resources": {"Topic": TOPIC}}


def instance(**properties: Any) -> dict[str, Any]:
    return template(Node={"Type": "AWS::EC2::Instance", "Properties": properties})


def only(rule_id: str, *templates: Any, **options: Any) -> None:
    """The rule finds something, and no other one does."""
    assert {found for found in judged(*templates, **options).ids if found.startswith("UC-TPL")} == {rule_id}


# UC-TPL-001, 002


@pytest.mark.parametrize(("size", "found"), [(899_000, set()), (950_000, {"UC-TPL-001"}), (1_000_100, {"UC-TPL-001"})])
def test_size_of_a_template(size, found):
    assert judged(described(size)).ids == found


@pytest.mark.parametrize(("count", "found"), [(449, set()), (450, {"UC-TPL-002"}), (500, {"UC-TPL-002"})])
def test_number_of_resources(count, found):
    assert judged(many(count)).ids == found


def test_near_the_limit_is_a_warning_and_beyond_it_fatal():
    near = [fault.severity for fault in judged(many(450)).judged.faults]
    assert [str(severity) for severity in near] == ["warning"]
    assert_finds("UC-TPL-002", many(501), place="501 resources are over the 500")


def test_spaces_of_json_do_not_count():
    text = '{"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}' + " " * 1_000_100 + "}"
    assert judged(text).ids == set()


@pytest.mark.parametrize(("count", "found"), [(5, []), (6, ["2646 resources with those of nested stacks"])])
def test_resources_of_nested_stacks_count_together(tmp_path, count, found):
    nested = {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "./child.json"}}
    parent = {"Resources": {f"Child{at}": nested for at in range(count)}}
    (tmp_path / "child.json").write_text(json.dumps(many(440)))
    (tmp_path / "parent.json").write_text(json.dumps(parent))
    faults = [fault for each in load([str(tmp_path)]).assemblies for fault in judge(each, fenced=False).faults]
    assert [fault.message.split(" are ")[0] for fault in faults] == found


# UC-TPL-003


def test_user_data_of_instances_counts_too():
    assert_finds("UC-TPL-003", instance(UserData={"Fn::Base64": BIG}), place="UserData: 20000 bytes")
    assert_finds("UC-TPL-003", template(Lt=launch_template(None, UserData={"Fn::Base64": BIG})))
    assert_passes("UC-TPL-003", instance(UserData={"Fn::Base64": "#!/bin/sh\n"}))


def test_user_data_with_parts_of_unknown_length():
    parameters = {"Script": {"Type": "String"}}
    data = {"Fn::Base64": {"Fn::Sub": "#!/bin/sh\n${Script}"}}
    assert_not_judged("UC-TPL-003", template(parameters, Lt=launch_template(None, UserData=data)))
    named = {"Fn::Base64": {"Fn::Sub": "#!/bin/sh\necho ${Topic}\n"}}
    assert_passes("UC-TPL-003", template(Lt=launch_template(None, UserData=named), Topic=TOPIC))


def test_names_of_file_systems_are_short():
    script = "#!/bin/sh\nmount ${Data.DNSName}@tcp:/${Data.LustreMountName} ${Home} " + "x" * 16_000
    data = {"Fn::Base64": {"Fn::Sub": script}}
    found = template(
        Lt=launch_template(None, UserData=data),
        Data={"Type": "AWS::FSx::FileSystem"},
        Home={"Type": "AWS::EFS::FileSystem"},
    )
    assert_passes("UC-TPL-003", found)


# UC-TPL-004


@pytest.mark.parametrize("section", ["Parameters", "Outputs", "Mappings"])
def test_entries_of_a_section(section):
    def made(count: int) -> dict[str, Any]:
        row = {"Parameters": {"Type": "String"}, "Outputs": {"Value": "x"}, "Mappings": {"a": {"b": "c"}}}[section]
        return many(1, **{section: {f"E{at}": row for at in range(count)}})

    assert_passes("UC-TPL-004", made(200))
    only("UC-TPL-004", made(201))
    assert_finds("UC-TPL-004", made(201), place=f"201 {section.lower()} are over the 200")


def test_attributes_of_a_mapping():
    only("UC-TPL-004", many(1, Mappings={"Sizes": {"x": {f"a{at}": "1" for at in range(201)}}}))
    assert_passes("UC-TPL-004", many(1, Mappings={"Sizes": {f"x{at}": {"a": "1"} for at in range(201)}}))


def test_dynamic_references():
    def made(count: int) -> dict[str, Any]:
        values = ["{{resolve:ssm:/own/value}}"] * count
        return many(1, Outputs={"All": {"Value": {"Fn::Join": [",", values]}}})

    assert_passes("UC-TPL-004", made(60))
    only("UC-TPL-004", made(61))
    text = "# {{resolve:ssm:/a}}\n" * 61 + "Resources: {Topic: {Type: 'AWS::SNS::Topic'}}"
    assert_passes("UC-TPL-004", text)


def test_sections_of_the_wrong_type_are_no_concern():
    assert_passes("UC-TPL-004", many(1, Parameters=["a"] * 300, Mappings={"M": ["x"] * 300}))


# UC-TPL-014

SCRIPT = "#!/bin/bash\necho hello\n"
ENCODED = base64.b64encode(SCRIPT.encode()).decode()


@pytest.mark.parametrize(
    "data",
    [
        SCRIPT,
        "#cloud-config\npackages: []\n",
        "MIME-Version: 1.0\n",
        "Content-Type: text/x-shellscript\n\nls\n",
        {"Fn::Sub": "#!/bin/bash\necho ${AWS::Region}\n"},
        {"Fn::Join": ["\n", ["#!/bin/bash", "ls"]]},
        "echo!",
    ],
)
@pytest.mark.parametrize("on_instance", [True, False])
def test_plain_user_data(data, on_instance):
    found = instance(UserData=data) if on_instance else template(Lt=launch_template(None, UserData=data))
    assert_finds("UC-TPL-014", found, place="UserData: ")
    only("UC-TPL-014", found)


@pytest.mark.parametrize(
    "data", [{"Fn::Base64": SCRIPT}, {"Fn::Base64": {"Fn::Sub": SCRIPT}}, ENCODED, f"{ENCODED}\n", "", None]
)
def test_encoded_user_data(data):
    assert_passes("UC-TPL-014", template(Lt=launch_template(None, **({} if data is None else {"UserData": data}))))


@pytest.mark.parametrize(
    "data",
    [{"Ref": "Data"}, {"Fn::ImportValue": "x"}, {"Fn::Sub": "${Data}"}, {"Fn::Sub": "${Data}AAAA"}],
)
def test_user_data_that_only_the_deployment_knows(data):
    parameters = {"Data": {"Type": "String"}}
    assert_not_judged("UC-TPL-014", template(parameters, Lt=launch_template(None, UserData=data)))


def test_plain_in_one_branch_only():
    conditions = {"Own": {"Fn::Equals": [{"Ref": "Mode"}, "own"]}}
    parameters = {"Mode": {"Type": "String", "Default": "own"}}
    data = {"Fn::If": ["Own", {"Fn::Base64": SCRIPT}, SCRIPT]}
    found = template(parameters, conditions, Lt=launch_template(None, UserData=data))
    assert_finds("UC-TPL-014", found, place="#!/bin/bash echo hello is plain text")
