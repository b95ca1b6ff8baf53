"""The topic: encrypted, TLS only, and open to the services that have to publish."""

from __future__ import annotations

import pytest
from aws_cdk import aws_kms as kms

from support.linting import lint_errors
from support.nag import nag_report, reasons, unacknowledged
from support.templates import all_properties, only, resources
from ultracluster.findings import FindingsError
from ultracluster.observability.notification_topic import NotificationTopic

ALARMS = "arn:aws:cloudwatch:us-east-1:111122223333:alarm:*"


@pytest.fixture
def template(stack, synth):
    NotificationTopic(stack, "Oncall", emails=["ml-oncall@example.com", "lead@example.com"])
    return synth(stack)


def statements(document, sid):
    (found,) = [statement for statement in document["Statement"] if statement.get("Sid") == sid]
    return found


def test_the_topic_is_encrypted_with_a_rotating_key_of_its_own(template):
    (key_id,) = resources(template, "AWS::KMS::Key")
    assert only(template, "AWS::SNS::Topic")["KmsMasterKeyId"] == {"Fn::GetAtt": [key_id, "Arn"]}
    assert only(template, "AWS::KMS::Key")["EnableKeyRotation"] is True


@pytest.mark.parametrize("service", ["cloudwatch", "budgets", "events"])
def test_services_may_use_the_key_and_publish(template, service):
    name = {"cloudwatch": "CloudWatch", "budgets": "Budgets", "events": "EventBridge"}[service]
    for policy, sid, actions in (
        (only(template, "AWS::KMS::Key")["KeyPolicy"], f"{name}UsesKey", ["kms:Decrypt", "kms:GenerateDataKey*"]),
        (only(template, "AWS::SNS::TopicPolicy")["PolicyDocument"], f"{name}Publishes", "sns:Publish"),
    ):
        statement = statements(policy, sid)
        assert statement["Effect"] == "Allow"
        assert statement["Principal"] == {"Service": f"{service}.amazonaws.com"}
        assert statement["Action"] == actions


def test_alarms_and_budgets_only_of_this_account(template):
    key = only(template, "AWS::KMS::Key")["KeyPolicy"]
    for sid, arn in (("CloudWatchUsesKey", ALARMS), ("BudgetsUsesKey", "arn:aws:budgets::111122223333:*")):
        assert statements(key, sid)["Condition"] == {
            "StringEquals": {"aws:SourceAccount": "111122223333"},
            "ArnLike": {"aws:SourceArn": arn},
        }


def test_event_bridge_has_no_condition_because_its_requests_to_kms_carry_no_source(template):
    assert "Condition" not in statements(only(template, "AWS::KMS::Key")["KeyPolicy"], "EventBridgeUsesKey")


def test_auto_scaling_is_let_in_by_its_role_which_need_not_exist_yet(template):
    statement = statements(only(template, "AWS::KMS::Key")["KeyPolicy"], "AutoScalingUsesKey")
    assert statement["Condition"]["StringEquals"] == {"kms:CallerAccount": "111122223333"}
    assert statement["Condition"]["ArnLike"]["aws:PrincipalArn"].endswith(
        ":role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling*"
    )


def test_nobody_publishes_without_tls(template):
    denied = [
        statement
        for statement in only(template, "AWS::SNS::TopicPolicy")["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny"
    ]
    assert [statement["Condition"] for statement in denied] == [{"Bool": {"aws:SecureTransport": "false"}}]


def test_subscriptions_follow_from_the_address_and_not_from_its_place(template, make_app, synth):
    import aws_cdk as cdk

    other = cdk.Stack(make_app(), "Test")
    NotificationTopic(other, "Oncall", emails=["lead@example.com"])
    both, one = resources(template, "AWS::SNS::Subscription"), resources(synth(other), "AWS::SNS::Subscription")
    assert set(one) < set(both)
    assert {body["Endpoint"] for body in all_properties(template, "AWS::SNS::Subscription")} == {
        "ml-oncall@example.com",
        "lead@example.com",
    }
    assert {body["Protocol"] for body in all_properties(template, "AWS::SNS::Subscription")} == {"email"}


def test_a_given_key_is_used_and_let_the_services_in(stack, synth):
    given = kms.Key(stack, "Own")
    topic = NotificationTopic(stack, "Oncall", encryption_key=given)
    assert topic.encryption_key is given
    template = synth(stack)
    assert len(resources(template, "AWS::KMS::Key")) == 1
    assert statements(only(template, "AWS::KMS::Key")["KeyPolicy"], "CloudWatchUsesKey")


def test_the_template_passes_the_registry_schemas(template):
    assert lint_errors(template) == []


def test_cdk_nag_finds_nothing_and_nothing_had_to_be_acknowledged(app, stack):
    NotificationTopic(stack, "Oncall", emails=["ml-oncall@example.com"])
    report = nag_report(app)
    assert unacknowledged(report) == []
    assert reasons(report) == {}


def test_addresses_that_differ_in_their_punctuation_only_are_all_subscribed(stack, synth):
    emails = ["a.b@example.com", "ab@example.com", "lead@example.com", "lead@example.com"]
    NotificationTopic(stack, "Oncall", emails=emails)
    found = resources(synth(stack), "AWS::SNS::Subscription")
    assert sorted(body["Properties"]["Endpoint"] for body in found.values()) == sorted(set(emails))
    (plain,) = [key for key, body in found.items() if body["Properties"]["Endpoint"] == "lead@example.com"]
    assert plain.startswith("OncallEmailLeadExampleCom")


def test_what_is_no_address_is_told_with_its_place(stack):
    with pytest.raises(FindingsError, match=r"Test/Odd\.emails\[1\]: 'oncall' is no e-mail address; .*\[UC-API-011\]"):
        NotificationTopic(stack, "Odd", emails=["ml-oncall@example.com", "oncall"])
