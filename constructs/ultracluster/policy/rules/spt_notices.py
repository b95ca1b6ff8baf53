"""Rules on what happens when Spot instances are interrupted, and on the bootstrap of every launch template."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ultracluster.facts.compute_limits import limit_list
from ultracluster.plan.mime import MARKER
from ultracluster.policy.graph.events import EVENT_RULE, MARK, hears, is_heard, pattern_texts
from ultracluster.policy.graph.fleets import AUTO_SCALING_GROUP, EC2_FLEET, SPOT_FLEET
from ultracluster.policy.graph.launch_templates import named_launch_template, uses_of
from ultracluster.policy.graph.roles import Statement, statements_of
from ultracluster.policy.graph.spot import buys_spot, policy_launch_templates
from ultracluster.policy.graph.user_data import user_data
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_QUEUE = "AWS::SQS::Queue"
_KEY, _ALIAS = "AWS::KMS::Key", "AWS::KMS::Alias"
_MANAGED_KEY = "alias/aws/sqs"
_EVENTS = "events.amazonaws.com"
_NEEDED = ("kms:Decrypt", "kms:GenerateDataKey")
# What a handler on the node asks the instance metadata service for; and how the settings of our own nodes say so.
_POLLED = "spot/instance-action"
_WATCHED = '"spot":true'
_UNKNOWN = "?"
_ACCOUNT_ARN = re.compile(r"arn:[^:]*:ec2:[^:]+:(?:\d{4,12}|\?)(?::|$)")


@rule("UC-SPT-003", on=_QUEUE)
def queue_can_receive(queue: Resource) -> Iterator[Problem]:
    """EventBridge can write into a queue that one of its rules targets."""
    key = queue.get("KmsMasterKeyId")
    if not key.exists or not any(_targets(found, queue) for found in queue.referrers(EVENT_RULE)):
        return
    if key.is_scalar and key.known_text(_UNKNOWN).endswith(_MANAGED_KEY):
        yield Problem(key, f"{key.shown} is a key that EventBridge cannot use, so its messages are dropped")
        return
    made = _key_of(key)
    if not _lets_events_through(made):
        message = f"the policy of key {made} does not let {_EVENTS} decrypt and generate data keys"
        yield Problem(key, message, f"allow {_EVENTS} {' and '.join(_NEEDED)}")


def _targets(found: Resource, queue: Resource) -> bool:
    for target in found.get("Targets").items():
        with target.judged_apart():
            if target["Arn"].resource(_QUEUE) == queue:
                return True
    return False


def _key_of(value: Value) -> Resource:
    found = value.resource(_KEY, _ALIAS)
    if found is not None and found.type == _ALIAS:
        return _key_of(found.get("TargetKeyId"))
    if found is None:
        raise NotKnown(f"the policy of key {value.shown}")
    return found


def _lets_events_through(key: Resource) -> bool:
    statements = [one for one in statements_of(key.get("KeyPolicy"), key) if one.allows and _is_for_events(one)]
    return all(any(one.covers(action) for one in statements) for action in _NEEDED)


def _is_for_events(statement: Statement) -> bool:
    principal = statement.where["Principal"]
    if not principal.is_object:
        return principal.exists and principal.text() == "*"
    everybody = any(value.is_scalar and value.known_text() == "*" for value in principal["AWS"].one_or_many())
    return everybody or any(value.text() == _EVENTS for value in principal["Service"].one_or_many())


@rule("UC-SPT-004", on=(AUTO_SCALING_GROUP, EC2_FLEET, SPOT_FLEET))
def fleet_hears_both_notices(consumer: Resource) -> Iterator[Problem]:
    """In an app with Spot instances something hears of interruptions and of rebalance recommendations."""
    if not consumer.assembly.is_app or not buys_spot(consumer):
        return
    missing = [name for name in limit_list("spot_notices") if not is_heard(consumer.assembly, [name])]
    if missing and not any(_polls(use.launch_template) for use in uses_of(consumer)):
        message = f"nothing in the app hears {' or '.join(missing)}, and no user data polls for them"
        yield Problem(consumer, message)


def _polls(launch_template: Resource) -> bool:
    data = user_data(launch_template)
    if data is None:
        return False
    if _POLLED in data.text or (MARKER in data.text and _WATCHED in data.text):
        return True
    if data.most_bytes is None:
        raise NotKnown("whether the user data polls for notices: a part of it is not known")
    return False


@rule("UC-SPT-006", on=AUTO_SCALING_GROUP)
def bootstrap_in_every_launch_template(group: Resource) -> Iterator[Problem]:
    """Where the base launch template of a policy sets its nodes up, those of overrides do so too."""
    written = group.get("MixedInstancesPolicy", "LaunchTemplate", "LaunchTemplateSpecification")
    own = [value for value in policy_launch_templates(group) if value.label != written.label]
    if not own or not written.exists:
        return
    base = _at_hand(written)
    if not _has_user_data(base):
        return
    marked = _is_marked(base)
    for specification in own:
        with specification.judged_apart():
            other = _at_hand(specification)
            if not _has_user_data(other) or (marked and not _is_marked(other)):
                what = f"the bootstrap of {base}" if marked else f"user data, and {base} has some"
                yield Problem(specification, f"launch template {other} does not carry {what}")


def _at_hand(specification: Value) -> Resource:
    found = named_launch_template(specification)
    if found is None:
        raise NotKnown("the user data of a launch template that is not in the templates")
    return found


def _has_user_data(launch_template: Resource) -> bool:
    return launch_template.get("LaunchTemplateData", "UserData").exists


def _is_marked(launch_template: Resource) -> bool:
    """Whether the user data is the bootstrap of this library; its first line tells.

    Raises:
        NotKnown: how it begins is not known.
    """
    data = user_data(launch_template)
    return data is not None and (MARKER in data.text or MARKER in data.first)


@rule("UC-SPT-013", on=EVENT_RULE)
def pattern_takes_the_arns_of_notices(found: Resource) -> Iterator[Problem]:
    """A rule for interruption warnings does not wait for an ARN with Region and account."""
    listed = pattern_texts(found, "resources") if found.get("EventPattern").exists else None
    if listed is None or not hears(found, limit_list("spot_notices")[0]):
        return
    for entry in listed:
        if isinstance(entry, NotKnown):
            found.world.doubts.append(entry.reason)
        elif _ACCOUNT_ARN.match(entry.text.replace(MARK, _UNKNOWN)):
            shown = entry.text.replace(MARK, "...")
            message = f"{shown} has an account, the ARN of a Spot interruption warning has the zone alone"
            yield Problem(entry.where, message)
            return
