"""The launch template of a fleet, property by property."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms

from support.compute import data_of, home, imported_network, lustre, p5
from support.efa_rule import efa_entries, efa_faults, self_rules
from support.linting import lint_errors
from support.policy import judged
from support.templates import launch_template_data, references, resource_types, resources, user_data
from ultracluster.facts.instances import catalog
from ultracluster.fleet.training_fleet import TrainingFleet
from ultracluster.plan.images import Al2023, Ami, SsmImage
from ultracluster.plan.network_interfaces import InterfaceLayout
from ultracluster.plan.user_data import MARKER
from ultracluster.plan.volumes import RootVolume

TAGGED = ["instance", "volume", "network-interface"]


def test_every_type_of_the_catalogue_gets_a_right_list(stack, synth):
    """RULE-EFA over the template, for all types in one application."""
    network = imported_network(stack)
    for name in catalog():
        TrainingFleet(stack, name.replace(".", "-"), network=network, instance_type=name, count=1, image=Al2023())
    by_type = {data["InstanceType"]: data for data in launch_template_data(synth(stack))}
    assert by_type.keys() == catalog().keys()
    faults = {name: efa_faults(catalog()[name], data) for name, data in by_type.items()}
    assert {name: found for name, found in faults.items() if found} == {}


@pytest.mark.parametrize("layout", [InterfaceLayout.MIN_IP, InterfaceLayout.MAX_BANDWIDTH, InterfaceLayout.ALL_EFA])
def test_layouts_of_a_p5(stack, synth, layout):
    p5(stack, interface_layout=layout)
    assert efa_faults(catalog()["p5.48xlarge"], data_of(synth(stack))) == []


def test_fewer_fabric_devices_on_request(stack, synth):
    p5(stack, efa=8)
    data = data_of(synth(stack))
    assert efa_faults(catalog()["p5.48xlarge"], data, efa=8) == []
    assert len(efa_entries(data["NetworkInterfaces"])) == 8


def test_every_interface_goes_with_its_node_and_none_has_a_public_address(stack, synth):
    p5(stack)
    entries = data_of(synth(stack))["NetworkInterfaces"]
    assert len(entries) == 33
    assert all(entry["DeleteOnTermination"] is True for entry in entries)
    assert not any("AssociatePublicIpAddress" in entry or "SubnetId" in entry for entry in entries)


def test_a_single_interface_may_have_a_public_address(stack, synth):
    network = imported_network(stack)
    TrainingFleet(
        stack, "Build", network=network, instance_type="g6e.8xlarge", count=1, efa=0, associate_public_ip=True
    )
    (entry,) = data_of(synth(stack))["NetworkInterfaces"]
    assert entry["AssociatePublicIpAddress"] is True


def test_the_efa_group_is_on_every_interface_and_allows_itself(stack, synth):
    p5(stack)
    template = synth(stack)
    (group,) = resources(template, "AWS::EC2::SecurityGroup")
    assert all(entry["Groups"] == [{"Ref": group}] for entry in data_of(template)["NetworkInterfaces"])
    assert self_rules(template, {"Ref": group}) == {"Ingress", "Egress"}


def test_further_groups_are_on_the_primary_interface_only(stack, synth):
    own = ec2.SecurityGroup.from_security_group_id(stack, "Own", "sg-own")
    p5(stack, security_groups=[own], storage=[lustre(stack), home(stack)])
    first, *others = data_of(synth(stack))["NetworkInterfaces"]
    assert first["Groups"][1:] == ["sg-own", "sg-lustre", "sg-home"]
    assert all(len(entry["Groups"]) == 1 for entry in others)


def test_the_clients_of_an_efa_file_system_carry_its_group_on_every_interface(stack, synth):
    p5(stack, storage=[lustre(stack, efa=True), home(stack)])
    first, *others = data_of(synth(stack))["NetworkInterfaces"]
    assert first["Groups"][1:] == ["sg-lustre", "sg-home"]
    assert all(entry["Groups"][1:] == ["sg-lustre"] for entry in others)


def test_a_fleet_without_efa_reaches_an_efa_file_system_over_its_primary_interface(stack, synth):
    network = imported_network(stack)
    TrainingFleet(
        stack,
        "Small",
        network=network,
        instance_type="p5.48xlarge",
        count=1,
        efa=0,
        interface_layout=InterfaceLayout.MIN_IP,
        storage=[lustre(stack, efa=True)],
    )
    (entry,) = data_of(synth(stack))["NetworkInterfaces"]
    assert entry["Groups"][1:] == ["sg-lustre"]


def test_one_group_given_twice_is_attached_once(stack, synth):
    shared = lustre(stack)
    p5(stack, security_groups=[shared.client_security_group], storage=[shared])
    assert data_of(synth(stack))["NetworkInterfaces"][0]["Groups"][1:] == ["sg-lustre"]


def test_instance_metadata_wants_a_session_token(stack, synth):
    p5(stack)
    assert data_of(synth(stack))["MetadataOptions"] == {
        "HttpEndpoint": "enabled",
        "HttpPutResponseHopLimit": 1,
        "HttpTokens": "required",
    }


def test_containers_on_a_bridge_may_be_given_a_second_hop(stack, synth):
    p5(stack, metadata_hop_limit=2)
    assert data_of(synth(stack))["MetadataOptions"]["HttpPutResponseHopLimit"] == 2


def test_the_root_volume_is_encrypted_gp3_and_goes_with_the_node(stack, synth):
    p5(stack, root_volume=RootVolume(size_gib=800, iops=6000, throughput_mibps=500))
    (mapping,) = data_of(synth(stack))["BlockDeviceMappings"]
    assert mapping["Ebs"] == {
        "DeleteOnTermination": True,
        "Encrypted": True,
        "Iops": 6000,
        "Throughput": 500,
        "VolumeSize": 800,
        "VolumeType": "gp3",
    }


def test_auto_scaling_may_use_a_customer_key(stack, synth):
    key = kms.Key(stack, "Key")
    p5(stack, encryption_key=key)
    template = synth(stack)
    (name,) = resources(template, "AWS::KMS::Key")
    assert references(data_of(template)["BlockDeviceMappings"][0]["Ebs"]["KmsKeyId"]) == {name}
    statements = template["Resources"][name]["Properties"]["KeyPolicy"]["Statement"]
    role = {
        action: statement["Condition"]["ArnEquals"]["aws:PrincipalArn"]
        for statement in statements
        if "ArnEquals" in statement.get("Condition", {})
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    }
    assert {"kms:CreateGrant", "kms:Decrypt", "kms:GenerateDataKey*"} <= set(role)
    assert all("AWSServiceRoleForAutoScaling" in str(arn) for arn in role.values())


def test_the_policy_of_an_imported_key_is_its_owners_business_and_said_so(stack, synth):
    arn = "arn:aws:kms:us-east-1:444455556666:key/11111111-2222-3333-4444-555555555555"
    fleet = p5(stack, encryption_key=kms.Key.from_key_arn(stack, "Key", arn))
    assert data_of(synth(stack))["BlockDeviceMappings"][0]["Ebs"]["KmsKeyId"] == arn
    warnings = [str(entry.data) for entry in fleet.node.metadata if entry.type == "aws:cdk:warning"]
    assert any("UC-API-006" in warning for warning in warnings)


def test_the_image_is_one_parameter_of_the_template_for_all_fleets(stack, synth):
    network = imported_network(stack)
    p5(stack, "One", network=network)
    p5(stack, "Two", network=network)
    template = synth(stack)
    images = {name for data in launch_template_data(template) for name in references(data["ImageId"])}
    (name,) = images
    parameter = template["Parameters"][name]
    assert parameter["Type"] == "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"
    assert "deeplearning" in parameter["Default"]


def test_own_images(stack, synth):
    network = imported_network(stack)
    p5(
        stack,
        "One",
        network=network,
        image=Ami(ami_id="ami-0123456789abcdef0", os="al2023", root_device_name="/dev/xvda"),
    )
    p5(
        stack,
        "Two",
        network=network,
        image=SsmImage(parameter="/images/train", os="ubuntu-24.04", root_device_name="/dev/sda1"),
    )
    template = synth(stack)
    one, two = launch_template_data(template)
    assert one["ImageId"] == "ami-0123456789abcdef0"
    (name,) = references(two["ImageId"])
    assert template["Parameters"][name]["Default"] == "/images/train"


def test_a_version_of_a_parameter_is_a_dynamic_reference(stack, synth):
    """A template parameter would read the newest version, whatever stands behind the name."""
    p5(stack, image=SsmImage(parameter="/images/train:3", os="ubuntu-24.04", root_device_name="/dev/sda1"))
    template = synth(stack)
    assert data_of(template)["ImageId"] == "{{resolve:ssm:/images/train:3}}"
    assert not [body for body in template["Parameters"].values() if "/images/train" in str(body.get("Default"))]
    assert "UC-IMG-010" not in judged(template).ids


def test_tags_name_the_fleet_on_instance_volume_and_interface(stack, synth):
    p5(stack, tags={"owner": "research"})
    specifications = data_of(synth(stack))["TagSpecifications"]
    assert [specification["ResourceType"] for specification in specifications] == TAGGED
    for specification in specifications:
        tags = {tag["Key"]: tag["Value"] for tag in specification["Tags"]}
        assert tags == {"Name": "Test/Train", "ultracluster:fleet": "Train", "owner": "research"}


def test_tags_of_the_application_reach_what_the_nodes_are_billed_for(app, stack, synth):
    p5(stack)
    cdk.Tags.of(app).add("project", "llama")
    for specification in data_of(synth(stack))["TagSpecifications"]:
        assert {"Key": "project", "Value": "llama"} in specification["Tags"]


def test_nothing_is_said_that_ec2_decides_better(stack, synth):
    p5(stack)
    assert not {"EbsOptimized", "KeyName", "SecurityGroupIds", "SecurityGroups", "InstanceMarketOptions"} & set(
        data_of(synth(stack))
    )


def test_user_data_is_the_bootstrap_of_this_fleet(stack, synth):
    fleet = p5(stack, user_data="#!/bin/bash\necho mine\n", storage=[lustre(stack)])
    template = synth(stack)
    text = user_data(template, data_of(template))
    assert MARKER in text.partition("\n")[0]
    assert fleet.auto_scaling_group_name in text
    assert fleet.log_group_name in text
    assert "fs-1.fsx.us-east-1.amazonaws.com" in text
    assert "echo mine" in text
    assert "Token[" not in text


def test_text_that_fleets_share_stands_once_in_the_stack(stack, synth):
    network = imported_network(stack)
    p5(stack, "One", network=network)
    p5(stack, "Two", network=network)
    template = synth(stack)
    shared = [value for data in launch_template_data(template) for value in find(data["UserData"], "Fn::FindInMap")]
    keys = template["Mappings"]["Bootstrap"]
    assert len(shared) == 2 * len(keys), "both look every text up"
    one, two = (user_data(template, data) for data in launch_template_data(template))
    assert one != two
    same_name = one.replace('"fleet":"One"', '"fleet":"Two"').replace("Test-One", "Test-Two")
    assert same_name.replace(_suffix(one, "Test-One"), _suffix(two, "Test-Two")) == two


def find(value, function):
    """The arguments of every use of an intrinsic function."""
    if isinstance(value, dict):
        return [value[function]] if function in value else find(list(value.values()), function)
    return [found for inner in value for found in find(inner, function)] if isinstance(value, list) else []


def _suffix(text: str, name: str) -> str:
    start = text.index(name) + len(name)
    return text[start : start + 9]


def test_one_template_and_nine_resources(stack, synth):
    p5(stack)
    assert resource_types(synth(stack)) == {
        "AWS::AutoScaling::AutoScalingGroup": 1,
        "AWS::EC2::LaunchTemplate": 1,
        "AWS::EC2::PlacementGroup": 1,
        "AWS::EC2::SecurityGroup": 1,
        "AWS::EC2::SecurityGroupEgress": 1,
        "AWS::EC2::SecurityGroupIngress": 1,
        "AWS::IAM::InstanceProfile": 1,
        "AWS::IAM::ManagedPolicy": 1,
        "AWS::IAM::Role": 1,
        "AWS::Logs::LogGroup": 1,
    }


def test_the_template_passes_the_registry_schemas(stack, synth):
    p5(stack, storage=[lustre(stack, efa=True), home(stack)], encryption_key=kms.Key(stack, "Key"))
    assert lint_errors(synth(stack)) == []
