"""UC-ALM-003, 004, 007 and 008: metrics that somebody publishes, under dimensions that have data."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.fabric import group, launch_template, mixed, template
from support.nodes import area_ids
from support.policy import assert_finds, assert_not_judged, assert_passes

TOPIC = "arn:aws:sns:us-east-1:111122223333:oncall"
GROUP = {"AutoScalingGroupName": "${aws:AutoScalingGroupName}"}
USE = "nvidia_smi_utilization_gpu"
OWN = {"Own": {"Type": "String"}}


def alarm(metric: Any = USE, namespace: Any = "CWAgent", **dimensions: Any) -> dict[str, Any]:
    properties = {
        "Namespace": namespace,
        "MetricName": metric,
        "Dimensions": [{"Name": key, "Value": value} for key, value in dimensions.items()],
        "TreatMissingData": "missing",
        "AlarmActions": [TOPIC],
        "Period": 60,
    }
    return {"Type": "AWS::CloudWatch::Alarm", "Properties": properties}


def agent(collected: Any = None, **metrics: Any) -> dict[str, Any]:
    """A configuration of the agent; aggregated by group unless said otherwise."""
    settings = {"append_dimensions": GROUP, "aggregation_dimensions": [["AutoScalingGroupName"]], **metrics}
    collected = collected or {"nvidia_gpu": {"measurement": ["utilization_gpu", "memory_used"]}}
    return {"metrics": {"metrics_collected": collected, **{k: v for k, v in settings.items() if v is not None}}}


def in_user_data(configuration: Any, **more: Any) -> dict[str, Any]:
    text = f"#!/bin/bash\ncat > /opt/agent.json <<'EOF'\n{json.dumps(configuration)}\nEOF\n"
    options = {"HttpTokens": "required"}
    lt = launch_template(None, "p5.48xlarge", UserData={"Fn::Base64": text}, MetadataOptions=options)
    return {"Lt": lt, **more}


def in_parameter(configuration: Any) -> dict[str, Any]:
    return {"Config": {"Type": "AWS::SSM::Parameter", "Properties": {"Value": json.dumps(configuration)}}}


def made(watched: dict[str, Any], *parts: dict[str, Any]) -> dict[str, Any]:
    resources = {"Alarm": watched}
    for part in parts:
        resources |= part
    return template(OWN, **resources)


def ids(*templates: Any) -> set[str]:
    return area_ids("ALM", *templates)


BY_GROUP = alarm(AutoScalingGroupName="train")


# UC-ALM-003


@pytest.mark.parametrize("place", [in_user_data, in_parameter])
@pytest.mark.parametrize(
    ("configuration", "watched", "message"),
    [
        (agent(aggregation_dimensions=None), BY_GROUP, "{AutoScalingGroupName}, and the agent publishes nvidia_smi_"),
        (agent(append_dimensions=None), BY_GROUP, "under {arch, host, index, name}"),
        (agent(), alarm(AutoScalingGroupName="train", InstanceId="i-1"), "{AutoScalingGroupName, InstanceId}, and the"),
        (agent(), alarm(), "{}, and the agent publishes"),
        (
            agent({"nvidia_gpu": {"measurement": ["utilization_gpu"], "append_dimensions": GROUP}},
                  append_dimensions=None, aggregation_dimensions=None),
            BY_GROUP,
            "under {arch, host, index, name}",
        ),
        (
            agent({"nvidia_gpu": {"measurement": ["utilization_gpu"], "drop_original_metrics": ["utilization_gpu"]}},
                  aggregation_dimensions=[["InstanceId"]]),
            BY_GROUP,
            "under no set at all",
        ),
    ],
)  # fmt: skip
def test_dimensions_that_nobody_publishes(place, configuration, watched, message):
    found = made(watched, place(configuration))
    assert_finds("UC-ALM-003", found, place=message)
    assert ids(found) == {"UC-ALM-003"}


def test_dimensions_appended_below_a_section():
    """Newer agents fill them in there, older ones do not: a warning."""
    collected = {"nvidia_gpu": {"measurement": ["utilization_gpu"], "append_dimensions": GROUP}}
    found = made(BY_GROUP, in_user_data(agent(collected, append_dimensions=None)))
    assert_finds("UC-ALM-003", found, place="published by agents from 1.300061.0 on only")
    assert ids(found) == {"UC-ALM-003"}


@pytest.mark.parametrize(
    ("configuration", "watched"),
    [
        (agent(), BY_GROUP),
        (agent(), alarm(AutoScalingGroupName="train", arch="Hopper", index="0", name="H100")),
        (agent(aggregation_dimensions=[[]]), alarm()),
        (agent({"mem": {"measurement": ["used_percent"]}}), alarm("mem_used_percent", AutoScalingGroupName="x")),
        (agent({"efa": {"measurement": ["efa_tx_bytes"]}}), alarm("efa_tx_bytes", AutoScalingGroupName="x")),
        (
            agent({"disk": {"measurement": ["used_percent"], "drop_device": True}}, append_dimensions=None),
            alarm("disk_used_percent", host="a", path="/", fstype="xfs"),
        ),
        (
            agent({"cpu": {"measurement": [{"name": "usage_idle", "rename": "IDLE"}]}}),
            alarm("IDLE", AutoScalingGroupName="x"),
        ),
        (
            agent({"statsd": {"drop_original_metrics": ["faults"]}}),
            alarm("faults", AutoScalingGroupName="x"),
        ),
        (agent(namespace="Train"), alarm(namespace="Train", AutoScalingGroupName="x")),
        (agent(namespace="Train"), alarm("Errors", "Own/Service", Queue="x")),
        (agent(), alarm("CPUUtilization", "AWS/EC2", InstanceId="i-1")),
    ],
)
def test_dimensions_that_are_published(configuration, watched):
    for rule_id in ("UC-ALM-003", "UC-ALM-004"):
        assert_passes(rule_id, made(watched, in_user_data(configuration)))


def test_dimensions_that_cannot_be_told():
    assert_not_judged("UC-ALM-003", made(BY_GROUP))
    unknown = alarm()
    unknown["Properties"]["Dimensions"] = [{"Name": {"Ref": "Own"}, "Value": "x"}]
    assert_not_judged("UC-ALM-003", made(unknown, in_user_data(agent())))
    fetched = "#!/bin/bash\namazon-cloudwatch-agent-ctl -a fetch-config -m ec2 -s -c ssm:/own/agent\n"
    other = {"Other": launch_template(None, "t3.micro", UserData={"Fn::Base64": fetched})}
    found = made(BY_GROUP, in_user_data(agent(aggregation_dimensions=None)), other)
    assert_not_judged("UC-ALM-003", found)


def test_the_agent_of_a_sibling_template():
    assert_passes("UC-ALM-003", template(Alarm=BY_GROUP), template(**in_user_data(agent())))
    wrong = template(**in_user_data(agent(aggregation_dimensions=None)))
    assert ids(template(Alarm=BY_GROUP), wrong) == {"UC-ALM-003"}


def test_a_metric_in_a_query():
    query = {"Id": "m", "MetricStat": {"Metric": alarm()["Properties"] | {"MetricName": USE}, "Stat": "Average"}}
    properties = {"Metrics": [query], "TreatMissingData": "missing", "AlarmActions": [TOPIC]}
    found = made({"Type": "AWS::CloudWatch::Alarm", "Properties": properties}, in_user_data(agent()))
    assert_finds("UC-ALM-003", found, place="Metrics[0].MetricStat.Metric.Dimensions")


# UC-ALM-004


@pytest.mark.parametrize(
    ("name", "namespace", "message"),
    [
        ("nvidia_smi_gpu_utilization", "CWAgent", "no agent publishes nvidia_smi_gpu_utilization; it has"),
        (
            "nvidia_smi_utilisation_gpu",
            "CWAgent",
            "no agent publishes nvidia_smi_utilisation_gpu; it has nvidia_smi_utilization_gpu",
        ),
        (
            "efa_retrans_timeouts_events",
            "CWAgent",
            "no agent publishes efa_retrans_timeouts_events; it has efa_retrans_timeout_events",
        ),
        (
            "node_gpu_utilisation",
            "ContainerInsights",
            "node_gpu_utilisation does not exist; Container Insights publishes node_gpu_utilization",
        ),
    ],
)
@pytest.mark.parametrize("has_agent", [True, False])
def test_a_name_that_does_not_exist(name, namespace, message, has_agent):
    found = made(alarm(name, namespace, AutoScalingGroupName="x"), in_user_data(agent()) if has_agent else {})
    assert_finds("UC-ALM-004", found, place=f"Alarm MetricName: {message}")
    assert ids(found) == {"UC-ALM-004"}


@pytest.mark.parametrize("name", ["nvidia_smi_temperature_gpu", "mem_used_percent", "gpu_temp"])
def test_a_name_that_the_agent_is_not_told(name):
    found = made(alarm(name, AutoScalingGroupName="x"), in_user_data(agent()))
    assert_finds("UC-ALM-004", found, place=f"{name} is n")
    assert ids(found) == {"UC-ALM-004"}


METRIC_FILTER = {
    "Type": "AWS::Logs::MetricFilter",
    "Properties": {"MetricTransformations": [{"MetricName": "Xids", "MetricNamespace": "CWAgent"}]},
}


@pytest.mark.parametrize(
    ("watched", "parts"),
    [
        (alarm("Errors", "Own"), {}),
        (alarm("gpu_temp"), {}),
        (alarm("node_gpu_usage_total", "ContainerInsights"), {}),
        (alarm("node_cpu_utilization", "ContainerInsights"), {}),
        (alarm("Xids"), {**in_user_data(agent()), "Filter": METRIC_FILTER}),
        (
            alarm("gpu_temp"),
            {
                **in_user_data(agent()),
                "Other": launch_template(
                    None, UserData={"Fn::Base64": "#!/bin/sh\naws cloudwatch put-metric-data --metric-name gpu_temp\n"}
                ),
            },
        ),
    ],
)
def test_names_that_somebody_publishes(watched, parts):
    assert_passes("UC-ALM-004", made(watched, parts))


def test_names_that_cannot_be_told():
    assert_not_judged("UC-ALM-004", made(BY_GROUP))
    assert_not_judged("UC-ALM-004", made(alarm({"Ref": "Own"}), in_user_data(agent())))
    statsd = agent({"statsd": {}, "mem": {"measurement": ["used"]}})
    assert_not_judged("UC-ALM-004", made(alarm("own_counter", AutoScalingGroupName="x"), in_user_data(statsd)))


# UC-ALM-007

RETRANS = "efa_retrans_timeout_events"


def fleet(instance_type: Any, watched: dict[str, Any], **more: Any) -> dict[str, Any]:
    return template(OWN, Lt=launch_template(None, instance_type), Nodes=group(**more), Alarm=watched)


@pytest.mark.parametrize("kind", ["p4d.24xlarge", "g5.48xlarge"])
def test_a_counter_that_the_type_does_not_have(kind):
    found = fleet(kind, alarm(RETRANS, AutoScalingGroupName={"Ref": "Nodes"}))
    assert_finds("UC-ALM-007", found, place=f"MetricName: {RETRANS} has no data on {kind}: Nitro version 3")
    assert ids(found) == {"UC-ALM-007"}
    by_name = fleet(kind, alarm(RETRANS, AutoScalingGroupName="train"), AutoScalingGroupName="train")
    assert "UC-ALM-007" in ids(by_name)
    assert "UC-ALM-007" in ids(made(alarm(RETRANS, InstanceType=kind)))


def test_a_counter_that_one_type_of_a_policy_does_not_have():
    nodes = mixed([{"InstanceType": "p5.48xlarge"}, {"InstanceType": "p4d.24xlarge"}])
    watched = alarm(RETRANS, AutoScalingGroupName={"Ref": "Nodes"})
    assert_finds("UC-ALM-007", template(Lt=launch_template(None), Nodes=nodes, Alarm=watched))


def test_counters_that_exist():
    by_group = alarm(RETRANS, AutoScalingGroupName={"Ref": "Nodes"})
    assert_passes("UC-ALM-007", fleet("p5.48xlarge", by_group))
    assert_passes("UC-ALM-007", fleet("p4d.24xlarge", alarm("efa_rx_dropped", AutoScalingGroupName={"Ref": "Nodes"})))
    assert_passes("UC-ALM-007", fleet("hpc7a.96xlarge", by_group))


def test_counters_of_types_that_are_not_known():
    assert_not_judged("UC-ALM-007", made(alarm(RETRANS, AutoScalingGroupName="elsewhere")))
    assert_not_judged("UC-ALM-007", fleet({"Ref": "Own"}, alarm(RETRANS, AutoScalingGroupName={"Ref": "Nodes"})))


# UC-ALM-008


def file_system(kind: Any = "LUSTRE") -> dict[str, Any]:
    return {"Type": "AWS::FSx::FileSystem", "Properties": {"FileSystemType": kind}}


def on_fsx(name: str, data: Any = None, **dimensions: Any) -> dict[str, Any]:
    return made(alarm(name, "AWS/FSx", FileSystemId=data or {"Ref": "Data"}, **dimensions), {"Data": file_system()})


@pytest.mark.parametrize(
    ("name", "dimensions", "message"),
    [
        ("FreeDataStorageCapacity", {}, "{FileSystemId}, and FSx for Lustre publishes FreeDataStorageCapacity under"),
        ("StorageCapacityUtilization", {}, "under {FileSystemId, StorageTargetId} only"),
        ("CPUUtilization", {}, "under {FileServer, FileSystemId} only"),
        ("LogicalDiskUsage", {"StorageTargetId": "OST0000"}, "under {FileSystemId} only"),
        ("AgeOfOldestQueuedMessage", {}, "under {FileSystemId, Publisher} only"),
    ],
)
def test_dimensions_that_lustre_does_not_publish(name, dimensions, message):
    found = on_fsx(name, **dimensions)
    assert_finds("UC-ALM-008", found, place=message)
    assert ids(found) == {"UC-ALM-008"}


def test_free_capacity_is_lustre_s_own():
    assert_finds("UC-ALM-008", on_fsx("FreeDataStorageCapacity", "fs-0123456789abcdef0"))


@pytest.mark.parametrize(
    ("name", "dimensions"),
    [
        ("FreeDataStorageCapacity", {"StorageTargetId": "OST0000"}),
        ("LogicalDiskUsage", {}),
        ("CPUUtilization", {"FileServer": "MDS0000"}),
        ("SomethingNew", {}),
    ],
)
def test_dimensions_that_lustre_publishes(name, dimensions):
    assert_passes("UC-ALM-008", on_fsx(name, **dimensions))


def test_other_file_systems_have_other_dimensions():
    watched = alarm("StorageCapacityUtilization", "AWS/FSx", FileSystemId={"Ref": "Data"})
    assert_passes("UC-ALM-008", made(watched, {"Data": file_system("WINDOWS")}))
    assert_not_judged("UC-ALM-008", made(watched, {"Data": file_system({"Ref": "Own"})}))
    assert_not_judged("UC-ALM-008", on_fsx("StorageCapacityUtilization", "fs-0123456789abcdef0"))
