"""Alarms as resources: actions, advice, missing data, dimensions; the dashboard over them."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from aws_cdk import aws_sns as sns

from support.compute import imported_network
from support.linting import lint_errors
from support.nag import nag_report, unacknowledged
from support.templates import all_properties, only, references, resource_types, resources
from support.watched import watched, watched_lustre, watched_spot
from ultracluster.facts.alarms import alarm_facts
from ultracluster.findings import FindingsError
from ultracluster.observability.cluster_dashboard import ClusterDashboard
from ultracluster.observability.fleet_alarms import FleetAlarms
from ultracluster.observability.lustre_alarms import LustreAlarms
from ultracluster.observability.notification_topic import NotificationTopic
from ultracluster.spot.spot_training_fleet import SpotTrainingFleet

TOPIC = "arn:aws:sns:us-east-1:111122223333:oncall"
ALARM = "AWS::CloudWatch::Alarm"


@pytest.fixture
def topic(stack):
    return sns.Topic.from_topic_arn(stack, "Given", TOPIC)


def by_name(template):
    return {body["AlarmName"]: body for body in all_properties(template, ALARM)}


def metrics_of(alarm):
    """Namespace, name and dimensions of everything that an alarm watches."""
    if "MetricName" in alarm:
        yield alarm["Namespace"], alarm["MetricName"], {one["Name"]: one["Value"] for one in alarm["Dimensions"]}
    for query in alarm.get("Metrics", []):
        if "MetricStat" in query:
            metric = query["MetricStat"]["Metric"]
            yield metric["Namespace"], metric["MetricName"], {one["Name"]: one["Value"] for one in metric["Dimensions"]}


def everything(stack, topic):
    train = FleetAlarms(stack, "TrainAlarms", fleet=watched(), topic=topic)
    spot = FleetAlarms(
        stack,
        "SpotAlarms",
        fleet=watched_spot(),
        topic=topic,
        interruption_queue_name="demo-spot-spot",
        interruption_dead_letter_queue_name="demo-spot-spot-dead",
    )
    data = LustreAlarms(
        stack, "DataAlarms", file_system=watched_lustre(), topic=topic, name="demo-data", client_groups=["demo-train"]
    )
    ClusterDashboard(
        stack,
        "Dashboard",
        fleet_alarms=[train, spot],
        lustre_alarms=[data],
        file_systems={"data": watched_lustre()},
        name="demo",
    )


def test_each_alarm_tells_somebody_what_to_do_and_decides_on_missing_data(stack, topic, synth):
    everything(stack, topic)
    alarms = by_name(synth(stack))
    assert len(alarms) == 8 + 10 + 8
    for alarm in alarms.values():
        assert alarm["AlarmActions"] == alarm["OKActions"] == [TOPIC]
        assert "What to do: " in alarm["AlarmDescription"]
        assert alarm["TreatMissingData"] in {"breaching", "notBreaching", "missing"}
        assert ("Metrics" in alarm) != ("MetricName" in alarm)
        assert [query.get("ReturnData", True) for query in alarm.get("Metrics", [{}])].count(True) == 1


def test_a_fleet_is_watched_under_its_own_name_alone(stack, topic, synth):
    FleetAlarms(stack, "Alarms", fleet=watched(), topic=topic)
    template = synth(stack)
    for alarm in all_properties(template, ALARM):
        for namespace, _, dimensions in metrics_of(alarm):
            assert dimensions == {"AutoScalingGroupName": "demo-train"}
            assert namespace in {"UltraCluster", "AWS/EC2", "AWS/AutoScaling"}
    assert references(template["Resources"]) == set(), "nothing of the fleet's stack is referred to"


def test_threshold_namespace_and_further_actions_are_the_callers(stack, topic, synth):
    FleetAlarms(
        stack,
        "Alarms",
        fleet=watched(),
        topic=topic,
        metrics_namespace="Team",
        utilization_threshold_percent=40,
        further_actions=["arn:aws:sns:us-east-1:111122223333:second"],
    )
    idle = by_name(synth(stack))["demo-train-idle-accelerators"]
    assert (idle["Threshold"], idle["Namespace"], len(idle["AlarmActions"])) == (40, "Team", 2)


def test_a_fleet_that_waits_for_jobs_has_no_idle_alarm(stack, topic):
    alarms = FleetAlarms(stack, "Alarms", fleet=watched(), topic=topic, idle_alarm=False)
    assert "idle-accelerators" not in alarms.alarms
    assert len(alarms.alarms) == len(alarms.alarm_arns) == 7


def test_wrong_arguments_are_refused(stack, topic):
    with pytest.raises(FindingsError, match=r"Test/A\.utilization_threshold_percent: 0 is not .*UC-ALM-020"):
        FleetAlarms(stack, "A", fleet=watched(), topic=topic, utilization_threshold_percent=0)
    with pytest.raises(FindingsError, match=r"further_actions: .* takes 5 actions .*\[UC-API-009\]"):
        FleetAlarms(stack, "B", fleet=watched(), topic=topic, further_actions=[TOPIC] * 5)


def test_the_overview_names_every_alarm_and_stays_within_limits(stack, topic, synth):
    pager = sns.Topic.from_topic_arn(stack, "Pager", f"{TOPIC}-pager")
    alarms = FleetAlarms(stack, "Alarms", fleet=watched(), topic=topic, overview_topic=pager)
    template = synth(stack)
    overview = only(template, "AWS::CloudWatch::CompositeAlarm")
    assert overview["AlarmActions"] == [f"{TOPIC}-pager"]
    assert references(overview["AlarmRule"]) == set(resources(template, ALARM))
    assert len(alarms.alarms) <= 100
    assert resource_types(template).total() == 9


def test_a_fleet_of_trainium_is_watched_by_neuron_metrics(stack, topic, synth):
    FleetAlarms(stack, "Alarms", fleet=watched("trn1.32xlarge"), topic=topic)
    names = {name for alarm in all_properties(synth(stack), ALARM) for _, name, _ in metrics_of(alarm)}
    assert "neuroncore_utilization" in names
    assert not any("nvidia" in name or name.startswith("gpu") for name in names)


def test_a_file_system_is_watched_by_queries_over_its_targets(stack, topic, synth):
    LustreAlarms(stack, "Alarms", file_system=watched_lustre(), topic=topic, name="demo-data")
    space = by_name(synth(stack))["demo-data-space"]
    (query,) = space["Metrics"]
    assert query["Period"] == 300
    assert query["Expression"] == (
        'SELECT MAX(StorageCapacityUtilization) FROM SCHEMA("AWS/FSx", FileSystemId, StorageTargetId) '
        "WHERE FileSystemId = 'fs-0123456789abcdef0'"
    )
    assert space["Threshold"] == alarm_facts()["space"].threshold == 85


def test_space_is_not_watched_where_it_is_elastic(stack, topic):
    alarms = LustreAlarms(stack, "Alarms", file_system=watched_lustre(tiering=True), topic=topic)
    assert set(alarms.alarms) == {"network", "disk", "metadata"}


def test_names_of_lustre_alarms_follow_from_the_path_unless_given(stack, topic, synth):
    LustreAlarms(stack, "Alarms", file_system=watched_lustre(), topic=topic)
    assert all(name.startswith("Test") and "Alarms" in name for name in by_name(synth(stack)))


def test_more_groups_than_one_expression_takes_are_a_warning(app, stack, topic):
    groups = [f"g{n}" for n in range(10)]
    alarms = LustreAlarms(stack, "Alarms", file_system=watched_lustre(), topic=topic, client_groups=groups)
    assert "clients" not in alarms.alarms
    messages = app.synth().get_stack_by_name("Test").messages
    assert [message.level.value for message in messages if "UC-ALM-021" in str(message.entry.data)] == ["WARNING"]


def test_the_dashboard_is_one_json_document_that_shows_all_alarms(stack, topic, synth):
    everything(stack, topic)
    template = synth(stack)
    dashboard = only(template, "AWS::CloudWatch::Dashboard")
    body = json.loads(dashboard["DashboardBody"])
    assert dashboard["DashboardName"] == "demo"
    (widget,) = [widget for widget in body["widgets"] if widget["type"] == "alarm"]
    names = {arn.rsplit(":", 1)[1] for arn in widget["properties"]["alarms"]}
    assert names == set(by_name(template))
    assert {widget["properties"].get("region", "us-east-1") for widget in body["widgets"]} == {"us-east-1"}


def test_the_dashboard_takes_ids_that_only_the_deployment_knows(stack, synth):
    import aws_cdk as cdk

    system = watched_lustre()
    parameter = cdk.CfnParameter(stack, "FileSystem")
    late = type(system)(plan=system.plan, file_system_id=parameter.value_as_string)
    ClusterDashboard(stack, "Dashboard", file_systems={"data": late})
    body = only(synth(stack), "AWS::CloudWatch::Dashboard")["DashboardBody"]
    assert references(body) == {"FileSystem"}
    text = "".join(part if isinstance(part, str) else "fs-1" for part in body["Fn::Join"][1])
    assert json.loads(text)["widgets"]


def test_the_template_passes_the_registry_schemas(stack, topic, synth):
    everything(stack, topic)
    assert lint_errors(synth(stack)) == []


def test_cdk_nag_finds_nothing(app, stack):
    everything(stack, NotificationTopic(stack, "Oncall").topic)
    assert unacknowledged(nag_report(app)) == []


def test_fifty_fleets_fit_into_one_template(stack, topic, synth):
    fleets = [FleetAlarms(stack, f"Fleet{n}", fleet=watched(group=f"demo-fleet{n}"), topic=topic) for n in range(50)]
    ClusterDashboard(stack, "Dashboard", fleet_alarms=fleets)
    template = synth(stack)
    assert resource_types(template).total() == 401
    assert len(json.dumps(template, separators=(",", ":"))) < 500_000


def test_alarms_of_a_fleet_construct_follow_its_namespace_and_its_queues(stack, topic, synth):
    """What an alarm is not told it takes from the fleet: under another name it would never have data."""
    network = imported_network(stack, "us-east-1a", "us-east-1b")
    fleet = SpotTrainingFleet(
        stack,
        "Research",
        network=network,
        instance_types=["p5.48xlarge"],
        max_count=2,
        metrics_namespace="Team/Research",
        auto_scaling_group_name="research",
        notification_topic=topic,
    )
    FleetAlarms(stack, "Alarms", fleet=fleet, topic=topic)
    watched_metrics = [metric for alarm in by_name(synth(stack)).values() for metric in metrics_of(alarm)]
    assert {space for space, _, _ in watched_metrics if not space.startswith("AWS/")} == {"Team/Research"}
    queues = {dimensions["QueueName"] for space, _, dimensions in watched_metrics if space == "AWS/SQS"}
    assert queues == {fleet.interruption_queue_name, fleet.interruption_dead_letter_queue_name}


def test_a_file_system_without_a_plan_cannot_be_watched(stack, topic):
    unplanned = SimpleNamespace(plan=None, file_system_id="fs-0123456789abcdef0")
    with pytest.raises(FindingsError, match=r"Test/Data\.file_system: an imported file system .*\[UC-API-010\]"):
        LustreAlarms(stack, "Data", file_system=unplanned, topic=topic)
    with pytest.raises(FindingsError, match=r"Test/Board\.file_systems\['data'\]: .*\[UC-API-010\]"):
        ClusterDashboard(stack, "Board", fleet_alarms=[], file_systems={"data": unplanned})
