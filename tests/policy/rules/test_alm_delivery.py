"""UC-ALM-017 to 019: keys of topics, policies of targets, event patterns."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.fabric import template
from support.nodes import area_ids
from support.policy import assert_finds, assert_not_judged, assert_passes

OWN = {"Own": {"Type": "String"}}
EVENTS, ALARMS = "events.amazonaws.com", "cloudwatch.amazonaws.com"
NONE = {"Ref": "AWS::NoValue"}


def resource(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Type": kind, "Properties": properties}


def allow(service: Any, *actions: str, **more: Any) -> dict[str, Any]:
    principal = {"Service": service} if service != "*" else "*"
    return {"Effect": "Allow", "Principal": principal, "Action": list(actions), "Resource": "*", **more}


def ids(*templates: Any) -> set[str]:
    return area_ids("ALM", *templates)


# UC-ALM-017

ROOT = {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::111122223333:root"}, "Action": "kms:*", "Resource": "*"}
ALARM = resource("AWS::CloudWatch::Alarm", AlarmActions=[{"Ref": "Topic"}], TreatMissingData="missing", MetricName="m")
RULE = resource(
    "AWS::Events::Rule", EventPattern={"source": ["aws.ec2"]}, Targets=[{"Id": "t", "Arn": {"Ref": "Topic"}}]
)
ADMITTED = resource(
    "AWS::SNS::TopicPolicy",
    Topics=[{"Ref": "Topic"}],
    PolicyDocument={"Statement": [allow(EVENTS, "sns:Publish")]},
)


def topic(key: Any, *statements: Any, user: Any = ALARM, **more: Any) -> dict[str, Any]:
    resources = {"Topic": resource("AWS::SNS::Topic", KmsMasterKeyId=key), "User": user, "Admitted": ADMITTED, **more}
    if statements:
        resources["Key"] = resource("AWS::KMS::Key", KeyPolicy={"Statement": [ROOT, *statements]})
    return template(OWN, **resources)


KEY = {"Fn::GetAtt": "Key.Arn"}


@pytest.mark.parametrize("user", [ALARM, RULE])
@pytest.mark.parametrize(
    "key", ["alias/aws/sns", {"Fn::Sub": "arn:aws:kms:${AWS::Region}:${AWS::AccountId}:alias/aws/sns"}]
)
def test_a_key_that_no_service_may_use(user, key):
    found = topic(key, user=user)
    assert_finds("UC-ALM-017", found, place="Topic KmsMasterKeyId: ")
    assert_finds("UC-ALM-017", found, place="admits neither alarms nor event rules")
    assert ids(found) == {"UC-ALM-017"}


@pytest.mark.parametrize(
    ("user", "statement", "service"),
    [
        (ALARM, allow(EVENTS, "kms:Decrypt", "kms:GenerateDataKey*"), ALARMS),
        (RULE, allow(ALARMS, "kms:Decrypt", "kms:GenerateDataKey*"), EVENTS),
        (ALARM, allow(ALARMS, "kms:Decrypt"), ALARMS),
        (ALARM, {**allow(ALARMS, "kms:*"), "Effect": "Deny"}, ALARMS),
    ],
)
def test_a_customer_key_without_the_grants(user, statement, service):
    found = topic(KEY, statement, user=user)
    assert_finds("UC-ALM-017", found, place=f"the policy of key Key does not let {service} write")
    assert ids(found) == {"UC-ALM-017"}


@pytest.mark.parametrize(
    ("key", "statements", "user"),
    [
        (NONE, (), ALARM),
        (KEY, (allow(ALARMS, "kms:Decrypt", "kms:GenerateDataKey*"),), ALARM),
        (KEY, (allow([EVENTS, ALARMS], "kms:*"),), RULE),
        (KEY, (allow("*", "kms:Decrypt", "kms:GenerateDataKey*", Condition={"StringEquals": {}}),), ALARM),
        ({"Ref": "Key"}, (allow(ALARMS, "kms:Decrypt"), allow(ALARMS, "kms:GenerateDataKey")), ALARM),
        ("alias/aws/sns", (), resource("AWS::SNS::Subscription", TopicArn={"Ref": "Topic"})),
    ],
)
def test_topics_that_can_be_written(key, statements, user):
    assert_passes("UC-ALM-017", topic(key, *statements, user=user))


def test_a_key_by_its_alias():
    alias = {"Alias": resource("AWS::KMS::Alias", AliasName="alias/own", TargetKeyId={"Ref": "Key"})}
    grant = allow(ALARMS, "kms:Decrypt", "kms:GenerateDataKey*")
    assert_passes("UC-ALM-017", topic({"Ref": "Alias"}, grant, **alias))
    assert_finds("UC-ALM-017", topic({"Ref": "Alias"}, allow(EVENTS, "kms:*"), **alias))


@pytest.mark.parametrize("key", ["alias/own", {"Ref": "Own"}, "arn:aws:kms:us-east-1:111122223333:key/x"])
def test_a_key_of_elsewhere(key):
    assert_not_judged("UC-ALM-017", topic(key))


def test_a_grant_that_is_not_known():
    assert_not_judged("UC-ALM-017", topic(KEY, allow({"Ref": "Own"}, "kms:*")))


# UC-ALM-018


def rule(target: Any, **more: Any) -> dict[str, Any]:
    targets = [{"Id": "t", "Arn": target, **more}]
    return resource("AWS::Events::Rule", EventPattern={"source": ["aws.ec2"]}, Targets=targets)


QUEUE, TOPIC, FUNCTION = (resource(f"AWS::{kind}") for kind in ("SQS::Queue", "SNS::Topic", "Lambda::Function"))
ARN = {"Fn::GetAtt": "Target.Arn"}
REF = {"Ref": "Target"}


def queue_policy(*statements: Any) -> dict[str, Any]:
    return resource("AWS::SQS::QueuePolicy", Queues=[REF], PolicyDocument={"Statement": list(statements)})


def permission(principal: Any = EVENTS, function: Any = ARN) -> dict[str, Any]:
    return resource(
        "AWS::Lambda::Permission", FunctionName=function, Principal=principal, Action="lambda:InvokeFunction"
    )


@pytest.mark.parametrize(
    ("target", "arn", "more", "place"),
    [
        (QUEUE, ARN, {}, "Rule Targets[0].Arn: no policy lets events.amazonaws.com sqs:SendMessage to Target"),
        (QUEUE, ARN, {"Policy": queue_policy(allow("sns.amazonaws.com", "sqs:SendMessage"))}, "no policy lets"),
        (QUEUE, ARN, {"Policy": queue_policy(allow(EVENTS, "sqs:ReceiveMessage"))}, "no policy lets"),
        (TOPIC, REF, {}, "no policy lets events.amazonaws.com sns:Publish to Target"),
        (FUNCTION, ARN, {}, "no AWS::Lambda::Permission lets events.amazonaws.com invoke Target"),
        (FUNCTION, ARN, {"Permission": permission("s3.amazonaws.com")}, "no AWS::Lambda::Permission"),
        (resource("AWS::Batch::JobQueue"), REF, {}, "Target is reached with a role only, and RoleArn is left out"),
        (resource("AWS::StepFunctions::StateMachine"), REF, {}, "is reached with a role only"),
    ],
)
def test_a_target_that_keeps_events_out(target, arn, more, place):
    found = template(Target=target, Rule=rule(arn), **more)
    assert_finds("UC-ALM-018", found, place=place)
    assert ids(found) == {"UC-ALM-018"}


@pytest.mark.parametrize(
    ("target", "made", "more"),
    [
        (QUEUE, rule(ARN), {"Policy": queue_policy(allow(EVENTS, "sqs:SendMessage"))}),
        (QUEUE, rule(ARN), {"Policy": queue_policy(allow([EVENTS], "SQS:*"))}),
        (QUEUE, rule(ARN), {"Policy": queue_policy(allow("*", "sqs:SendMessage", Condition={"ArnEquals": {}}))}),
        (
            QUEUE,
            rule(ARN),
            {
                "Policy": resource(
                    "AWS::SQS::QueueInlinePolicy",
                    Queue=REF,
                    PolicyDocument={"Statement": allow(EVENTS, "sqs:SendMessage")},
                )
            },
        ),
        (FUNCTION, rule(ARN), {"Permission": permission()}),
        (FUNCTION, rule(ARN), {"Permission": permission(function=REF)}),
        (
            resource("AWS::Lambda::Function", FunctionName="handle"),
            rule(ARN),
            {"Permission": permission(function="handle")},
        ),
        (resource("AWS::Batch::JobQueue"), rule(REF, RoleArn="arn:aws:iam::111122223333:role/events"), {}),
        (resource("AWS::Serverless::Function"), rule(ARN), {}),
        (QUEUE, rule("arn:aws:sqs:us-east-1:111122223333:elsewhere"), {}),
    ],
)
def test_targets_that_let_events_in(target, made, more):
    assert_passes("UC-ALM-018", template(Target=target, Rule=made, **more))


def test_a_policy_in_a_sibling_template():
    policy = resource(
        "AWS::SQS::QueuePolicy",
        Queues=[{"Fn::ImportValue": "Url"}],
        PolicyDocument={"Statement": [allow(EVENTS, "sqs:SendMessage")]},
    )
    first = {**template(Target=QUEUE, Rule=rule(ARN)), "Outputs": {"Url": {"Value": REF, "Export": {"Name": "Url"}}}}
    assert_passes("UC-ALM-018", first, template(Policy=policy))


def test_targets_that_are_not_known():
    assert_not_judged("UC-ALM-018", template(OWN, Rule=rule({"Ref": "Own"})))
    unknown = permission(function={"Ref": "Own"})
    assert_not_judged("UC-ALM-018", template(OWN, Target=FUNCTION, Rule=rule(ARN), Permission=unknown))
    open_policy = queue_policy(allow({"Ref": "Own"}, "sqs:SendMessage"))
    assert_not_judged("UC-ALM-018", template(OWN, Target=QUEUE, Rule=rule(ARN), Policy=open_policy))


# UC-ALM-019


def pattern(value: Any) -> dict[str, Any]:
    return template(OWN, Rule=resource("AWS::Events::Rule", EventPattern=value, Targets=[]))


def named(name: Any, source: str = "aws.ec2") -> dict[str, Any]:
    return {"source": [source], "detail-type": [name]}


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"source": ["aws.ec2"], "detail_type": ["Capacity Block Delivered"]}, "events have no detail_type"),
        ({"source": ["aws.ec2"], "detailType": ["x"]}, "events have no detailType"),
        (named("EC2 Spot Interruption Warning"), "the event is called 'EC2 Spot Instance Interruption Warning'"),
        (named("EC2 Spot Instance Interruption warning"), "'EC2 Spot Instance Interruption Warning'"),
        (named("EC2 Instance State Change Notification"), "'EC2 Instance State-change Notification'"),
        (
            named("SageMaker HyperPod Node Health Event", "aws.sagemaker"),
            "'SageMaker HyperPod Cluster Node Health Event'",
        ),
        (named("EC2 Instance Launch Unsuccesful", "aws.autoscaling"), "'EC2 Instance Launch Unsuccessful'"),
    ],
)
def test_a_pattern_that_matches_nothing(value, place, as_text):
    found = pattern(json.dumps(value) if as_text else value)
    assert_finds("UC-ALM-019", found, place="Rule EventPattern")
    assert_finds("UC-ALM-019", found, place=place)
    assert ids(found) == {"UC-ALM-019"}


@pytest.mark.parametrize(
    "value",
    [
        named("EC2 Spot Instance Interruption Warning"),
        named("Capacity Block Reservation Delivered"),
        named("EC2 Instance Launch Unsuccessful", "aws.autoscaling"),
        named("Something New Altogether"),
        named("Spot Interruption Warning", "own.scheduler"),
        named("AWS API Call via CloudTrail", "aws.sagemaker"),
        named("SageMaker Endpoint State Change", "aws.sagemaker"),
        {"source": ["aws.ec2", "aws.autoscaling"], "detail-type": ["EC2 Instance Launch Successful"]},
        {"source": [{"prefix": "aws."}], "detail-type": [{"prefix": "EC2 Spot"}], "$or": []},
        {"source": ["aws.health"], "detail": {"detail_type": ["x"]}, "account": ["111122223333"]},
    ],
)
def test_patterns_that_can_match(value):
    assert_passes("UC-ALM-019", pattern(value))
    assert_passes("UC-ALM-019", pattern(json.dumps(value)))


def test_a_rule_on_a_schedule_has_no_pattern():
    assert_passes("UC-ALM-019", template(Rule=resource("AWS::Events::Rule", ScheduleExpression="rate(1 hour)")))


def test_patterns_that_are_not_known():
    assert_not_judged("UC-ALM-019", pattern({"Ref": "Own"}))
    assert_not_judged("UC-ALM-019", pattern(named({"Ref": "Own"})))
    assert_not_judged("UC-ALM-019", pattern("{no json"))
