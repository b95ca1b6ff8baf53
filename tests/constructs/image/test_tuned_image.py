"""The pipeline of a tuned image as it stands in a template."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import aws_cdk as cdk
import pytest
import yaml
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns

from support.images import network
from support.templates import all_properties, only, resource_types, resources
from ultracluster import Al2023, Dlami, FindingsError, ImageRegion, ImageRetention, TrainingFleet, Ubuntu
from ultracluster.plan.node_program import node_program

KEY = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"
IB = "AWS::ImageBuilder::"


def inline(template, sid):
    statements = [
        statement
        for role in resources(template, "AWS::IAM::Role").values()
        for policy in role["Properties"]["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
    ]
    (found,) = [each for each in statements if each["Sid"] == sid]
    return found


def test_what_is_made(image, stack, synth):
    image()
    assert resource_types(synth(stack)) == {
        f"{IB}Component": 11,
        f"{IB}ImageRecipe": 1,
        f"{IB}ImagePipeline": 1,
        f"{IB}InfrastructureConfiguration": 1,
        f"{IB}DistributionConfiguration": 1,
        f"{IB}LifecyclePolicy": 1,
        "AWS::IAM::Role": 2,
        "AWS::IAM::InstanceProfile": 1,
        "AWS::EC2::SecurityGroup": 1,
        "AWS::KMS::Key": 1,
        "AWS::Logs::LogGroup": 1,
        "AWS::S3::Bucket": 1,
        "AWS::S3::BucketPolicy": 1,
        "AWS::SNS::Topic": 1,
        "AWS::SNS::TopicPolicy": 1,
    }


def test_components_stand_in_the_recipe_in_their_order(image, stack, synth):
    made = image()
    template = synth(stack)
    listed = [entry["ComponentArn"]["Fn::GetAtt"][0] for entry in only(template, f"{IB}ImageRecipe")["Components"]]
    names = [template["Resources"][name]["Properties"]["Name"] for name in listed]
    assert names == [f"{made.image_name}-{document.name}" for document in made.plan.components]
    assert names[0].endswith("-kernel")
    assert names[-1].endswith("-test")


@pytest.mark.parametrize(
    ("base", "expected"),
    [(Dlami(), ("/dev/xvda", 150)), (Al2023(), ("/dev/xvda", 100)), (Ubuntu(), ("/dev/sda1", 100))],
)
def test_root_volume_under_its_name_and_encrypted(image, stack, synth, base, expected):
    image(base=base)
    (mapping,) = only(synth(stack), f"{IB}ImageRecipe")["BlockDeviceMappings"]
    assert (mapping["DeviceName"], mapping["Ebs"]["VolumeSize"]) == expected
    assert mapping["Ebs"]["Encrypted"] is True
    assert "Fn::GetAtt" in mapping["Ebs"]["KmsKeyId"]


def test_the_base_is_found_by_its_parameter(image, stack, synth):
    image()
    parent = only(synth(stack), f"{IB}ImageRecipe")["ParentImage"]
    assert parent.startswith("ssm:/aws/service/deeplearning/ami/x86_64/")


def test_programs_are_an_asset_that_the_component_checks(image, stack, synth, app):
    image()
    template = synth(stack)
    digest = node_program().sha256
    (parameters,) = [
        entry["Parameters"] for entry in only(template, f"{IB}ImageRecipe")["Components"] if "Parameters" in entry
    ]
    assert [each["Name"] for each in parameters] == ["NodeProgram"]
    address = parameters[0]["Value"][0]
    assert address.startswith("s3://cdk-hnb659fds-assets-111122223333-us-east-1/")
    key = address.rpartition("/")[2]
    files = json.loads(Path(app.outdir, "Test.assets.json").read_text())["files"].values()
    (file,) = [each for each in files if key in json.dumps(each["destinations"])]
    assert hashlib.sha256(Path(app.outdir, file["source"]["path"]).read_bytes()).hexdigest() == digest
    (document,) = [
        each["Data"] for each in all_properties(template, f"{IB}Component") if each["Name"].endswith("-programs")
    ]
    read = yaml.safe_load(document)
    download, install = read["phases"][0]["steps"]
    assert download["inputs"][0]["source"] == "{{ NodeProgram }}"
    assert f"SHA256='{digest}'" in install["inputs"]["commands"][0]
    assert key in json.dumps(inline(template, "Programs")["Resource"])


def test_build_instances_are_private_and_answer_only_to_tokens(image, stack, synth):
    image()
    template = synth(stack)
    infrastructure = only(template, f"{IB}InfrastructureConfiguration")
    assert infrastructure["SubnetId"] == "subnet-0123456789abcdef0"
    assert infrastructure["InstanceMetadataOptions"] == {"HttpPutResponseHopLimit": 1, "HttpTokens": "required"}
    assert infrastructure["TerminateInstanceOnFailure"] is True
    group = only(template, "AWS::EC2::SecurityGroup")
    assert "SecurityGroupIngress" not in group
    assert {(rule["FromPort"], rule["ToPort"], rule["IpProtocol"]) for rule in group["SecurityGroupEgress"]} == {
        (80, 80, "tcp"),
        (443, 443, "tcp"),
    }


def test_the_role_has_no_managed_policy_and_few_wildcards(image, stack, synth):
    image()
    template = synth(stack)
    for role in resources(template, "AWS::IAM::Role").values():
        assert "ManagedPolicyArns" not in role["Properties"]
    assert inline(template, "Components")["Action"] == "imagebuilder:GetComponent"
    assert inline(template, "Components")["Resource"] != "*"
    assert "ssm:GetParameter" not in json.dumps(template["Resources"])


def test_tests_come_before_distribution_and_scans_are_on(image, stack, synth):
    image()
    pipeline = only(synth(stack), f"{IB}ImagePipeline")
    assert pipeline["ImageTestsConfiguration"]["ImageTestsEnabled"] is True
    assert pipeline["ImageScanningConfiguration"] == {"ImageScanningEnabled": True}
    assert pipeline["Schedule"]["ScheduleExpression"] == "cron(0 3 ? * sun *)"


def test_without_a_schedule_somebody_starts_it(image, stack, synth):
    image(schedule=None, scan_for_vulnerabilities=False)
    pipeline = only(synth(stack), f"{IB}ImagePipeline")
    assert "Schedule" not in pipeline
    assert pipeline["Status"] == "ENABLED"
    assert pipeline["ImageScanningConfiguration"] == {"ImageScanningEnabled": False}


def test_the_newest_tested_image_is_in_a_parameter_that_image_builder_may_write(image, stack, synth):
    made = image()
    (home,) = only(synth(stack), f"{IB}DistributionConfiguration")["Distributions"]
    assert home["Region"] == "us-east-1"
    assert home["SsmParameterConfigurations"] == [{"DataType": "aws:ec2:image", "ParameterName": made.parameter_name}]
    assert made.parameter_name.startswith("/imagebuilder/")
    assert "Fn::GetAtt" in home["AmiDistributionConfiguration"]["KmsKeyId"]
    assert "{{ imagebuilder:buildDate }}" in home["AmiDistributionConfiguration"]["Name"]


def test_regions_and_accounts(image, stack, synth):
    image(
        regions=[
            ImageRegion(region="us-east-1", shared_with=("444455556666",)),
            ImageRegion(region="us-west-2", key_arn=KEY, copied_to=("777788889999",)),
        ]
    )
    template = synth(stack)
    home, other = only(template, f"{IB}DistributionConfiguration")["Distributions"]
    assert home["AmiDistributionConfiguration"]["LaunchPermissionConfiguration"] == {"UserIds": ["444455556666"]}
    assert other["AmiDistributionConfiguration"]["KmsKeyId"] == KEY
    assert other["AmiDistributionConfiguration"]["TargetAccountIds"] == ["777788889999"]
    assert [each.get("AmiAccountId") for each in other["SsmParameterConfigurations"]] == [None, "777788889999"]
    statements = only(template, "AWS::KMS::Key")["KeyPolicy"]["Statement"]
    (shared,) = [each for each in statements if each.get("Sid") == "AccountsThatLaunch"]
    assert "444455556666" in json.dumps(shared["Principal"])
    assert not any("all" in json.dumps(each.get("UserGroups", "")) for each in (home, other))


def test_old_images_go_with_their_snapshots_and_the_newest_never(image, stack, synth):
    made = image(retention=ImageRetention(keep_newest=5, after_days=60, spare_launched_within_days=14))
    policy = only(synth(stack), f"{IB}LifecyclePolicy")
    (detail,) = policy["PolicyDetails"]
    assert detail["Action"] == {"Type": "DELETE", "IncludeResources": {"Amis": True, "Snapshots": True}}
    assert detail["Filter"] == {"Type": "AGE", "Unit": "DAYS", "Value": 60, "RetainAtLeast": 5}
    assert detail["ExclusionRules"] == {"Amis": {"LastLaunched": {"Unit": "DAYS", "Value": 14}}}
    assert policy["ResourceSelection"] == {"TagMap": {"ultracluster:image": made.image_name}}


def test_images_of_the_pipeline_have_the_tag_by_which_they_are_retired(image, stack, synth):
    image()
    template = synth(stack)
    selected = only(template, f"{IB}LifecyclePolicy")["ResourceSelection"]["TagMap"]
    assert selected.items() <= only(template, f"{IB}ImagePipeline")["ImageTags"].items()


def test_names_stay_when_content_changes(image, make_app):
    """Names are what makes two versions of the same thing out of two contents."""
    from support.images import tuned_image

    def names(**arguments):
        app = make_app()
        stack = cdk.Stack(app, "Test", env=cdk.Environment(account="111122223333", region="us-east-1"))
        made = tuned_image(stack, **arguments)
        return made.image_name, made.recipe.version

    (name, version), (other_name, other_version) = names(), names(opt_ins=["low-latency-c-states"])
    assert name == other_name
    assert version != other_version
    assert re.fullmatch(r"[-_A-Za-z0-9]{3,128}", name)


def test_another_key_is_another_recipe(make_app):
    """The key of the root volume is part of what cannot be changed under one version."""
    from support.images import tuned_image

    def version(key_id):
        stack = cdk.Stack(make_app(), "Test", env=cdk.Environment(account="111122223333", region="us-east-1"))
        key = kms.Key.from_key_arn(stack, "Key", KEY.replace("us-west-2", "us-east-1").replace("11111111-", key_id))
        return tuned_image(stack, encryption_key=key).recipe.version

    assert version("11111111-") == version("11111111-")
    assert version("11111111-") != version("22222222-")


def test_given_key_and_topic_are_used(image, stack, synth):
    topic = sns.Topic.from_topic_arn(stack, "Topic", "arn:aws:sns:us-east-1:111122223333:builds")
    key = kms.Key.from_key_arn(stack, "Key", KEY.replace("us-west-2", "us-east-1"))
    image(encryption_key=key, notification_topic=topic)
    template = synth(stack)
    assert "AWS::KMS::Key" not in resource_types(template)
    assert "AWS::SNS::Topic" not in resource_types(template)
    assert only(template, f"{IB}InfrastructureConfiguration")["SnsTopicArn"].endswith(":builds")


def test_all_faults_at_once(image):
    with pytest.raises(FindingsError) as refused:
        image(
            opt_ins=["fast"],
            regions=[ImageRegion(region="us-west-2", shared_with=("444455556666",))],
            retention=ImageRetention(keep_newest=0),
            parameter_name="/images/train",
            log_retention_days=2,
        )
    assert {each.subject.removeprefix("Test/Image.") for each in refused.value.findings} == {
        "opt_ins",
        "regions[0].key_arn",
        "retention.keep_newest",
        "parameter_name",
        "log_retention_days",
    }


def test_a_fleet_boots_the_newest_image_when_its_stack_is_deployed(image, stack, synth):
    made = image(parameter_name="/imagebuilder/train/latest")
    TrainingFleet(
        stack,
        "Train",
        network=made.node.scope.node.find_child("Network"),
        instance_type="p5.48xlarge",
        count=2,
        image=made,
    )
    template = synth(stack)
    data = only(template, "AWS::EC2::LaunchTemplate")["LaunchTemplateData"]
    parameter = template["Parameters"][data["ImageId"]["Ref"]]
    assert parameter == parameter | {
        "Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>",
        "Default": "/imagebuilder/train/latest",
    }
    (mapping,) = data["BlockDeviceMappings"]
    assert mapping["DeviceName"] == "/dev/xvda"
    group = next(iter(resources(template, "AWS::AutoScaling::AutoScalingGroup").values()))
    # Neither replaces a node that runs: there is no policy that would, and the group only takes the new version.
    assert "UpdatePolicy" not in group
    assert "InstanceRefresh" not in json.dumps(group)


def test_two_images_of_one_stack(stack, synth):
    from ultracluster import TunedImage

    net = network(stack)
    for name in ("Gpu", "Neuron"):
        TunedImage(stack, name, network=net, vendor="aws" if name == "Neuron" else "nvidia")
    template = synth(stack)
    names = [each["Name"] for each in all_properties(template, f"{IB}Component")]
    assert len(set(names)) == len(names)
