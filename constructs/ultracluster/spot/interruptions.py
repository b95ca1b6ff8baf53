"""Spot interruptions of one fleet: EventBridge rules, one encrypted queue for programs, a topic for people.

EC2 sends a warning two minutes before it takes an instance, often a rebalance recommendation before that, and a state
change when it is gone. None of these events names an Auto Scaling group, and their ARNs carry a zone in place of Region
and account, so no rule can filter for a fleet: a consumer compares `detail.instance-id` with the nodes of its group.

The queue uses SQS-managed encryption, which EventBridge can write to. With the AWS managed key (`alias/aws/sqs`) it
could not, and every notice would be dropped without an error anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ultracluster.plan.names import interruption_queue_names
from ultracluster.spot.defaults import DEAD_LETTER_RETENTION_S, MAX_RECEIVES, NOTICE_RETENTION_S

__all__ = ["SpotInterruptions"]

_GONE: Final = ("shutting-down", "stopping", "stopped", "terminated")
_EVENTS_SERVICE: Final = "events.amazonaws.com"


class SpotInterruptions(Construct):
    """Rules, queue, dead-letter queue and topic for the interruptions of one Spot fleet.

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        fleet_name: literal name of the Auto Scaling group; the queues are named after it.
        topic: topic for people. Its policy, and that of its key, have to let `events.amazonaws.com` publish. Without
            one, a topic with a customer key of its own is made (the key is billed monthly).

    Attributes:
        queue_name, dead_letter_queue_name: plain text, known before deployment.
        queue, dead_letter_queue, queue_policy: the queues and their common policy.
        topic, topic_key: where people subscribe; `topic_key` is `None` for a given topic.
        rules: by kind: `interruption`, `rebalance`, `state-change`. State changes go to the queue alone.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, fleet_name: str, topic: sns.ITopic | None = None
    ) -> None:
        super().__init__(scope, construct_id)
        self.queue_name, self.dead_letter_queue_name = interruption_queue_names(fleet_name)
        self.dead_letter_queue = sqs.CfnQueue(
            self,
            "DeadLetterQueue",
            queue_name=self.dead_letter_queue_name,
            sqs_managed_sse_enabled=True,
            message_retention_period=DEAD_LETTER_RETENTION_S,
        )
        self.queue = self._queue(self.dead_letter_queue.attr_arn)
        self.topic_key: kms.Key | None = None
        self.topic = topic or self._topic(fleet_name)
        self.rules = self._rules(fleet_name)
        self.queue_policy = self._queue_policy()

    def _queue(self, dead_letter_arn: str) -> sqs.CfnQueue:
        return sqs.CfnQueue(
            self,
            "Queue",
            queue_name=self.queue_name,
            sqs_managed_sse_enabled=True,
            message_retention_period=NOTICE_RETENTION_S,
            redrive_policy={"deadLetterTargetArn": dead_letter_arn, "maxReceiveCount": MAX_RECEIVES},
        )

    def _topic(self, fleet_name: str) -> sns.ITopic:
        self.topic_key = kms.Key(
            self,
            "TopicKey",
            description=f"Spot notices of {fleet_name} for people",
            enable_key_rotation=True,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        service = iam.ServicePrincipal(_EVENTS_SERVICE)
        self.topic_key.add_to_resource_policy(
            iam.PolicyStatement(
                sid="EventBridgeEncrypts",
                principals=[service],
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                resources=["*"],
            )
        )
        topic = sns.Topic(self, "Topic", master_key=self.topic_key, enforce_ssl=True)
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid="EventBridgePublishes",
                principals=[service],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
            )
        )
        return topic

    def _rules(self, fleet_name: str) -> Mapping[str, events.CfnRule]:
        target = events.CfnRule.TargetProperty
        dead_letters = events.CfnRule.DeadLetterConfigProperty(arn=self.dead_letter_queue.attr_arn)
        queue = target(id="Queue", arn=self.queue.attr_arn, dead_letter_config=dead_letters)
        people = target(id="People", arn=self.topic.topic_arn, dead_letter_config=dead_letters)
        both = [queue, people]
        return {
            "interruption": self._rule("Interruption", "EC2 Spot Instance Interruption Warning", both, fleet_name),
            "rebalance": self._rule("Rebalance", "EC2 Instance Rebalance Recommendation", both, fleet_name),
            "state-change": self._rule(
                "StateChange", "EC2 Instance State-change Notification", [queue], fleet_name, {"state": list(_GONE)}
            ),
        }

    def _rule(
        self,
        construct_id: str,
        detail_type: str,
        targets: Sequence[events.CfnRule.TargetProperty],
        fleet_name: str,
        detail: Mapping[str, Sequence[str]] | None = None,
    ) -> events.CfnRule:
        pattern: dict[str, object] = {"source": ["aws.ec2"], "detail-type": [detail_type]}
        if detail is not None:
            pattern["detail"] = dict(detail)
        return events.CfnRule(
            self,
            construct_id,
            description=f"{detail_type}, for {fleet_name}",
            event_pattern=pattern,
            targets=list(targets),
        )

    def _queue_policy(self) -> sqs.CfnQueuePolicy:
        """Only these rules may send, and nobody may speak to the queues without TLS."""
        arns = [self.queue.attr_arn, self.dead_letter_queue.attr_arn]
        rules = [rule.attr_arn for rule in self.rules.values()]
        return sqs.CfnQueuePolicy(
            self,
            "QueuePolicy",
            queues=[self.queue.ref, self.dead_letter_queue.ref],
            policy_document={
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Sid": "OwnRulesSend",
                        "Effect": "Allow",
                        "Principal": {"Service": _EVENTS_SERVICE},
                        "Action": "sqs:SendMessage",
                        "Resource": arns,
                        "Condition": {"ArnEquals": {"aws:SourceArn": rules}},
                    },
                    {
                        "Sid": "OnlyTls",
                        "Effect": "Deny",
                        "Principal": {"AWS": "*"},
                        "Action": "sqs:*",
                        "Resource": arns,
                        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                    },
                ],
            },
        )
