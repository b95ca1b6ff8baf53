"""Interruption handling: rules that match, a queue that EventBridge can write to, a topic for people."""

from __future__ import annotations

import json

import pytest
from aws_cdk import aws_sns as sns

from support.linting import lint_errors
from support.templates import all_properties, only, references, resource_types, resources
from ultracluster.spot.interruptions import SpotInterruptions


@pytest.fixture
def interruptions(stack):
    return SpotInterruptions(stack, "Interruptions", fleet_name="research.one")


def patterns(template):
    return [rule["EventPattern"] for rule in all_properties(template, "AWS::Events::Rule")]


def test_warning_recommendation_and_state_change_are_matched_by_their_exact_names(interruptions, stack, synth):
    found = patterns(synth(stack))
    assert [pattern["detail-type"] for pattern in found] == [
        ["EC2 Spot Instance Interruption Warning"],
        ["EC2 Instance Rebalance Recommendation"],
        ["EC2 Instance State-change Notification"],
    ]
    assert all(pattern["source"] == ["aws.ec2"] for pattern in found)


def test_no_rule_filters_by_an_arn_that_the_events_do_not_carry(interruptions, stack, synth):
    assert not any("resources" in pattern for pattern in patterns(synth(stack)))


def test_only_ends_of_instances_count_as_state_changes(interruptions, stack, synth):
    (states,) = [pattern["detail"]["state"] for pattern in patterns(synth(stack)) if "detail" in pattern]
    assert "running" not in states
    assert {"shutting-down", "terminated"} <= set(states)


def test_both_queues_are_encrypted_by_sqs_itself(interruptions, stack, synth):
    for queue in all_properties(synth(stack), "AWS::SQS::Queue"):
        assert queue["SqsManagedSseEnabled"] is True
        assert "KmsMasterKeyId" not in queue


def test_queue_names_are_literal_and_valid(interruptions, stack, synth):
    names = {queue["QueueName"] for queue in all_properties(synth(stack), "AWS::SQS::Queue")}
    assert names == {interruptions.queue_name, interruptions.dead_letter_queue_name}
    assert names == {"research-one-spot", "research-one-spot-dead"}


def test_what_cannot_be_handled_goes_to_the_dead_letter_queue(interruptions, stack, synth):
    template = synth(stack)
    queues = resources(template, "AWS::SQS::Queue")
    (dead,) = [key for key, body in queues.items() if "RedrivePolicy" not in body["Properties"]]
    (queue,) = [body["Properties"] for key, body in queues.items() if key != dead]
    assert queue["RedrivePolicy"] == {"deadLetterTargetArn": {"Fn::GetAtt": [dead, "Arn"]}, "maxReceiveCount": 3}
    targets = [target for rule in all_properties(template, "AWS::Events::Rule") for target in rule["Targets"]]
    assert all(references(target["DeadLetterConfig"]["Arn"]) == {dead} for target in targets)


def test_only_the_own_rules_may_send_and_only_over_tls(interruptions, stack, synth):
    template = synth(stack)
    policy = only(template, "AWS::SQS::QueuePolicy")
    assert references(policy["Queues"]) == set(resources(template, "AWS::SQS::Queue"))
    send, tls = policy["PolicyDocument"]["Statement"]
    assert send["Principal"] == {"Service": "events.amazonaws.com"}
    assert send["Action"] == "sqs:SendMessage"
    assert references(send["Condition"]) == set(resources(template, "AWS::Events::Rule"))
    assert (tls["Effect"], tls["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})


def test_people_hear_of_warnings_and_not_of_every_state_change(interruptions, stack, synth):
    template = synth(stack)
    rules = all_properties(template, "AWS::Events::Rule")
    (topic,) = resources(template, "AWS::SNS::Topic")
    to_people = [rule for rule in rules if any(references(target["Arn"]) == {topic} for target in rule["Targets"])]
    assert [rule["EventPattern"]["detail-type"][0] for rule in to_people] == [
        "EC2 Spot Instance Interruption Warning",
        "EC2 Instance Rebalance Recommendation",
    ]


def test_eventbridge_can_use_the_key_of_the_topic_that_is_made(interruptions, stack, synth):
    template = synth(stack)
    (key,) = resources(template, "AWS::KMS::Key")
    assert references(only(template, "AWS::SNS::Topic")["KmsMasterKeyId"]) == {key}
    policy = only(template, "AWS::KMS::Key")["KeyPolicy"]["Statement"]
    (grant,) = [found for found in policy if found["Principal"] == {"Service": "events.amazonaws.com"}]
    assert set(grant["Action"]) == {"kms:Decrypt", "kms:GenerateDataKey*"}
    assert only(template, "AWS::KMS::Key")["EnableKeyRotation"] is True
    publish = json.dumps(only(template, "AWS::SNS::TopicPolicy"))
    assert "events.amazonaws.com" in publish
    assert "aws:SecureTransport" in publish


def test_a_given_topic_is_used_as_it_is(stack, synth):
    """Its policy may live in another stack, which must not depend on this one."""
    topic = sns.Topic.from_topic_arn(stack, "Topic", "arn:aws:sns:us-east-1:111122223333:people")
    made = SpotInterruptions(stack, "Interruptions", fleet_name="research", topic=topic)
    types = resource_types(synth(stack))
    assert made.topic is topic
    assert made.topic_key is None
    assert not {"AWS::SNS::Topic", "AWS::SNS::TopicPolicy", "AWS::KMS::Key"} & set(types)


def test_the_template_passes_the_registry_schemas(interruptions, stack, synth):
    assert lint_errors(synth(stack)) == []
