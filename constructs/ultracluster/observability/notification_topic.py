"""The topic that tells people: encrypted with a key that the publishing services may use, over TLS only.

With the AWS managed key (`alias/aws/sns`) no service could publish, and nothing would say so. It defines one key and
one topic with its policy; the key is billed monthly.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct

from ultracluster.findings import finding, raise_if_errors
from ultracluster.plan.references import is_unresolved
from ultracluster.values import dataclass

__all__ = ["NotificationTopic"]

_USE_KEY = ["kms:Decrypt", "kms:GenerateDataKey*"]
_Json = Mapping[str, object]

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


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

    Raises:
        FindingsError: an address is none.

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
        raise_if_errors(
            finding("UC-API-011", f"{self.node.path}.emails[{index}]", f"{email!r} is no e-mail address")
            for index, email in enumerate(emails)
            if not is_unresolved(email) and _EMAIL.fullmatch(email) is None
        )
        publishers = _publishers(cdk.Stack.of(self))
        key_statements = [*(_lets_use(publisher) for publisher in publishers), _auto_scaling(cdk.Stack.of(self))]
        self.encryption_key: kms.IKey = encryption_key or kms.Key(
            self,
            "Key",
            description="Notifications of the cluster",
            enable_key_rotation=True,
            removal_policy=removal_policy,
        )
        self.topic = sns.Topic(self, "Resource", master_key=self.encryption_key, enforce_ssl=True)
        for statement in key_statements:
            self.encryption_key.add_to_resource_policy(iam.PolicyStatement.from_json(statement))
        arn = self.topic.topic_arn
        for publisher in publishers:
            self.topic.add_to_resource_policy(iam.PolicyStatement.from_json(_lets_publish(publisher, arn)))
        for email_id, email in _subscriptions(emails).items():
            sns.Subscription(self, email_id, topic=self.topic, protocol=sns.SubscriptionProtocol.EMAIL, endpoint=email)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Publisher:
    """A service that publishes, and the condition that ties it to this account."""

    name: str
    service: str
    condition: _Json


def _publishers(stack: cdk.Stack) -> tuple[_Publisher, ...]:
    account = {"StringEquals": {"aws:SourceAccount": stack.account}}
    alarms = stack.format_arn(
        service="cloudwatch", resource="alarm", resource_name="*", arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
    )
    budgets = stack.format_arn(service="budgets", region="", resource="*", arn_format=cdk.ArnFormat.NO_RESOURCE_NAME)
    return (
        _Publisher(
            name="CloudWatch",
            service="cloudwatch.amazonaws.com",
            condition={**account, "ArnLike": {"aws:SourceArn": alarms}},
        ),
        _Publisher(
            name="Budgets",
            service="budgets.amazonaws.com",
            condition={**account, "ArnLike": {"aws:SourceArn": budgets}},
        ),
        # EventBridge sends KMS no source: with a condition its events would be dropped.
        _Publisher(name="EventBridge", service="events.amazonaws.com", condition={}),
    )


def _lets_use(publisher: _Publisher) -> _Json:
    return _allow(f"{publisher.name}UsesKey", {"Service": publisher.service}, _USE_KEY, "*", publisher.condition)


def _lets_publish(publisher: _Publisher, topic_arn: str) -> _Json:
    return _allow(
        f"{publisher.name}Publishes", {"Service": publisher.service}, "sns:Publish", topic_arn, publisher.condition
    )


def _auto_scaling(stack: cdk.Stack) -> _Json:
    # Auto Scaling publishes with its service-linked role, which may not exist before the first group: no principal can
    # name it yet, a condition can.
    role = stack.format_arn(
        service="iam",
        region="",
        resource="role",
        resource_name="aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling*",
    )
    condition = {"ArnLike": {"aws:PrincipalArn": role}, "StringEquals": {"kms:CallerAccount": stack.account}}
    return _allow("AutoScalingUsesKey", {"AWS": "*"}, _USE_KEY, "*", condition)


def _allow(sid: str, principal: _Json, actions: str | list[str], resource: str, condition: _Json) -> _Json:
    statement = {"Sid": sid, "Effect": "Allow", "Principal": principal, "Action": actions, "Resource": resource}
    return {**statement, "Condition": condition} if condition else statement


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
