"""CloudFormation's own rules, as the embedded AWS keeps them: through its API, without the CDK CLI."""

from __future__ import annotations

import json
import time
import uuid

import pytest

pytestmark = pytest.mark.slow

LUSTRE = {
    "Type": "AWS::FSx::FileSystem",
    "Properties": {"FileSystemType": "LUSTRE", "StorageCapacity": 1200, "SubnetIds": ["subnet-0123456789abcdef0"]},
}


@pytest.fixture
def stacks(cloud):
    return Stacks(cloud.clients)


class Stacks:
    """Creates and updates stacks and waits for them."""

    def __init__(self, clients):
        self.clients = clients
        self.client = clients("cloudformation")

    def create(self, resources, *, name=None, **sections):
        name = name or f"T{uuid.uuid4().hex[:8]}"
        body = json.dumps({"Resources": resources, **sections})
        self.client.create_stack(StackName=name, TemplateBody=body, Capabilities=["CAPABILITY_NAMED_IAM"])
        return name, self.settled(name)

    def update(self, name, resources, **sections):
        body = json.dumps({"Resources": resources, **sections})
        self.client.update_stack(StackName=name, TemplateBody=body, Capabilities=["CAPABILITY_NAMED_IAM"])
        return self.settled(name)

    def settled(self, name):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            (stack,) = self.client.describe_stacks(StackName=name)["Stacks"]
            if not stack["StackStatus"].endswith("IN_PROGRESS"):
                return stack["StackStatus"]
            time.sleep(0.05)
        raise TimeoutError(name)

    def outputs(self, name):
        (stack,) = self.client.describe_stacks(StackName=name)["Stacks"]
        return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}

    def ids(self, name):
        listed = self.client.list_stack_resources(StackName=name)["StackResourceSummaries"]
        return {item["LogicalResourceId"]: item["PhysicalResourceId"] for item in listed}

    def reasons(self, name):
        events = self.client.describe_stack_events(StackName=name)["StackEvents"]
        return [event["ResourceStatusReason"] for event in events if event["ResourceStatus"].endswith("_FAILED")]


def test_a_create_only_property_replaces_a_fallback_resource_after_its_successor_stands(stacks):
    name, _ = stacks.create({"Fs": LUSTRE})
    before = stacks.ids(name)["Fs"]
    moved = {**LUSTRE["Properties"], "SubnetIds": ["subnet-1123456789abcdef0"]}
    assert stacks.update(name, {"Fs": {**LUSTRE, "Properties": moved}}) == "UPDATE_COMPLETE"
    after = stacks.ids(name)["Fs"]
    standing = [system["FileSystemId"] for system in stacks.clients("fsx").describe_file_systems()["FileSystems"]]
    assert after != before
    assert after in standing
    assert before not in standing


def test_another_property_changes_a_fallback_resource_in_place(stacks):
    name, _ = stacks.create({"Fs": LUSTRE}, Outputs={"Mount": {"Value": {"Fn::GetAtt": ["Fs", "LustreMountName"]}}})
    before, mount = stacks.ids(name)["Fs"], stacks.outputs(name)["Mount"]
    larger = {**LUSTRE["Properties"], "StorageCapacity": 2400}
    sections = {"Outputs": {"Mount": {"Value": {"Fn::GetAtt": ["Fs", "LustreMountName"]}}}}
    assert stacks.update(name, {"Fs": {**LUSTRE, "Properties": larger}}, **sections) == "UPDATE_COMPLETE"
    (system,) = stacks.clients("fsx").describe_file_systems(FileSystemIds=[before])["FileSystems"]
    assert (stacks.ids(name)["Fs"], system["StorageCapacity"], stacks.outputs(name)["Mount"]) == (before, 2400, mount)


def test_a_change_set_says_what_would_be_replaced(stacks):
    name, _ = stacks.create({"Fs": LUSTRE})
    moved = {**LUSTRE["Properties"], "SubnetIds": ["subnet-1123456789abcdef0"]}
    stacks.client.create_change_set(
        StackName=name,
        ChangeSetName="move",
        TemplateBody=json.dumps({"Resources": {"Fs": {**LUSTRE, "Properties": moved}}}),
    )
    (change,) = stacks.client.describe_change_set(StackName=name, ChangeSetName="move")["Changes"]
    assert change["ResourceChange"]["Replacement"] == "True"


def test_every_further_type_stands_in_cloud_control(stacks):
    workspace = {"Type": "AWS::APS::Workspace", "Properties": {"Alias": "metrics"}}
    name, status = stacks.create(
        {"Metrics": workspace}, Outputs={"Url": {"Value": {"Fn::GetAtt": ["Metrics", "PrometheusEndpoint"]}}}
    )
    assert status == "CREATE_COMPLETE"
    identifier = stacks.ids(name)["Metrics"]
    answer = stacks.clients("cloudcontrol").get_resource(TypeName="AWS::APS::Workspace", Identifier=identifier)
    shown = json.loads(answer["ResourceDescription"]["Properties"])
    assert (shown["Alias"], shown["Arn"]) == ("metrics", identifier)
    assert stacks.outputs(name)["Url"] == shown["PrometheusEndpoint"]
    stacks.client.delete_stack(StackName=name)
    time.sleep(0.3)
    control = stacks.clients("cloudcontrol")
    with pytest.raises(control.exceptions.ResourceNotFoundException):
        control.get_resource(TypeName="AWS::APS::Workspace", Identifier=identifier)


def test_a_type_that_does_not_exist_is_refused_before_anything_is_made(stacks):
    with pytest.raises(
        stacks.client.exceptions.ClientError, match=r"Unrecognized resource types: \[AWS::FSX::FileSystem\]"
    ):
        stacks.create({"Fs": {"Type": "AWS::FSX::FileSystem"}})


def test_an_attribute_that_does_not_exist_fails(stacks):
    name, status = stacks.create({"Fs": LUSTRE}, Outputs={"No": {"Value": {"Fn::GetAtt": ["Fs", "Colour"]}}})
    assert status == "ROLLBACK_COMPLETE"
    assert "Requested attribute Colour does not exist in schema for AWS::FSx::FileSystem" in str(
        stacks.client.describe_stack_events(StackName=name)
    )


def test_a_name_that_is_taken_fails_also_when_its_stack_is_gone(stacks):
    group = {
        "Type": "AWS::Logs::LogGroup",
        "DeletionPolicy": "Retain",
        "Properties": {"LogGroupName": f"/ultracluster/{uuid.uuid4().hex}"},
    }
    name, _ = stacks.create({"Log": group})
    stacks.client.delete_stack(StackName=name)
    time.sleep(0.3)
    again, status = stacks.create({"Log": group})
    assert status == "ROLLBACK_COMPLETE"
    assert f"identifier '{group['Properties']['LogGroupName']}' already exists" in stacks.reasons(again)[0]


def test_a_failed_creation_keeps_what_says_retain_and_removes_the_rest(stacks):
    resources = {
        "Kept": {**LUSTRE, "DeletionPolicy": "Retain"},
        "Removed": {**LUSTRE, "DeletionPolicy": "RetainExceptOnCreate", "DependsOn": "Kept"},
        "Wrong": {"Type": "AWS::SQS::Queue", "DependsOn": "Removed", "Properties": {"VisibilityTimeout": -1}},
    }
    before = len(stacks.clients("fsx").describe_file_systems()["FileSystems"])
    _, status = stacks.create(resources)
    assert status == "ROLLBACK_COMPLETE"
    assert len(stacks.clients("fsx").describe_file_systems()["FileSystems"]) == before + 1


def test_a_group_whose_sizes_contradict_fails(stacks):
    template = {
        "Type": "AWS::EC2::LaunchTemplate",
        "Properties": {"LaunchTemplateData": {"InstanceType": "p5.48xlarge"}},
    }
    group = {
        "Type": "AWS::AutoScaling::AutoScalingGroup",
        "Properties": {
            "MinSize": "4",
            "MaxSize": "2",
            "LaunchTemplate": {
                "LaunchTemplateId": {"Ref": "Lt"},
                "Version": {"Fn::GetAtt": ["Lt", "LatestVersionNumber"]},
            },
        },
    }
    name, status = stacks.create({"Lt": template, "Group": group})
    assert status == "ROLLBACK_COMPLETE"
    assert stacks.reasons(name) == ["MinSize: 4 is more than MaxSize 2"]


def test_a_changed_launch_template_gets_a_version_and_keeps_every_member(stacks):
    data = {
        "InstanceType": "p5.48xlarge",
        "NetworkInterfaces": [
            {"NetworkCardIndex": 1, "DeviceIndex": 1, "InterfaceType": "efa-only", "Groups": ["sg-0123456789abcdef0"]}
        ],
        "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
        "InstanceMarketOptions": {"MarketType": "capacity-block"},
        "CapacityReservationSpecification": {
            "CapacityReservationTarget": {"CapacityReservationId": "cr-0123456789abcdef0"}
        },
        "BlockDeviceMappings": [
            {"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 500, "VolumeType": "gp3", "Encrypted": True}}
        ],
    }
    sections = {"Outputs": {"Latest": {"Value": {"Fn::GetAtt": ["Lt", "LatestVersionNumber"]}}}}

    def template(**changes):
        return {"Lt": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": {**data, **changes}}}}

    name, _ = stacks.create(template(), **sections)
    identifier = stacks.ids(name)["Lt"]
    assert stacks.update(name, template(EbsOptimized=True), **sections) == "UPDATE_COMPLETE"
    assert (stacks.ids(name)["Lt"], stacks.outputs(name)["Latest"]) == (identifier, "2")
    versions = stacks.clients("ec2").describe_launch_template_versions(LaunchTemplateId=identifier)[
        "LaunchTemplateVersions"
    ]
    read = {version["VersionNumber"]: version["LaunchTemplateData"] for version in versions}
    assert read[1]["NetworkInterfaces"] == data["NetworkInterfaces"]
    assert {key: read[1][key] for key in data if key != "MetadataOptions"} == {
        key: data[key] for key in data if key != "MetadataOptions"
    }
    assert read[2]["EbsOptimized"] is True


def test_public_parameters_resolve_as_template_parameters_and_dynamic_references(stacks):
    deep_learning = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
    neuron = "/aws/service/neuron/dlami/multi-framework/ubuntu-24.04/latest/image_id"
    parameters = {"Image": {"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", "Default": deep_learning}}
    data = {"LaunchTemplateData": {"ImageId": {"Ref": "Image"}}}
    other = {"LaunchTemplateData": {"ImageId": f"{{{{resolve:ssm:{neuron}}}}}"}}
    resources = {
        "A": {"Type": "AWS::EC2::LaunchTemplate", "Properties": data},
        "B": {"Type": "AWS::EC2::LaunchTemplate", "Properties": other},
    }
    name, status = stacks.create(resources, Parameters=parameters)
    assert status == "CREATE_COMPLETE", stacks.reasons(name)
    images = set()
    for identifier in stacks.ids(name).values():
        (version,) = stacks.clients("ec2").describe_launch_template_versions(LaunchTemplateId=identifier)[
            "LaunchTemplateVersions"
        ]
        images.add(version["LaunchTemplateData"]["ImageId"])
    assert len(images) == 2
    assert all(image.startswith("ami-") for image in images)


def test_a_public_parameter_with_a_mistyped_name_does_not_resolve(stacks):
    wrong = {
        "Image": {
            "Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>",
            "Default": "/aws/service/deeplerning/ami/x/latest/ami-id",
        }
    }
    with pytest.raises(stacks.client.exceptions.ClientError, match="deeplerning"):
        stacks.create({"Topic": {"Type": "AWS::SNS::Topic"}}, Parameters=wrong)


def test_functions_inside_functions_resolve(stacks):
    text = {
        "Fn::Base64": {
            "Fn::Join": ["", ["#!/bin/sh\n", {"Fn::FindInMap": ["Boot", "shared", "text"]}, {"Ref": "AWS::Region"}]]
        }
    }
    resources = {"Name": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": text}}}
    name, status = stacks.create(resources, Mappings={"Boot": {"shared": {"text": "set -e\n"}}})
    assert status == "CREATE_COMPLETE"
    value = stacks.clients("ssm").get_parameter(Name=stacks.ids(name)["Name"])["Parameter"]["Value"]
    assert value == "IyEvYmluL3NoCnNldCAtZQp1cy1lYXN0LTE="


def test_a_condition_over_a_joined_list_is_evaluated(stacks):
    empty = {"Policies": {"Type": "CommaDelimitedList", "Default": ""}}
    conditions = {"HasPolicies": {"Fn::Not": [{"Fn::Equals": ["", {"Fn::Join": ["", {"Ref": "Policies"}]}]}]}}
    resources = {
        "Topic": {"Type": "AWS::SNS::Topic", "Condition": "HasPolicies"},
        "Always": {"Type": "AWS::SNS::Topic"},
    }
    name, _ = stacks.create(resources, Parameters=empty, Conditions=conditions)
    assert set(stacks.ids(name)) == {"Always"}


def test_values_cross_stacks_by_export_and_an_export_in_use_stays(stacks):
    export = f"shared-{uuid.uuid4().hex[:6]}"
    outputs = {"Topic": {"Value": {"Ref": "Topic"}, "Export": {"Name": export}}}
    maker, _ = stacks.create({"Topic": {"Type": "AWS::SNS::Topic"}}, Outputs=outputs)
    user = {
        "Name": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Fn::ImportValue": export}}}
    }
    _, status = stacks.create(user)
    assert status == "CREATE_COMPLETE"
    with pytest.raises(stacks.client.exceptions.ClientError, match=export):
        stacks.client.delete_stack(StackName=maker)


def test_events_of_a_stack_are_in_order(stacks):
    name, _ = stacks.create({f"T{index}": {"Type": "AWS::SNS::Topic"} for index in range(30)})
    times = [event["Timestamp"] for event in stacks.client.describe_stack_events(StackName=name)["StackEvents"]]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) == len(times)


def test_an_instance_profile_is_referred_to_by_its_name(stacks):
    trust = {
        "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]
    }
    resources = {
        "Role": {
            "Type": "AWS::IAM::Role",
            "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17", **trust}},
        },
        "Profile": {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Role"}]}},
    }
    name, _ = stacks.create(resources)
    profile = stacks.clients("iam").get_instance_profile(InstanceProfileName=stacks.ids(name)["Profile"])[
        "InstanceProfile"
    ]
    assert [role["RoleName"] for role in profile["Roles"]] == [stacks.ids(name)["Role"]]


def test_a_region_without_a_type_fails_there(cloud):
    import boto3

    client = boto3.client(
        "cloudformation",
        region_name="eu-south-2",
        endpoint_url=cloud.settings.endpoint,
        aws_access_key_id=cloud.settings.account,
        aws_secret_access_key="embedded",
    )
    name = f"T{uuid.uuid4().hex[:8]}"
    body = {"Resources": {"A": {"Type": "AWS::AppRunner::Service", "Properties": {"SourceConfiguration": {}}}}}
    client.create_stack(StackName=name, TemplateBody=json.dumps(body))
    time.sleep(0.3)
    assert "AWS::AppRunner::Service is not available in eu-south-2" in str(client.describe_stack_events(StackName=name))


def test_what_a_retained_file_system_stands_in_cannot_be_deleted(stacks):
    network = {
        "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}},
        "Subnet": {
            "Type": "AWS::EC2::Subnet",
            "Properties": {"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.0.0.0/20", "AvailabilityZone": "us-east-1a"},
        },
    }
    name, _ = stacks.create(network)
    subnet = stacks.ids(name)["Subnet"]
    lustre = {**LUSTRE, "DeletionPolicy": "Retain", "Properties": {**LUSTRE["Properties"], "SubnetIds": [subnet]}}
    storage, _ = stacks.create({"Fs": lustre})
    file_system = stacks.ids(storage)["Fs"]
    stacks.client.delete_stack(StackName=storage)
    time.sleep(0.3)
    stacks.client.delete_stack(StackName=name)
    assert stacks.settled(name) == "DELETE_FAILED"
    expected = (
        f"The subnet '{subnet}' has dependencies and cannot be deleted (DependencyViolation): {file_system} stands"
    )
    assert any(reason.startswith(expected) for reason in stacks.reasons(name))
    assert subnet in str(stacks.clients("ec2").describe_subnets())


def test_the_words_of_a_service_reach_the_stack_event(stacks):
    mount = {
        "Type": "AWS::EFS::MountTarget",
        "Properties": {
            "FileSystemId": "fs-0123456789abcdef0",
            "SubnetId": "subnet-0123456789abcdef0",
            "SecurityGroups": ["sg-0123456789abcdef0"],
        },
    }
    name, status = stacks.create({"Mount": mount})
    assert status == "ROLLBACK_COMPLETE"
    (reason,) = stacks.reasons(name)
    assert reason.startswith("AWS::EFS::MountTarget create failed: ")
    assert "does not exist" in reason
    assert "b'" not in reason
    assert "{" not in reason


ANSWER = """
import json, urllib.request
def handler(event, context):
    answer = {"Sum": int(event["ResourceProperties"]["A"]) + 1}
    body = json.dumps({"Status": "SUCCESS", "PhysicalResourceId": "made", "Data": answer})
    urllib.request.urlopen(urllib.request.Request(event["ResponseURL"], data=body.encode(), method="PUT"))
"""


def test_a_custom_resource_whose_function_brings_everything_runs(stacks):
    trust = {
        "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]
    }
    resources = {
        "Role": {
            "Type": "AWS::IAM::Role",
            "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17", **trust}},
        },
        "Function": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "Code": {"ZipFile": ANSWER},
                "Handler": "index.handler",
                "Runtime": "python3.12",
                "Role": {"Fn::GetAtt": ["Role", "Arn"]},
            },
        },
        "Sum": {"Type": "Custom::Sum", "Properties": {"ServiceToken": {"Fn::GetAtt": ["Function", "Arn"]}, "A": 41}},
    }
    name, status = stacks.create(resources, Outputs={"Sum": {"Value": {"Fn::GetAtt": ["Sum", "Sum"]}}})
    assert status == "CREATE_COMPLETE", stacks.reasons(name)
    assert stacks.outputs(name)["Sum"] == "42"
