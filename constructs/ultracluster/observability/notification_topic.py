"""The topic that tells people: encrypted with a key that the publishing services may use, over TLS only.

With the AWS managed key (`alias/aws/sns`) no service could publish, and nothing would say so. It defines one key and
one topic with its policy; the key is billed monthly.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct

__all__ = ["NotificationTopic"]

_USE_KEY = ("kms:Decrypt", "kms:GenerateDataKey*")


class NotificationTopic(Construct):
    """An SNS topic for alarms, events, scaling notices and budgets.

    Example:
        topic = NotificationTopic(self, "Oncall", emails=["ml-oncall@example.com"])

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        emails: addresses that are subscribed; each has to confirm once.
        encryption_key: a key to use in place of an own one. Its policy is extended if it is a key of this app; else it
            has to let the services in by itself.
        removal_policy: of the own key; a topic holds no data, so it goes with the stack.

    Attributes:
        topic: where to publish and to subscribe.
        encryption_key: the key of the topic.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        emails: Sequence[str] = (),
        encryption_key: kms.IKey | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.DESTROY,
    ) -> None:
        super().__init__(scope, construct_id)
        self.encryption_key: kms.IKey = encryption_key or kms.Key(
            self,
            "Key",
            description="Notifications of the cluster",
            enable_key_rotation=True,
            removal_policy=removal_policy,
        )
        self.topic = sns.Topic(self, "Resource", master_key=self.encryption_key, enforce_ssl=True)
        stack = cdk.Stack.of(self)
        for statement in self._key_statements(stack):
            self.encryption_key.add_to_resource_policy(statement)
        for statement in self._topic_statements(stack):
            self.topic.add_to_resource_policy(statement)
        for email_id, email in _subscriptions(emails).items():
            sns.Subscription(self, email_id, topic=self.topic, protocol=sns.SubscriptionProtocol.EMAIL, endpoint=email)

    def _key_statements(self, stack: cdk.Stack) -> list[iam.PolicyStatement]:
        """Who may use the key. EventBridge sends KMS no source: with a condition its events would be dropped."""
        statements = [
            _statement(f"{sid}UsesKey", service, _USE_KEY, "*", condition)
            for sid, service, condition in _publishers(stack)
        ]
        # Auto Scaling publishes with its service-linked role, which may not exist before the first group: no principal
        # can name it yet, a condition can.
        role = stack.format_arn(
            service="iam",
            region="",
            resource="role",
            resource_name="aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling*",
        )
        statements.append(
            iam.PolicyStatement(
                sid="AutoScalingUsesKey",
                principals=[iam.AnyPrincipal()],
                actions=list(_USE_KEY),
                resources=["*"],
                conditions={
                    "ArnLike": {"aws:PrincipalArn": role},
                    "StringEquals": {"kms:CallerAccount": stack.account},
                },
            )
        )
        return statements

    def _topic_statements(self, stack: cdk.Stack) -> list[iam.PolicyStatement]:
        arn = self.topic.topic_arn
        return [
            _statement(f"{sid}Publishes", service, ("sns:Publish",), arn, condition)
            for sid, service, condition in _publishers(stack)
        ]


def _publishers(stack: cdk.Stack) -> list[tuple[str, str, Mapping[str, Mapping[str, str]]]]:
    """Statement name, service and the condition that ties it to this account."""
    account = {"StringEquals": {"aws:SourceAccount": stack.account}}
    alarms = stack.format_arn(
        service="cloudwatch", resource="alarm", resource_name="*", arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
    )
    budgets = stack.format_arn(service="budgets", region="", resource="*", arn_format=cdk.ArnFormat.NO_RESOURCE_NAME)
    return [
        ("CloudWatch", "cloudwatch.amazonaws.com", {**account, "ArnLike": {"aws:SourceArn": alarms}}),
        ("Budgets", "budgets.amazonaws.com", {**account, "ArnLike": {"aws:SourceArn": budgets}}),
        ("EventBridge", "events.amazonaws.com", {}),
    ]


def _statement(
    sid: str, service: str, actions: Sequence[str], resource: str, condition: Mapping[str, Mapping[str, str]]
) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid=sid,
        principals=[iam.ServicePrincipal(service)],
        actions=list(actions),
        resources=[resource],
        conditions={operator: dict(pairs) for operator, pairs in condition.items()},
    )


def _subscriptions(emails: Sequence[str]) -> dict[str, str]:
    """Addresses by ids that follow from the address alone, so that the order of the list does not matter.

    Addresses that differ in their punctuation only get a digest, all of them.
    """
    once = tuple(dict.fromkeys(emails))
    plain = Counter(map(_id, once))
    return {f"Email{_id(email)}{_digest(email) if plain[_id(email)] > 1 else ''}": email for email in once}


def _id(email: str) -> str:
    return "".join(character for character in email.title() if character.isalnum())


def _digest(email: str) -> str:
    return hashlib.sha256(email.encode()).hexdigest()[:8]
