"""UC-ALM-001, 002, 010 and 014: what alarms do, what missing data means, limits, log groups."""

from __future__ import annotations

from typing import Any

import pytest

from support.fabric import template
from support.nodes import area_ids
from support.policy import assert_finds, assert_not_judged, assert_passes

TOPIC = "arn:aws:sns:us-east-1:111122223333:oncall"
OWN = {"Own": {"Type": "String"}}
NONE = {"Ref": "AWS::NoValue"}


def alarm(**properties: Any) -> dict[str, Any]:
    written = {
        "Namespace": "AWS/EC2",
        "MetricName": "StatusCheckFailed",
        "Dimensions": [{"Name": "InstanceId", "Value": "i-0123456789abcdef0"}],
        "Statistic": "Maximum",
        "Period": 60,
        "EvaluationPeriods": 2,
        "Threshold": 0,
        "ComparisonOperator": "GreaterThanThreshold",
        "TreatMissingData": "missing",
        "AlarmActions": [TOPIC],
        **properties,
    }
    return {"Type": "AWS::CloudWatch::Alarm", "Properties": {k: v for k, v in written.items() if v is not None}}


def composite(rule: Any, **properties: Any) -> dict[str, Any]:
    written = {"AlarmRule": rule, "AlarmActions": [TOPIC], **properties}
    return {
        "Type": "AWS::CloudWatch::CompositeAlarm",
        "Properties": {k: v for k, v in written.items() if v is not None},
    }


def ids(*templates: Any) -> set[str]:
    return area_ids("ALM", *templates)


# UC-ALM-001


@pytest.mark.parametrize(
    ("resource", "place"),
    [
        (alarm(AlarmActions=None), "X : it has no action, and nothing in the app listens to it"),
        (alarm(AlarmActions=[]), "X : it has no action"),
        (alarm(ActionsEnabled=False), "X : ActionsEnabled is false"),
        (alarm(AlarmActions=[f"{TOPIC}{at}" for at in range(6)]), "X AlarmActions: 6 actions, a state takes 5"),
        (composite("ALARM(other)", AlarmActions=None), "X : it has no action"),
    ],
)
def test_an_alarm_that_nobody_hears(resource, place):
    assert_finds("UC-ALM-001", template(X=resource), place=place)
    assert ids(template(X=resource)) == {"UC-ALM-001"}


@pytest.mark.parametrize(
    "actions",
    [{"AlarmActions": [TOPIC]}, {"AlarmActions": None, "OKActions": [TOPIC]}, {"AlarmActions": [{"Ref": "Own"}]}],
)
def test_alarms_with_an_action(actions):
    assert_passes("UC-ALM-001", template(OWN, X=alarm(**actions)))


SILENT = {"AlarmActions": None}


@pytest.mark.parametrize(
    "listener",
    [
        composite({"Fn::Sub": "ALARM(${X}) OR FALSE"}),
        composite('ALARM("nodes")'),
        composite("ALARM(other)", ActionsSuppressor={"Fn::GetAtt": "X.Arn"}),
        {
            "Type": "AWS::CodeDeploy::DeploymentGroup",
            "Properties": {"AlarmConfiguration": {"Alarms": [{"Name": {"Ref": "X"}}]}},
        },
        {
            "Type": "AWS::Events::Rule",
            "Properties": {"EventPattern": {"source": ["aws.cloudwatch"]}, "Targets": []},
        },
    ],
)
def test_alarms_that_something_else_uses(listener):
    assert_passes("UC-ALM-001", template(X=alarm(AlarmName="nodes", **SILENT), Listener=listener))


def test_a_dashboard_does_not_listen():
    dashboard = {"Type": "AWS::CloudWatch::Dashboard", "Properties": {"DashboardBody": {"Fn::Sub": "{${X}}"}}}
    assert_finds("UC-ALM-001", template(X=alarm(**SILENT), Board=dashboard))


def test_actions_that_are_left_to_the_user():
    conditions = {"Told": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Own"}, ""]}]}}
    parameters = {"Own": {"Type": "String", "Default": ""}}
    chosen = {"Fn::If": ["Told", [{"Ref": "Own"}], NONE]}
    assert_not_judged("UC-ALM-001", template(parameters, conditions, X=alarm(AlarmActions=chosen)))
    several = {"Own": {"Type": "CommaDelimitedList"}}
    assert_not_judged("UC-ALM-001", template(several, X=alarm(AlarmActions={"Ref": "Own"})))
    handed_on = {**template(X=alarm(**SILENT)), "Outputs": {"Alarm": {"Value": {"Fn::GetAtt": "X.Arn"}}}}
    assert_not_judged("UC-ALM-001", handed_on)


# UC-ALM-002


def test_missing_data_that_nobody_decided():
    assert_finds("UC-ALM-002", template(X=alarm(TreatMissingData=None)), place="X : TreatMissingData is left out")
    assert ids(template(X=alarm(TreatMissingData=None))) == {"UC-ALM-002"}


BEAT = {"Namespace": "UltraCluster", "MetricName": "node_heartbeat", "ComparisonOperator": "LessThanThreshold"}


@pytest.mark.parametrize("treatment", ["notBreaching", "missing", "ignore"])
def test_a_heartbeat_whose_silence_is_no_failure(treatment):
    found = template(X=alarm(**BEAT, TreatMissingData=treatment))
    assert_finds("UC-ALM-002", found, place=f"TreatMissingData: {treatment} on node_heartbeat")
    assert ids(found) == {"UC-ALM-002"}


@pytest.mark.parametrize(
    "resource",
    [
        alarm(TreatMissingData="notBreaching"),
        alarm(**BEAT, TreatMissingData="breaching"),
        alarm(**BEAT, TreatMissingData="missing", InsufficientDataActions=[TOPIC]),
        alarm(**{**BEAT, "ComparisonOperator": "GreaterThanThreshold"}, TreatMissingData="missing"),
    ],
)
def test_missing_data_that_somebody_decided(resource):
    assert_passes("UC-ALM-002", template(X=resource))


def test_a_metric_that_is_not_known():
    beat = {**BEAT, "MetricName": {"Ref": "Own"}}
    assert_not_judged("UC-ALM-002", template(OWN, X=alarm(**beat, TreatMissingData="missing")))


# UC-ALM-010


def queries(*periods: Any) -> dict[str, Any]:
    metric = {"Namespace": "AWS/EC2", "MetricName": "StatusCheckFailed"}
    stats = [
        {"Id": f"m{at}", "MetricStat": {"Metric": metric, "Stat": "Sum", "Period": p}} for at, p in enumerate(periods)
    ]
    return alarm(MetricName=None, Namespace=None, Dimensions=None, Period=None, Metrics=stats)


@pytest.mark.parametrize(
    ("resource", "place"),
    [
        (alarm(Period=45), "X Period: 45 s; periods are 10, 20, 30 s or a multiple of 60 s"),
        (alarm(Period=0), "X Period: 0 s"),
        (alarm(Period="90"), "X Period: 90 s"),
        (queries(60, 45), "X Metrics[1].MetricStat.Period: 45 s"),
        (alarm(Period=300, EvaluationPeriods=289), "289 periods of 300 s are 86700 s, 86400 are allowed"),
        (alarm(Period=3600, EvaluationPeriods=169), "169 periods of 3600 s are 608400 s, 604800 are"),
        (alarm(AlarmName="x" * 256), "X AlarmName: 256 characters, 255 are allowed"),
        (alarm(Dimensions=[{"Name": f"d{at}", "Value": "x"} for at in range(31)]), "X Dimensions: 31 dimensions"),
        (
            composite(" OR ".join(f"ALARM(a{at})" for at in range(101))),
            "X AlarmRule: 101 alarms, a composite alarm takes",
        ),
        (composite("ALARM(a) OR " + " " * 10_240), "characters, 10240 are allowed"),
        (composite("ALARM(a)", AlarmName="x" * 256), "X AlarmName: 256 characters"),
    ],
)
def test_an_alarm_that_cloudwatch_refuses(resource, place):
    assert_finds("UC-ALM-010", template(X=resource), place=place)
    assert ids(template(X=resource)) == {"UC-ALM-010"}


@pytest.mark.parametrize(
    "resource",
    [
        alarm(Period=10),
        alarm(Period=30),
        alarm(Period=300, EvaluationPeriods=288),
        alarm(Period=3600, EvaluationPeriods=168),
        alarm(Period=86400, EvaluationPeriods=7),
        alarm(AlarmName="x" * 255, Dimensions=[{"Name": f"d{at}", "Value": "x"} for at in range(30)]),
        queries(60, 300),
        composite(" OR ".join(f"ALARM(a{at})" for at in range(100))),
    ],
)
def test_alarms_within_the_limits(resource):
    assert_passes("UC-ALM-010", template(X=resource))


@pytest.mark.parametrize("key", ["Period", "EvaluationPeriods"])
def test_limits_that_are_not_known(key):
    assert_not_judged("UC-ALM-010", template(OWN, X=alarm(**{key: {"Ref": "Own"}})))


def test_period_and_periods_under_one_condition():
    conditions = {"Fast": {"Fn::Equals": [{"Ref": "Own"}, "yes"]}}
    parameters = {"Own": {"Type": "String", "Default": "yes"}}

    def made(first: int, second: int) -> dict[str, Any]:
        period = {"Fn::If": ["Fast", 60, 3600]}
        return template(
            parameters, conditions, X=alarm(Period=period, EvaluationPeriods={"Fn::If": ["Fast", first, second]})
        )

    assert_passes("UC-ALM-010", made(1440, 168))
    assert ids(made(1441, 100)) == {"UC-ALM-010"}


# UC-ALM-014


def logs(**properties: Any) -> dict[str, Any]:
    return template(OWN, Log={"Type": "AWS::Logs::LogGroup", "Properties": properties})


def test_logs_without_an_end():
    assert_finds("UC-ALM-014", logs(LogGroupName="/own"), place="Log : RetentionInDays is left out")
    assert_finds("UC-ALM-014", logs(RetentionInDays=31), place="Log RetentionInDays: 31 days, CloudWatch Logs has no")
    assert ids(logs(RetentionInDays=NONE)) == {"UC-ALM-014"}


def test_logs_with_an_end():
    assert_passes("UC-ALM-014", logs(RetentionInDays=30))
    assert_passes("UC-ALM-014", logs(RetentionInDays="365"))
    assert_not_judged("UC-ALM-014", logs(RetentionInDays={"Ref": "Own"}))
