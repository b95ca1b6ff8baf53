"""Rules on whether alarms and events arrive: keys of topics, policies of targets, patterns that can match."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from ultracluster.facts.event_names import known_events, pattern_keys, watched_events
from ultracluster.policy.graph.alarms import ALARM, COMPOSITE
from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.event_patterns import MARK, event_pattern, texts_of
from ultracluster.policy.graph.events import EVENT_RULE
from ultracluster.policy.graph.key_policies import key_of
from ultracluster.policy.graph.roles import statements_of
from ultracluster.policy.graph.service_access import KEY_ACTIONS, admits, key_admits, names
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_TOPIC, _QUEUE = "AWS::SNS::Topic", "AWS::SQS::Queue"
_INVOKED = ("AWS::Lambda::Function", "AWS::Lambda::Alias", "AWS::Lambda::Version")
_EVENTS, _ALARMS = "events.amazonaws.com", "cloudwatch.amazonaws.com"
_ACTIONS = ("AlarmActions", "OKActions", "InsufficientDataActions")
_MANAGED_KEY = "alias/aws/sns"
# Targets that EventBridge acts on with a role, never by a policy of the target.
_BY_ROLE = (
    "AWS::Batch::JobQueue",
    "AWS::ECS::Cluster",
    "AWS::StepFunctions::StateMachine",
    "AWS::SSM::Document",
)
# The action that a policy of a target has to allow, and the policies with the property that names the target.
_POLICIES: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    _QUEUE: ("sqs:SendMessage", (("AWS::SQS::QueuePolicy", "Queues"), ("AWS::SQS::QueueInlinePolicy", "Queue"))),
    _TOPIC: ("sns:Publish", (("AWS::SNS::TopicPolicy", "Topics"), ("AWS::SNS::TopicInlinePolicy", "TopicArn"))),
}
_NEAR = 0.93


@rule("UC-ALM-017", on=_TOPIC)
def topic_can_be_written(topic: Resource) -> Iterator[Problem]:
    """Alarms and event rules can publish to an encrypted topic."""
    key = topic.get("KmsMasterKeyId")
    if not key.exists:
        return
    services = [service for service, uses in ((_ALARMS, _alarms_it), (_EVENTS, _targets_it)) if uses(topic)]
    if not services:
        return
    if key.is_scalar and key.known_text("?").endswith(_MANAGED_KEY):
        yield Problem(key, f"{key.shown} admits neither alarms nor event rules, so nothing is ever delivered")
        return
    made = key_of(key)
    if made is None:
        raise NotKnown(f"the policy of key {key.shown}")
    for service in services:
        if not key_admits(made, service):
            message = f"the policy of key {made} does not let {service} write, so nothing is ever delivered"
            yield Problem(key, message, f"allow {service} {' and '.join(KEY_ACTIONS)}*")
            return


def _alarms_it(topic: Resource) -> bool:
    alarms = topic.referrers(ALARM, COMPOSITE)
    return any_known(alarms, lambda alarm: any(names(alarm.get(key), topic) for key in _ACTIONS))


def _targets_it(topic: Resource) -> bool:
    return any_known(topic.referrers(EVENT_RULE), lambda found: bool(_targets(found, topic)))


def _targets(found: Resource, target: Resource) -> list[Value]:
    return [entry for entry in found.get("Targets").items() if entry["Arn"].resource() == target]


@rule("UC-ALM-018", on=EVENT_RULE)
def targets_admit_events(found: Resource) -> Iterator[Problem]:
    """Every target of an event rule lets EventBridge in."""
    for target in found.get("Targets").items():
        with target.judged_apart():
            arn = target["Arn"]
            made = arn.resource()
            if made is not None and not target["RoleArn"].exists:
                message = _closed(made)
                if message:
                    yield Problem(arn, message)


def _closed(target: Resource) -> str:
    """Why EventBridge cannot reach a target; empty when it can, or when the kind of target is not known."""
    if target.type in _BY_ROLE:
        return f"{target} is reached with a role only, and RoleArn is left out"
    if target.type in _POLICIES:
        action, _ = _POLICIES[target.type]
        if not _policy_admits(target):
            return f"no policy lets {_EVENTS} {action} to {target}, so the rule fires and nothing arrives"
    if target.type in _INVOKED and not _permission_admits(target):
        return f"no AWS::Lambda::Permission lets {_EVENTS} invoke {target}, so the rule fires and nothing runs"
    return ""


def _policy_admits(target: Resource) -> bool:
    action, kinds = _POLICIES[target.type]
    for kind, key in kinds:
        for policy in target.referrers(kind):
            statements = statements_of(policy.get("PolicyDocument"), policy)
            if names(policy.get(key), target) and admits(statements, _EVENTS, action):
                return True
    return False


def _permission_admits(target: Resource) -> bool:
    permissions = list(target.assembly.resources("AWS::Lambda::Permission"))
    return any_known(permissions, lambda permission: _is_for_events(permission) and _is_about(permission, target))


def _is_for_events(permission: Resource) -> bool:
    return permission.get("Principal").text("") in (_EVENTS, "*")


def _is_about(permission: Resource, target: Resource) -> bool:
    named = permission.get("FunctionName")
    if named.reference() is not None:
        return named.resource() == target
    name = target.get("FunctionName")
    text = named.text("")
    return name.is_scalar and name.known and name.text() in text.split(":")


@rule("UC-ALM-019", on=EVENT_RULE)
def pattern_can_match(found: Resource) -> Iterator[Problem]:
    """An event pattern asks for what events have, and calls them by their names."""
    pattern = event_pattern(found)
    if pattern is None:
        return
    for key in pattern:
        if key not in pattern_keys():
            message = f"events have no {key}, so the rule never fires"
            yield Problem(_at(found, key), message, "write detail-type" if key == "detail_type" else "")
    sources = texts_of(pattern, "source") or []
    for name in texts_of(pattern, "detail-type") or ():
        if MARK in name or any(MARK in source for source in sources):
            found.world.doubts.append("the name of an event")
        else:
            yield from _misspelt(found, name, sources)


def _misspelt(found: Resource, name: str, sources: list[str]) -> Iterator[Problem]:
    if any(name in known_events(source) for source in sources):
        return
    for source in sources:
        meant = _meant(name, source)
        if meant:
            message = f"{source} sends no {name!r}; the event is called {meant!r}"
            yield Problem(_at(found, "detail-type"), message)
            return


def _at(found: Resource, key: str) -> Value:
    written = found.get("EventPattern")
    return written[key] if written.is_object else written


def _meant(name: str, source: str) -> str:
    """The event whose name is misspelt; empty for a name that is not near any."""
    words = _words(name)
    near: list[tuple[float, str]] = []
    for known in watched_events(source):
        others, ratio = _words(known), SequenceMatcher(None, name.lower(), known.lower()).ratio()
        if ratio >= _NEAR or words == others or _lacks_one(words, others) or _lacks_one(others, words):
            near.append((ratio, known))
    return max(near, default=(0.0, ""))[1]


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", name.lower())


def _lacks_one(short: list[str], long: list[str]) -> bool:
    return len(short) + 1 == len(long) and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))
