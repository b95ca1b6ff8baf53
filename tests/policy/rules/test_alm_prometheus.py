"""UC-ALM-005, 006, 015 and 016: Prometheus alerts, scrapes and exporters."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from support.fabric import launch_template, template
from support.nodes import area_ids, with_script
from support.policy import assert_finds, assert_not_judged, assert_passes

OWN = {"Own": {"Type": "String"}}
DBE, XID = "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "DCGM_FI_DEV_XID_ERRORS"
FIELDS = f"""DCGM_FI_DEV_GPU_UTIL, gauge, use
# {DBE}, counter, errors
{XID}, gauge, number of the last XID
"""


def alert(expression: str, name: str = "Gpu") -> str:
    head = f"groups:\n- name: gpu\n  rules:\n  - alert: {name}\n"
    return f"{head}    expr: {expression}\n    for: 1m\n    labels: {{a: b}}\n"


def rules(data: Any) -> dict[str, Any]:
    return {"Rules": {"Type": "AWS::APS::RuleGroupsNamespace", "Properties": {"Data": data}}}


def fields(text: str = FIELDS) -> dict[str, Any]:
    return {"Fields": with_script(f"cat > /etc/dcgm.csv <<EOF\n{text}EOF")}


def made(*parts: dict[str, Any]) -> dict[str, Any]:
    return template(OWN, **{key: value for part in parts for key, value in part.items()})


def ids(*templates: Any) -> set[str]:
    return area_ids("ALM", *templates)


# UC-ALM-005


@pytest.mark.parametrize("holder", ["user data", "parameter"])
def test_an_alert_on_a_field_that_is_commented_out(holder):
    parameter = {"Fields": {"Type": "AWS::SSM::Parameter", "Properties": {"Value": FIELDS}}}
    found = made(rules(alert(f"increase({DBE}[5m]) > 0", "Memory")), fields() if holder == "user data" else parameter)
    assert_finds("UC-ALM-005", found, place=f"Rules Data: alert Memory asks for {DBE}, which no exporter of the app")
    assert ids(found) == {"UC-ALM-005"}


def test_an_alert_in_user_data():
    text = f"{FIELDS}\n{alert(f'increase({DBE}[5m]) > 0')}"
    assert_finds("UC-ALM-005", made(fields(text)), place="Fields LaunchTemplateData.UserData: alert Gpu")


def test_alerts_on_fields_that_are_exported():
    assert_passes("UC-ALM-005", made(rules(alert("avg(DCGM_FI_DEV_GPU_UTIL) < 70")), fields()))
    assert_passes("UC-ALM-005", made(rules(alert(f"increase({DBE}[5m]) > 0")), fields(FIELDS.replace("# ", ""))))
    assert_passes("UC-ALM-005", made(rules(alert("up == 0"))))


def test_fields_that_are_not_known():
    assert_not_judged("UC-ALM-005", made(rules(alert(f"increase({DBE}[5m]) > 0"))))
    assert_not_judged("UC-ALM-005", made(rules({"Ref": "Own"})))


# UC-ALM-006


@pytest.mark.parametrize("expression", [f"{XID} > 0", f"max by (gpu) ({XID}) != 0", f"|\n      {XID}\n        > 0"])
def test_an_xid_alert_that_never_clears(expression):
    found = made(rules(alert(expression, "Xid")), fields())
    assert_finds("UC-ALM-006", found, place=f"alert Xid asks for the value of {XID}, which keeps the last XID")
    assert ids(found) == {"UC-ALM-006"}


@pytest.mark.parametrize(
    "expression", [f"changes({XID}[5m]) > 0", f"{XID} != {XID} offset 5m", "DCGM_FI_DEV_GPU_TEMP > 85"]
)
def test_alerts_that_clear(expression):
    assert_passes("UC-ALM-006", made(rules(alert(expression))))


def test_an_alert_beside_one_that_clears():
    text = alert(f"changes({XID}[5m]) > 0", "Good") + alert(f"{XID} > 0", "Bad").split("rules:\n")[1]
    assert_finds("UC-ALM-006", made(rules(text), fields()), place="alert Bad asks")


# UC-ALM-015

JOB = "scrape_configs:\n- job_name: dcgm\n  scrape_interval: %s\n  scrape_timeout: %s\n"


def scraper(text: str) -> dict[str, Any]:
    blob = base64.b64encode(text.encode()).decode()
    configuration = {"ScrapeConfiguration": {"ConfigurationBlob": blob}}
    return {"Scraper": {"Type": "AWS::APS::Scraper", "Properties": configuration}}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (JOB % ("15s", "5m"), "job dcgm: a timeout of 300 s on an interval of 15 s"),
        (
            "global:\n  scrape_interval: 15s\n" + JOB.replace("  scrape_interval: %s\n", "") % "30s",
            "job dcgm: a timeout",
        ),
        ("global:\n  scrape_interval: 15s\n  scrape_timeout: 1m\n", "a timeout of 60 s on an interval of 15 s"),
        ("scrape_configs:\n- job_name: a\n  scrape_timeout: 90s\n", "job a: a timeout of 90 s on an interval of 60 s"),
    ],
)
@pytest.mark.parametrize("holder", [scraper, lambda text: {"Lt": with_script(f"cat > /etc/p.yml <<EOF\n{text}EOF")}])
def test_a_timeout_beyond_the_interval(text, place, holder):
    assert_finds("UC-ALM-015", made(holder(text)), place=place)
    assert ids(made(holder(text))) == {"UC-ALM-015"}


@pytest.mark.parametrize(
    "text",
    [
        JOB % ("60s", "30s"),
        JOB % ("15s", "15s"),
        JOB % ("1m30s", "80s"),
        "global:\n  scrape_interval: 15s\n" + JOB % ("5m", "1m"),
        "scrape_configs:\n- job_name: a\n  scrape_interval: 5m\n- job_name: b\n  scrape_timeout: 50s\n",
    ],
)
def test_timeouts_within_the_interval(text):
    assert_passes("UC-ALM-015", made(scraper(text)))


def test_scrapes_that_are_not_known():
    found = {
        "Scraper": {
            "Type": "AWS::APS::Scraper",
            "Properties": {"ScrapeConfiguration": {"ConfigurationBlob": {"Ref": "Own"}}},
        }
    }
    assert_not_judged("UC-ALM-015", made(found))


# UC-ALM-016

RUN = "docker run --gpus all nvcr.io/nvidia/k8s/dcgm-exporter:%s-4.1.0-ubuntu22.04"


def on(kind: Any, release: str) -> dict[str, Any]:
    return made({"Lt": with_script(RUN % release, kind)})


@pytest.mark.parametrize(("kind", "release"), [("p6-b300.48xlarge", "4.2.0"), ("p6-b200.48xlarge", "3.3.5")])
def test_an_exporter_that_is_too_old(kind, release):
    assert_finds("UC-ALM-016", on(kind, release), place=f"DCGM {release} on {kind}, which needs")
    assert ids(on(kind, release)) == {"UC-ALM-016"}


@pytest.mark.parametrize(
    ("kind", "release"),
    [
        ("p6-b300.48xlarge", "4.5.2"),
        ("p6-b300.48xlarge", "4.10.0"),
        ("p5.48xlarge", "3.3.5"),
        ("p6-b200.48xlarge", "4.2.0"),
    ],
)
def test_exporters_that_know_the_type(kind, release):
    assert_passes("UC-ALM-016", on(kind, release))


def test_exporters_that_are_not_known():
    assert_not_judged("UC-ALM-016", on({"Ref": "Own"}, "4.2.0"))
    assert_not_judged("UC-ALM-016", on(None, "4.2.0"))
    latest = launch_template(
        None, "p6-b300.48xlarge", UserData={"Fn::Base64": "#!/bin/sh\ndocker run dcgm-exporter:latest\n"}
    )
    assert_not_judged("UC-ALM-016", made({"Lt": latest}))


def test_an_exporter_in_a_container():
    container = {
        "Image": "nvcr.io/nvidia/k8s/dcgm-exporter:4.2.0-4.1.0-ubuntu22.04",
        "InstanceType": "p6-b300.48xlarge",
    }
    job = {"Type": "AWS::Batch::JobDefinition", "Properties": {"ContainerProperties": container}}
    assert_finds("UC-ALM-016", template(Job=job), place="Job ContainerProperties.Image: DCGM 4.2.0 on p6-b300.48xlarge")
    other = {**container, "Image": "own/train:4.2.0"}
    assert_passes("UC-ALM-016", template(Job={**job, "Properties": {"ContainerProperties": other}}))
    task = {"Type": "AWS::ECS::TaskDefinition", "Properties": {"ContainerDefinitions": [container]}}
    assert_not_judged("UC-ALM-016", template(Task=task))
