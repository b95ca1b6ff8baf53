"""Calls to AWS without an SDK, against an endpoint that checks their signatures with botocore."""

from __future__ import annotations

import pytest

from support.aws_endpoint import CLOSE
from ultracluster.node.aws import Aws, AwsError
from ultracluster.node.imds import Imds

HOOK = {"LifecycleHookName": "ultracluster-launch", "InstanceId": "i-0123456789abcdef0", "Note": "a b&c=d ü"}


@pytest.fixture
def aws(machine, service, cloud) -> Aws:
    machine.environ["AWS_ENDPOINT_URL"] = cloud.url
    return Aws(machine.node(imds=Imds(service.url)))


def complete(aws: Aws) -> str:
    return aws.query("autoscaling", "CompleteLifecycleAction", "2011-01-01", HOOK)


def test_a_query(aws, cloud):
    assert "CompleteLifecycleActionResult" in complete(aws)
    assert cloud.of("CompleteLifecycleAction") == [HOOK]


def test_a_json_call(aws, cloud):
    answer = aws.json("events", "AWSEvents.PutEvents", {"Entries": [{"Source": "ultracluster.node", "Detail": "ü"}]})
    assert answer["FailedEntryCount"] == 0
    assert cloud.of("AWSEvents.PutEvents")[0]["Entries"][0]["Detail"] == "ü"


@pytest.mark.parametrize("fault", [500, 503, 429, CLOSE])
def test_what_passes_is_tried_again(aws, cloud, machine, fault):
    cloud.faults["CompleteLifecycleAction"] = [fault, fault]
    complete(aws)
    assert len(cloud.of("CompleteLifecycleAction")) == 1
    assert machine.slept == [0.5, 1.0]


def test_a_refusal_is_one_line_and_is_not_tried_again(aws, cloud, machine):
    complete(aws)
    with pytest.raises(AwsError, match="CompleteLifecycleAction is refused with status 400 ValidationError") as caught:
        complete(aws)
    assert caught.value.code == "ValidationError"
    assert machine.slept == []


def test_no_answer_is_one_line(machine, service, cloud):
    machine.environ["AWS_ENDPOINT_URL_AUTOSCALING"] = "http://127.0.0.1:9"
    machine.environ["AWS_ENDPOINT_URL"] = cloud.url
    with pytest.raises(AwsError, match=r"no answer from autoscaling \(.*refused\); check endpoint, route"):
        complete(Aws(machine.node(imds=Imds(service.url)), attempts=2))


def test_the_real_address_follows_region_and_partition(machine):
    machine.metadata |= {"placement/region": "cn-north-1", "services/domain": "amazonaws.com.cn"}
    aws = Aws(machine.node())
    assert aws._endpoint("autoscaling", "cn-north-1") == "https://autoscaling.cn-north-1.amazonaws.com.cn/"
