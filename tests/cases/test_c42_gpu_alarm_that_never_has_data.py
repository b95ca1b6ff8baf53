"""C42: an alarm sees one emitted dimension set or nothing; agent and alarms of a synthesized fleet are compared."""

from __future__ import annotations

import json

import pytest
from aws_cdk import aws_sns as sns

from support.bootstrap import written_files
from support.compute import data_of, p5
from support.templates import all_properties, user_data
from ultracluster.observability.fleet_alarms import FleetAlarms

# How the agent's documentation makes a metric's name of a section and a measurement.
PREFIX = {"nvidia_gpu": "nvidia_smi_", "efa": "", "mem": "mem_", "disk": "disk_"}
TYPES = ["p5.48xlarge", "p4d.24xlarge", "p6-b200.48xlarge", "trn1.32xlarge", "g6.48xlarge"]


@pytest.fixture(params=TYPES)
def made(request, stack, synth):
    """The agent's configuration and the alarms of a fleet."""
    fleet = p5(stack, instance_type=request.param, auto_scaling_group_name="demo-train")
    topic = sns.Topic.from_topic_arn(stack, "Topic", "arn:aws:sns:us-east-1:111122223333:oncall")
    FleetAlarms(stack, "Alarms", fleet=fleet, topic=topic)
    template = synth(stack)
    files = written_files(user_data(template, data_of(template)))
    return json.loads(files["/opt/ultracluster/agent.json"]), all_properties(template, "AWS::CloudWatch::Alarm")


def emitted(agent) -> set[str]:
    sections = agent["metrics"]["metrics_collected"]
    names = {PREFIX[name] + one for name, body in sections.items() if name in PREFIX for one in body["measurement"]}
    return names | set(sections["statsd"]["drop_original_metrics"])


def watched(alarm):
    if "MetricName" in alarm:
        yield alarm
    for query in alarm.get("Metrics", []):
        if "MetricStat" in query:
            yield query["MetricStat"]["Metric"]


def test_dimensions_stand_at_the_level_of_metrics(made) -> None:
    agent, _ = made
    assert agent["metrics"]["append_dimensions"]["AutoScalingGroupName"] == "${aws:AutoScalingGroupName}"
    assert ["AutoScalingGroupName"] in agent["metrics"]["aggregation_dimensions"]
    for section in agent["metrics"]["metrics_collected"].values():
        assert not {"append_dimensions", "aggregation_dimensions"} & set(section)


def test_every_alarm_on_the_agent_s_namespace_has_data(made) -> None:
    agent, alarms = made
    own = [metric for alarm in alarms for metric in watched(alarm) if not metric["Namespace"].startswith("AWS/")]
    assert own
    for metric in own:
        assert metric["Namespace"] == agent["metrics"]["namespace"]
        assert metric["MetricName"] in emitted(agent)
        assert [one["Name"] for one in metric["Dimensions"]] in agent["metrics"]["aggregation_dimensions"]
        assert metric["Dimensions"] == [{"Name": "AutoScalingGroupName", "Value": "demo-train"}]


def test_missing_data_is_treated_on_purpose(made) -> None:
    _, alarms = made
    assert all(alarm["TreatMissingData"] for alarm in alarms)
