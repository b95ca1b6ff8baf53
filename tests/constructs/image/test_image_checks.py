"""Images against the registry schemas, this library's own rules, and the AwsSolutions pack."""

from __future__ import annotations

from typing import Any

import pytest

from support.images import tuned_image
from support.nag import nag_report, unacknowledged
from support.policy import judged
from ultracluster import Al2023, Dlami, ImageRegion, Ubuntu
from ultracluster.local.registry import registry
from ultracluster.local.validation import check_properties

KEY = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"
VARIANTS: dict[str, dict[str, Any]] = {
    "dlami": {},
    "arm": {"architecture": "arm64", "opt_ins": ["low-latency-c-states"]},
    "neuron": {"vendor": "aws", "base": Dlami(os="ubuntu-24.04"), "without": ["lustre"]},
    "al2023": {"base": Al2023(), "instance_types": ["g6.xlarge"]},
    "ubuntu-22.04": {"base": Ubuntu(version="22.04"), "schedule": None},
    "regions": {
        "base": Ubuntu(),
        "regions": [
            ImageRegion(region="us-east-1", shared_with=("444455556666",)),
            ImageRegion(region="us-west-2", key_arn=KEY, copied_to=("777788889999",)),
        ],
    },
}
_ARN = "arn:aws:imagebuilder:us-east-1:111122223333"
PLACES = {
    "ComponentArn": f"{_ARN}:component/image-kernel/1.2.3/1",
    "ImageRecipeArn": f"{_ARN}:image-recipe/image/1.2.3",
    "InfrastructureConfigurationArn": f"{_ARN}:infrastructure-configuration/image",
    "DistributionConfigurationArn": f"{_ARN}:distribution-configuration/image",
    "ExecutionRole": "arn:aws:iam::111122223333:role/retire",
    "KmsKeyId": "arn:aws:kms:us-east-1:111122223333:key/11111111-2222-3333-4444-555555555555",
    "SnsTopicArn": "arn:aws:sns:us-east-1:111122223333:builds",
    "SecurityGroupIds": "sg-0123456789abcdef0",
    "VpcId": "vpc-0123456789abcdef0",
}


def literal(value: Any, name: str) -> Any:
    """Properties with what a deployment would put in place of the references."""
    match value:
        case {"Ref": _} | {"Fn::GetAtt": _} | {"Fn::Join": _}:
            return PLACES.get(name, "some-name")
        case dict():
            return {key: literal(inner, key) for key, inner in value.items()}
        case list():
            return [literal(inner, name) for inner in value]
    return value


@pytest.mark.parametrize("name", VARIANTS)
def test_the_service_takes_every_property(name, stack, synth):
    tuned_image(stack, **VARIANTS[name])
    schemas = registry("us-east-1")
    faults = [
        f"{body['Type']} {fault}"
        for body in synth(stack)["Resources"].values()
        if body["Type"].startswith("AWS::ImageBuilder")
        for fault in check_properties(schemas.schema(body["Type"]), literal(body["Properties"], ""))
    ]
    assert faults == []


@pytest.mark.parametrize("name", VARIANTS)
def test_own_rules_find_nothing_and_can_judge_the_recipe(name, stack, synth):
    tuned_image(stack, **VARIANTS[name])
    outcome = judged(synth(stack))
    assert outcome.ids == set()
    # The names of Neuron's parameters do not tell their architecture.
    assert {rule_id for rule_id in outcome.not_judged if rule_id.startswith("UC-IMG")} <= {"UC-IMG-005"}


def test_nothing_is_left_of_aws_solutions(app, stack):
    tuned_image(stack, **VARIANTS["regions"])
    assert unacknowledged(nag_report(app)) == []
