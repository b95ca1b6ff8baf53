"""UC-ALM-009, 011 and 013: what an app does not watch."""

from __future__ import annotations

from typing import Any

import pytest

from support.fabric import group, launch_template, node_group, pcs, template
from support.nodes import area_ids
from support.policy import assert_finds, assert_not_judged, assert_passes

TOPIC = "arn:aws:sns:us-east-1:111122223333:oncall"
OWN = {"Own": {"Type": "String"}}


def alarm(name: str, namespace: str = "AWS/FSx", **dimensions: Any) -> dict[str, Any]:
    properties = {
        "Namespace": namespace,
        "MetricName": name,
        "Dimensions": [{"Name": key, "Value": value} for key, value in dimensions.items()],
        "TreatMissingData": "missing",
        "AlarmActions": [TOPIC],
    }
    return {"Type": "AWS::CloudWatch::Alarm", "Properties": properties}


def ids(*templates: Any) -> set[str]:
    return area_ids("ALM", *templates, is_app=True)


# UC-ALM-009


def lustre(**configuration: Any) -> dict[str, Any]:
    properties = {
        "FileSystemType": "LUSTRE",
        "LustreConfiguration": {"DeploymentType": "PERSISTENT_2", **configuration},
    }
    return {"Type": "AWS::FSx::FileSystem", "Properties": properties}


def association(**policies: Any) -> dict[str, Any]:
    properties = {"FileSystemId": {"Ref": "Data"}, "S3": policies}
    return {"Type": "AWS::FSx::DataRepositoryAssociation", "Properties": properties}


METADATA = {"MetadataConfiguration": {"Mode": "AUTOMATIC"}}
EXPORT = association(AutoExportPolicy={"Events": ["NEW"]})
SPACE = alarm("FreeDataStorageCapacity", FileSystemId={"Ref": "Data"}, StorageTargetId="OST0000")
CPU = alarm("CPUUtilization", FileSystemId={"Ref": "Data"}, FileServer="MDS0000")
LAG = alarm("AgeOfOldestQueuedMessage", FileSystemId={"Ref": "Data"}, Publisher="AutoExport")


@pytest.mark.parametrize(
    ("resources", "place"),
    [
        ({"Data": lustre()}, "Data : no alarm of the app watches its free space"),
        ({"Data": lustre(**METADATA), "Space": SPACE}, "watches its metadata servers"),
        ({"Data": lustre(), "Link": EXPORT, "Space": SPACE}, "watches its queued imports and exports"),
        ({"Data": lustre(**METADATA), "Link": EXPORT}, "its free space or its metadata servers or its queued"),
    ],
)
def test_a_file_system_that_nobody_watches(resources, place):
    assert_finds("UC-ALM-009", template(**resources), place=place, is_app=True)
    assert ids(template(**resources)) == {"UC-ALM-009"}
    assert_passes("UC-ALM-009", template(**resources))


def test_file_systems_that_somebody_watches():
    watched = {"Data": lustre(**METADATA), "Link": EXPORT, "Space": SPACE, "Cpu": CPU, "Lag": LAG}
    assert_passes("UC-ALM-009", template(**watched), is_app=True)
    by_hand = association(AutoImportPolicy={"Events": []})
    assert_passes("UC-ALM-009", template(Data=lustre(), Link=by_hand, Space=SPACE), is_app=True)
    windows = {"Type": "AWS::FSx::FileSystem", "Properties": {"FileSystemType": "WINDOWS"}}
    assert_passes("UC-ALM-009", template(Data=windows), is_app=True)


def test_metric_math_over_a_file_system_in_another_stack():
    expression = {
        "Fn::Sub": [
            "SELECT MIN(FreeDataStorageCapacity) FROM FSx WHERE id = '${Id}'",
            {"Id": {"Fn::ImportValue": "Id"}},
        ]
    }
    query = {"Metrics": [{"Id": "q", "Expression": expression}], "TreatMissingData": "missing", "AlarmActions": [TOPIC]}
    data = {**template(Data=lustre()), "Outputs": {"Id": {"Value": {"Ref": "Data"}, "Export": {"Name": "Id"}}}}
    alarms = template(Space={"Type": "AWS::CloudWatch::Alarm", "Properties": query})
    assert_passes("UC-ALM-009", data, alarms, is_app=True)


def test_alarms_of_a_file_system_that_is_not_known():
    space = alarm("FreeDataStorageCapacity", FileSystemId={"Ref": "Own"}, StorageTargetId="OST0000")
    assert_not_judged("UC-ALM-009", template(OWN, Data=lustre(), Space=space), is_app=True)


# UC-ALM-011


def use(name: str = "nvidia_smi_utilization_gpu", **dimensions: Any) -> dict[str, Any]:
    return alarm(name, "CWAgent", **dimensions)


@pytest.mark.parametrize("nodes", [group, node_group, pcs])
def test_a_fleet_that_may_stand_still(nodes):
    found = template(Lt=launch_template(None, "p5.48xlarge"), Nodes=nodes())
    assert_finds("UC-ALM-011", found, place="Nodes : no alarm of the app watches the utilization", is_app=True)
    assert ids(found) == {"UC-ALM-011"}
    assert_passes("UC-ALM-011", found)


def test_an_alarm_on_another_fleet_does_not_count():
    nodes = group(AutoScalingGroupName="train")
    watched = use(AutoScalingGroupName="other")
    found = template(Lt=launch_template(None, "p5.48xlarge"), Nodes=nodes, Use=watched)
    assert_finds("UC-ALM-011", found, is_app=True)


@pytest.mark.parametrize(
    "watched",
    [
        use(AutoScalingGroupName={"Ref": "Nodes"}),
        use(AutoScalingGroupName="train"),
        use("neuroncore_utilization", AutoScalingGroupName="train"),
        use("node_gpu_utilization", ClusterName="x"),
        use(AutoScalingGroupName={"Ref": "Own"}),
        {
            "Type": "AWS::APS::RuleGroupsNamespace",
            "Properties": {"Data": "- alert: Idle\n  expr: avg(DCGM_FI_DEV_GPU_UTIL) < 70\n"},
        },
    ],
)
def test_fleets_that_somebody_watches(watched):
    nodes = group(AutoScalingGroupName="train")
    found = template(OWN, Lt=launch_template(None, "p5.48xlarge"), Nodes=nodes, Use=watched)
    assert_passes("UC-ALM-011", found, is_app=True)


def test_fleets_without_accelerators_or_of_unknown_types():
    assert_passes("UC-ALM-011", template(Lt=launch_template(None, "t3.micro"), Nodes=group()), is_app=True)
    unknown = template(OWN, Lt=launch_template(None, {"Ref": "Own"}), Nodes=group())
    assert_not_judged("UC-ALM-011", unknown, is_app=True)


def test_alarms_on_metrics_that_are_not_known():
    nodes = {"Lt": launch_template(None, "p5.48xlarge"), "Nodes": group()}
    open_name, open_math = alarm({"Ref": "Own"}, "CWAgent"), alarm("", "")
    del open_math["Properties"]["MetricName"]
    open_math["Properties"]["Metrics"] = [{"Id": "q", "Expression": {"Ref": "Own"}}]
    for watched in (open_name, open_math):
        assert_not_judged("UC-ALM-011", template(OWN, **nodes, Use=watched), is_app=True)
    assert_passes("UC-ALM-011", template(OWN, **nodes, Use=use(), Other=open_name), is_app=True)
    # The condition of a query names no metric, so a reference in it leaves nothing open.
    query = (
        "SELECT MAX(StorageCapacityUtilization) FROM SCHEMA(\"AWS/FSx\", FileSystemId) WHERE FileSystemId = '${Own}'"
    )
    open_math["Properties"]["Metrics"] = [{"Id": "q", "Expression": {"Fn::Sub": query}}]
    assert_finds("UC-ALM-011", template(OWN, **nodes, Use=open_math), is_app=True)
    unclear = alarm({"Ref": "Own"}, FileSystemId={"Ref": "Data"})
    assert_not_judged("UC-ALM-009", template(OWN, Data=lustre(), Space=unclear), is_app=True)


# UC-ALM-013

HEALTH, STATE = "SageMaker HyperPod Cluster Node Health Event", "SageMaker HyperPod Cluster State Change"
EVENT = "SageMaker HyperPod Cluster Event"


def hears(*names: Any, targets: Any = ({"Id": "t", "Arn": TOPIC},), **more: Any) -> dict[str, Any]:
    pattern = {"source": ["aws.sagemaker"], "detail-type": list(names), **more}
    return {"Type": "AWS::Events::Rule", "Properties": {"EventPattern": pattern, "Targets": list(targets)}}


def cluster(mode: Any = None, **rules: Any) -> dict[str, Any]:
    properties = {} if mode is None else {"NodeProvisioningMode": mode}
    return template(OWN, Cluster={"Type": "AWS::SageMaker::Cluster", "Properties": properties}, **rules)


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (cluster(), f"no rule of the app hands on {HEALTH}"),
        (cluster(State=hears(STATE)), f"hands on {HEALTH}"),
        (cluster(Health=hears(HEALTH, targets=())), f"hands on {HEALTH}"),
        (cluster("Continuous", Health=hears(HEALTH)), f"hands on {EVENT}"),
        (cluster("Continuous"), f"hands on {HEALTH} or {EVENT}"),
        (
            cluster("Continuous", All=hears(HEALTH, EVENT, detail={"EventDetails": {"EventLevel": ["Info"]}})),
            f"hands on {EVENT}",
        ),
    ],
)
def test_a_cluster_whose_nodes_nobody_hears_of(found, place):
    assert_finds("UC-ALM-013", found, place=place, is_app=True)
    assert ids(found) == {"UC-ALM-013"}
    assert_passes("UC-ALM-013", found)


@pytest.mark.parametrize(
    "found",
    [
        cluster(Health=hears(HEALTH)),
        cluster("Continuous", Health=hears(HEALTH), Event=hears(EVENT)),
        cluster("Continuous", All=hears({"prefix": "SageMaker HyperPod Cluster"})),
        cluster("Continuous", All=hears({"wildcard": "SageMaker HyperPod*"})),
        cluster("Continuous", All=hears(HEALTH, EVENT, detail={"EventDetails": {"EventLevel": ["Error"]}})),
    ],
)
def test_clusters_whose_nodes_somebody_hears_of(found):
    assert_passes("UC-ALM-013", found, is_app=True)


def test_names_of_events_that_are_not_known():
    assert_not_judged("UC-ALM-013", cluster(Own=hears({"Ref": "Own"})), is_app=True)
    assert_not_judged("UC-ALM-013", cluster({"Ref": "Own"}, Health=hears(HEALTH)), is_app=True)
