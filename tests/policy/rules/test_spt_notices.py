"""UC-SPT-003, 004, 006 and 013: interruption notices, and the bootstrap of every launch template."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.bootstrap import SLOTS, planned
from support.fabric import batch, group, launch_template, mixed, named, own_ids, template
from support.policy import assert_finds, assert_not_judged, assert_passes
from ultracluster.plan.mime import MARKER

PARAMETERS = {"Unknown": {"Type": "String"}}
WARNING, RECOMMENDATION = "EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation"
TOPIC = "arn:aws:sns:us-east-1:111122223333:topic"


def hears(*names: Any, target: Any = TOPIC, **pattern: Any) -> dict[str, Any]:
    """An EventBridge rule."""
    return {
        "Type": "AWS::Events::Rule",
        "Properties": {
            "EventPattern": {"source": ["aws.ec2"], "detail-type": list(names), **pattern},
            "Targets": [{"Id": "t", "Arn": target}],
        },
    }


# UC-SPT-003

QUEUE = {"Fn::GetAtt": ["Queue", "Arn"]}


def queue(**more: Any) -> dict[str, Any]:
    return {"Type": "AWS::SQS::Queue", "Properties": more}


def key(actions: Any = ("kms:Decrypt", "kms:GenerateDataKey*"), principal: Any = None) -> dict[str, Any]:
    statements = [
        {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::111122223333:root"}, "Action": "kms:*", "Resource": "*"},
        {
            "Effect": "Allow",
            "Principal": principal or {"Service": "events.amazonaws.com"},
            "Action": list(actions) if isinstance(actions, tuple) else actions,
            "Resource": "*",
        },
    ]
    return {"Type": "AWS::KMS::Key", "Properties": {"KeyPolicy": {"Version": "2012-10-17", "Statement": statements}}}


def targeted(made: dict[str, Any], **more: Any) -> dict[str, Any]:
    return template(PARAMETERS, Queue=made, Rule=hears(WARNING, target=QUEUE), **more)


KEY, ARN = {"Ref": "Key"}, {"Fn::GetAtt": "Key.Arn"}


@pytest.mark.parametrize(
    "managed",
    [
        "alias/aws/sqs",
        "arn:aws:kms:us-east-1:111122223333:alias/aws/sqs",
        {"Fn::Sub": "arn:aws:kms:${AWS::Region}:${AWS::AccountId}:alias/aws/sqs"},
    ],
)
def test_a_queue_with_the_managed_key_of_sqs(managed):
    found = targeted(queue(KmsMasterKeyId=managed))
    assert_finds("UC-SPT-003", found, place="Queue KmsMasterKeyId: ")
    assert own_ids(found) == {"UC-SPT-003"}


@pytest.mark.parametrize(
    "made",
    [
        key("kms:Decrypt"),
        key(("kms:GenerateDataKey*", "kms:Encrypt")),
        key(principal={"Service": "sns.amazonaws.com"}),
        {"Type": "AWS::KMS::Key", "Properties": {"KeyPolicy": {"Statement": []}}},
    ],
)
def test_a_customer_key_that_keeps_eventbridge_out(made):
    found = targeted(queue(KmsMasterKeyId=ARN), Key=made)
    assert_finds(
        "UC-SPT-003", found, place="Queue KmsMasterKeyId: the policy of key Key does not let events.amazonaws.com"
    )
    assert own_ids(found) == {"UC-SPT-003"}


@pytest.mark.parametrize(
    ("made", "more"),
    [
        (queue(), {}),
        (queue(SqsManagedSseEnabled=True), {}),
        (queue(KmsMasterKeyId=KEY), {"Key": key()}),
        (queue(KmsMasterKeyId=ARN), {"Key": key("kms:*")}),
        (queue(KmsMasterKeyId=KEY), {"Key": key(principal="*")}),
        (queue(KmsMasterKeyId=KEY), {"Key": key(principal={"Service": ["sns.amazonaws.com", "events.amazonaws.com"]})}),
        (
            queue(KmsMasterKeyId={"Ref": "Named"}),
            {
                "Key": key(),
                "Named": {"Type": "AWS::KMS::Alias", "Properties": {"AliasName": "alias/q", "TargetKeyId": KEY}},
            },
        ),
    ],
)
def test_a_queue_that_can_receive(made, more):
    assert_passes("UC-SPT-003", targeted(made, **more))


def test_a_queue_that_no_rule_targets():
    assert_passes("UC-SPT-003", template(Queue=queue(KmsMasterKeyId="alias/aws/sqs"), Rule=hears(WARNING)))


@pytest.mark.parametrize("of_elsewhere", ["alias/queues", {"Ref": "Unknown"}, {"Fn::ImportValue": "key"}])
def test_a_key_of_elsewhere_is_not_judged(of_elsewhere):
    assert_not_judged("UC-SPT-003", targeted(queue(KmsMasterKeyId=of_elsewhere)))


def test_a_rule_in_a_sibling_template():
    shared = {
        "Resources": {"Queue": queue(KmsMasterKeyId="alias/aws/sqs")},
        "Outputs": {"Q": {"Value": QUEUE, "Export": {"Name": "queue"}}},
    }
    sibling = template(Rule=hears(WARNING, target={"Fn::ImportValue": "queue"}))
    assert own_ids(shared, sibling) == {"UC-SPT-003"}


# UC-SPT-004

SHARE = {"OnDemandPercentageAboveBaseCapacity": 0, "SpotAllocationStrategy": "price-capacity-optimized"}
P5 = {"InstanceType": "p5.48xlarge"}
PLAIN = launch_template(None, "p5.48xlarge")
FLEET = mixed([P5], InstancesDistribution=SHARE, CapacityRebalance=True)
SPOT_FLEET = {
    "Type": "AWS::EC2::SpotFleet",
    "Properties": {
        "SpotFleetRequestConfigData": {
            "TargetCapacity": 2,
            "LaunchTemplateConfigs": [{"LaunchTemplateSpecification": named()}],
        }
    },
}
EC2_FLEET = {
    "Type": "AWS::EC2::EC2Fleet",
    "Properties": {
        "TargetCapacitySpecification": {"TotalTargetCapacity": 2, "DefaultTargetCapacityType": "spot"},
        "LaunchTemplateConfigs": [{"LaunchTemplateSpecification": named()}],
    },
}


@pytest.mark.parametrize("nodes", [FLEET, SPOT_FLEET, EC2_FLEET])
def test_an_app_that_hears_nothing(nodes):
    found = template(Lt=PLAIN, Nodes=nodes)
    assert_finds(
        "UC-SPT-004", found, place=f"Nodes : nothing in the app hears {WARNING} or {RECOMMENDATION}", is_app=True
    )
    assert own_ids(found, is_app=True) == {"UC-SPT-004"}
    # A lone template says nothing of what stands beside it.
    assert_passes("UC-SPT-004", found)


@pytest.mark.parametrize(("heard", "missing"), [(WARNING, RECOMMENDATION), (RECOMMENDATION, WARNING)])
def test_an_app_that_hears_one_of_the_two(heard, missing):
    found = template(Lt=PLAIN, Nodes=FLEET, Rule=hears(heard))
    assert_finds("UC-SPT-004", found, place=f"hears {missing}, and no user data", is_app=True)


@pytest.mark.parametrize(
    "resources",
    [
        {"Nodes": FLEET, "Rule": hears(WARNING, RECOMMENDATION)},
        {"Nodes": FLEET, "One": hears(WARNING), "Two": hears(RECOMMENDATION)},
        {
            "Nodes": FLEET,
            "Rule": {
                "Type": "AWS::Events::Rule",
                "Properties": {"EventPattern": {"source": ["aws.ec2"]}, "Targets": [{"Id": "t", "Arn": TOPIC}]},
            },
        },
        {"Nodes": mixed([P5])},
        {"Nodes": group()},
        {"Nodes": batch()},
    ],
)
def test_an_app_that_hears_both_or_has_no_spot(resources):
    assert_passes("UC-SPT-004", template(Lt=PLAIN, **resources), is_app=True)


def with_data(text: Any, **more: Any) -> dict[str, Any]:
    return launch_template(None, "p5.48xlarge", UserData={"Fn::Base64": text}, **more)


def test_nodes_that_poll_for_themselves():
    script = "#!/bin/bash\nwhile sleep 5; do curl http://169.254.169.254/latest/meta-data/spot/instance-action; done\n"
    assert_passes("UC-SPT-004", template(Lt=with_data(script), Nodes=FLEET), is_app=True)


def test_our_own_nodes_watch_when_their_settings_say_so():
    for spot in (True, False):
        text = planned(spot=spot).text(SLOTS)
        judge = assert_passes if spot else assert_finds
        judge("UC-SPT-004", template(Lt=with_data(text), Nodes=FLEET), is_app=True)


@pytest.mark.parametrize(
    "resources",
    [
        {"Lt": with_data({"Fn::Sub": "#!/bin/bash\n${Unknown}\n"}), "Nodes": FLEET},
        {"Lt": PLAIN, "Nodes": FLEET, "Rule": hears({"Ref": "Unknown"})},
        {
            "Lt": PLAIN,
            "Nodes": mixed(
                [P5], InstancesDistribution={**SHARE, "OnDemandPercentageAboveBaseCapacity": {"Ref": "Unknown"}}
            ),
        },
    ],
)
def test_what_is_not_known_is_not_judged(resources):
    assert_not_judged("UC-SPT-004", template(PARAMETERS, **resources), is_app=True)


# UC-SPT-006

OTHER = {**P5, "LaunchTemplateSpecification": named("Other")}
SCRIPT = "#!/bin/bash\necho up\n"
BOOTSTRAP = f"#!/bin/bash\n# {MARKER}\necho up\n"


def two(base: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return template(PARAMETERS, Lt=base, Other=other, Nodes=mixed([P5, OTHER]))


@pytest.mark.parametrize(
    ("base", "other", "place"),
    [
        (
            with_data(SCRIPT),
            PLAIN,
            "Overrides[1].LaunchTemplateSpecification: launch template Other does not carry user data",
        ),
        (with_data(BOOTSTRAP), PLAIN, "launch template Other does not carry the bootstrap of Lt"),
        (with_data(BOOTSTRAP), with_data(SCRIPT), "launch template Other does not carry the bootstrap of Lt"),
    ],
)
def test_an_override_without_the_bootstrap(base, other, place):
    assert_finds("UC-SPT-006", two(base, other), place=place)
    assert own_ids(two(base, other)) == {"UC-SPT-006"}


@pytest.mark.parametrize(
    ("base", "other"),
    [(PLAIN, PLAIN), (with_data(SCRIPT), with_data("#!/bin/sh\n")), (with_data(BOOTSTRAP), with_data(BOOTSTRAP))],
)
def test_the_bootstrap_everywhere(base, other):
    assert_passes("UC-SPT-006", two(base, other))


def test_a_single_launch_template():
    assert_passes("UC-SPT-006", template(Lt=with_data(SCRIPT), Nodes=mixed([P5])))


@pytest.mark.parametrize(
    "found",
    [
        two(with_data(BOOTSTRAP), launch_template(None, UserData={"Ref": "Unknown"})),
        template(
            Lt=with_data(SCRIPT), Nodes=mixed([P5, {"LaunchTemplateSpecification": {"LaunchTemplateName": "shared"}}])
        ),
        template(
            Lt=with_data(SCRIPT),
            Nodes=mixed([P5, {"LaunchTemplateSpecification": {"LaunchTemplateId": {"Ref": "Unknown"}}}]),
        ),
    ],
)
def test_user_data_that_is_not_at_hand_is_not_judged(found):
    assert_not_judged("UC-SPT-006", {**found, "Parameters": PARAMETERS})


def test_bootstraps_under_opposite_conditions():
    none = {"Ref": "AWS::NoValue"}
    parameters = {"Full": {"Type": "String", "Default": "no"}}
    conditions = {"IsFull": {"Fn::Equals": [{"Ref": "Full"}, "yes"]}}

    def made(first, second):
        base = launch_template(None, "p5.48xlarge", UserData={"Fn::If": ["IsFull", {"Fn::Base64": SCRIPT}, none]})
        other = launch_template(None, "p5.48xlarge", UserData={"Fn::If": ["IsFull", first, second]})
        return template(parameters, conditions, Lt=base, Other=other, Nodes=mixed([P5, OTHER]))

    assert_passes("UC-SPT-006", made({"Fn::Base64": SCRIPT}, none))
    assert own_ids(made(none, {"Fn::Base64": SCRIPT})) == {"UC-SPT-006"}


# UC-SPT-013


def as_text(rule: dict[str, Any]) -> dict[str, Any]:
    """The same rule with its pattern in one text, as some templates write it."""
    return {
        **rule,
        "Properties": {**rule["Properties"], "EventPattern": json.dumps(rule["Properties"]["EventPattern"])},
    }


ACCOUNT = "arn:aws:ec2:us-east-1:111122223333:instance/i-0123456789abcdef0"
ZONE = "arn:aws:ec2:us-east-1a:instance/i-0123456789abcdef0"


@pytest.mark.parametrize(
    "filtered",
    [
        ACCOUNT,
        {"prefix": "arn:aws:ec2:us-east-1:111122223333:instance/"},
        {"Fn::Sub": "arn:${AWS::Partition}:ec2:${AWS::Region}:${AWS::AccountId}:instance/*"},
    ],
)
def test_a_filter_that_no_warning_passes(filtered):
    found = template(Rule=hears(WARNING, resources=[filtered]))
    assert_finds("UC-SPT-013", found, place="Rule EventPattern.resources[0]")
    assert own_ids(found) == {"UC-SPT-013"}


@pytest.mark.parametrize(
    "rule",
    [
        hears(WARNING),
        hears(WARNING, resources=[ZONE]),
        hears(WARNING, resources=[{"prefix": "arn:aws:ec2:us-east-1"}]),
        hears(WARNING, resources=[{"Fn::Sub": "arn:aws:ec2:${Unknown}:instance/*"}]),
        # The recommendation does carry Region and account.
        hears(RECOMMENDATION, resources=[ACCOUNT]),
        hears("EC2 Instance State-change Notification", resources=[ACCOUNT]),
    ],
)
def test_a_filter_that_warnings_pass(rule):
    assert_passes("UC-SPT-013", template(PARAMETERS, Rule=rule))


@pytest.mark.parametrize(
    "rule", [hears(WARNING, resources={"Ref": "Unknown"}), hears({"Ref": "Unknown"}, resources=[ACCOUNT])]
)
def test_an_unknown_pattern_is_not_judged(rule):
    assert_not_judged("UC-SPT-013", template(PARAMETERS, Rule=rule))


def test_a_pattern_in_one_text():
    found = template(Rule=as_text(hears(WARNING, resources=[{"prefix": ACCOUNT}])))
    assert_finds("UC-SPT-013", found, place=f"Rule EventPattern: {ACCOUNT} has an account")
    assert_passes("UC-SPT-013", template(Rule=as_text(hears(WARNING, resources=[ZONE]))))
    assert_not_judged("UC-SPT-013", template(Rule=as_text(hears(WARNING, resources=[{"wildcard": "*"}]))))
    broken = hears(WARNING)
    broken["Properties"]["EventPattern"] = "{source: aws.ec2}"
    assert_not_judged("UC-SPT-013", template(Rule=broken))


def test_a_rule_in_one_text_is_heard():
    assert_passes(
        "UC-SPT-004", template(Lt=PLAIN, Nodes=FLEET, Rule=as_text(hears(WARNING, RECOMMENDATION))), is_app=True
    )


def test_a_rule_that_runs_by_the_clock():
    rule = {"Type": "AWS::Events::Rule", "Properties": {"ScheduleExpression": "rate(1 day)"}}
    assert_passes("UC-SPT-013", template(Rule=rule))
