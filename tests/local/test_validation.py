"""Property checks against the registry schemas; pure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.local.registry import UnknownResourceTypeError, registry
from ultracluster.local.validation import check_properties, explain
from ultracluster.local.values import as_number, has_type, same, spell

SUBNET = "subnet-0123456789abcdef0"
ROLE = {"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": []}}
GROUP = {
    "MinSize": "0",
    "MaxSize": "2",
    "LaunchTemplate": {"LaunchTemplateId": "lt-0123456789abcdef0", "Version": "1"},
}
ALARM = {"ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 1, "MetricName": "m", "Namespace": "n"}
LUSTRE = {"FileSystemType": "LUSTRE", "StorageCapacity": 1200, "SubnetIds": [SUBNET]}


def faults(type_name, properties):
    return [str(fault) for fault in check_properties(registry("us-east-1").schema(type_name), properties)]


@pytest.mark.parametrize(
    ("type_name", "properties"),
    [
        ("AWS::IAM::Role", ROLE),
        ("AWS::AutoScaling::AutoScalingGroup", GROUP),
        ("AWS::CloudWatch::Alarm", {**ALARM, "Period": "120", "Threshold": "5"}),
        ("AWS::FSx::FileSystem", {**LUSTRE, "LustreConfiguration": {"DeploymentType": "PERSISTENT_2"}}),
        ("AWS::SQS::Queue", {"VisibilityTimeout": "30", "FifoQueue": "true", "QueueName": "q.fifo"}),
        ("AWS::EC2::LaunchTemplate", {"LaunchTemplateData": {"NetworkInterfaces": [{"InterfaceType": "efa-only"}]}}),
        (
            "AWS::EC2::SecurityGroupIngress",
            {"IpProtocol": -1, "CidrIp": "10.0.0.0/8", "GroupId": "sg-0123456789abcdef0"},
        ),
        ("AWS::S3::Bucket", {"BucketName": "data"}),
    ],
)
def test_right_properties_pass(type_name, properties):
    assert faults(type_name, properties) == []


@pytest.mark.parametrize(
    ("type_name", "properties", "expected"),
    [
        (
            "AWS::EC2::LaunchTemplate",
            {"LaunchTemplateData": {"NetworkInterfaces": [{}, {"InterfaceTyp": "efa"}]}},
            "LaunchTemplateData.NetworkInterfaces[1].InterfaceTyp: is not a property here; did you mean InterfaceType",
        ),
        (
            "AWS::EC2::LaunchTemplate",
            {"LaunchTemplateData": {"NetworkInterfaces": [{"InterfaceType": "enhanced"}]}},
            "LaunchTemplateData.NetworkInterfaces[0].InterfaceType: 'enhanced' is not one of interface, efa, efa-only",
        ),
        (
            "AWS::EC2::LaunchTemplate",
            {"LaunchTemplateData": {"InstanceMarketOptions": {"MarketType": "block"}}},
            "LaunchTemplateData.InstanceMarketOptions.MarketType: 'block' is not one of capacity-block",
        ),
        (
            "AWS::EC2::LaunchTemplate",
            {"LaunchTemplateData": {"UserData": "x" * 21849}},
            "has 21849 characters; at most 21848 are allowed",
        ),
        ("AWS::AutoScaling::AutoScalingGroup", {"MinSize": "1"}, "MaxSize: is required"),
        (
            "AWS::AutoScaling::AutoScalingGroup",
            {"MinSize": "1", "MaxSize": "1"},
            "one of InstanceId, LaunchConfigurationName, LaunchTemplate, MixedInstancesPolicy is required",
        ),
        (
            "AWS::AutoScaling::AutoScalingGroup",
            {**GROUP, "LaunchConfigurationName": "old"},
            "only one of LaunchConfigurationName, LaunchTemplate may be given",
        ),
        ("AWS::IAM::Role", {**ROLE, "MaxSessionDuration": 60}, "MaxSessionDuration: 60 has to be at least 3600"),
        ("AWS::IAM::Role", {**ROLE, "ManagedPolicyArns": "arn"}, "ManagedPolicyArns: 'arn' is not an array"),
        ("AWS::IAM::Role", {**ROLE, "Arn": "arn:aws:iam::111122223333:role/x"}, "Arn: is set by the service"),
        ("AWS::IAM::Policy", {"PolicyName": "p", "PolicyDocument": {}}, "one of Users, Groups, Roles is required"),
        ("AWS::S3::Bucket", {"BucketName": "Has_Capitals"}, "BucketName: 'Has_Capitals' does not match"),
        ("AWS::S3::Bucket", {"AccessControl": "PublicRead"}, "OwnershipControls: is required"),
        (
            "AWS::SQS::Queue",
            {"FifoQueue": False, "ContentBasedDeduplication": True},
            "ContentBasedDeduplication: is not allowed beside the other properties given",
        ),
        ("AWS::SQS::Queue", {"VisibilityTimeout": 50000}, "VisibilityTimeout: 50000 has to be at most 43200"),
        ("AWS::CloudWatch::Alarm", {**ALARM, "Period": 45}, "Period: 45 is not one of 10, 30, 60"),
        ("AWS::CloudWatch::Alarm", {**ALARM, "Period": 90}, "Period: 90 has to be a multiple of 60"),
        (
            "AWS::CloudWatch::Alarm",
            {**ALARM, "ComparisonOperator": "GreaterThan"},
            "did you mean 'GreaterThanThreshold'",
        ),
        ("AWS::FSx::FileSystem", {**LUSTRE, "StorageCapacity": 600}, "StorageCapacity: 600 has to be at least 1200"),
        (
            "AWS::FSx::FileSystem",
            {**LUSTRE, "LustreConfiguration": {"PerUnitStorageThroughput": 2000}},
            "LustreConfiguration.PerUnitStorageThroughput: 2000 has to be at most 1000",
        ),
        (
            "AWS::FSx::DataRepositoryAssociation",
            {
                "FileSystemId": "fs-0123456789abcdef0",
                "FileSystemPath": "/data",
                "DataRepositoryPath": "s3://b",
                "S3": {"AutoImportPolicy": {"Events": ["NEW", "GONE"]}},
            },
            "S3.AutoImportPolicy.Events[1]: 'GONE' is not one of NEW, CHANGED, DELETED",
        ),
        (
            "AWS::FSx::FileSystem",
            {**LUSTRE, "SecurityGroupIds": ["efa"]},
            "SecurityGroupIds[0]: 'efa' is not a security group id",
        ),
        (
            "AWS::EC2::SecurityGroupEgress",
            {"IpProtocol": "-1", "CidrIp": "0.0.0.0/0", "CidrIpv6": "::/0", "GroupId": "sg-0123456789abcdef0"},
            "only one of CidrIp, CidrIpv6 may be given",
        ),
        ("AWS::EC2::Subnet", {"VpcId": "my-vpc", "CidrBlock": "10.0.0.0/20"}, "VpcId: 'my-vpc' is not a VPC id"),
    ],
)
def test_a_wrong_property_is_named_with_its_value_and_what_is_right(type_name, properties, expected):
    assert any(expected in fault for fault in faults(type_name, properties)), faults(type_name, properties)


def test_all_faults_of_a_resource_are_told_at_once():
    schema = registry("us-east-1").schema("AWS::FSx::FileSystem")
    found = check_properties(schema, {"StorageCapacity": "many", "Colour": "red"})
    message = explain(schema.type_name, found)
    assert message.startswith("Properties validation failed for AWS::FSx::FileSystem: ")
    assert {fault.location for fault in found} == {
        ("Colour",),
        ("FileSystemType",),
        ("SubnetIds",),
        ("StorageCapacity",),
    }


def test_a_place_has_the_fault_of_one_source_only():
    wrong = {"LaunchTemplateData": {"InstanceMarketOptions": {"MarketType": "block"}}}
    assert len(faults("AWS::EC2::LaunchTemplate", wrong)) == 1


def test_a_region_without_a_type_says_so():
    assert "AWS::SageMaker::Cluster" in registry("us-east-1")
    with pytest.raises(UnknownResourceTypeError, match="AWS::No::Such does not exist in us-east-1"):
        registry("us-east-1").schema("AWS::No::Such")


def test_a_region_that_no_index_knows_has_the_types_of_the_largest():
    assert registry("xx-nowhere-1").types == registry("us-east-1").types


@given(st.integers())
def test_numbers_are_the_same_as_text(number):
    assert same(number, str(number))
    assert has_type(str(number), "integer")
    assert as_number(str(number)) == float(number)


@given(
    st.one_of(st.text(), st.integers(), st.booleans(), st.floats(allow_nan=False), st.none(), st.lists(st.integers()))
)
def test_no_value_breaks_a_check(value):
    for type_name in ("AWS::AutoScaling::AutoScalingGroup", "AWS::CloudWatch::Alarm", "AWS::IAM::Role"):
        schema = registry("us-east-1").schema(type_name)
        for name in schema.settable:
            for fault in check_properties(schema, {name: value}):
                assert fault.problem


def test_places_are_spelled_as_in_a_template():
    assert spell(("A", 0, "B", "C", 12)) == "A[0].B.C[12]"
