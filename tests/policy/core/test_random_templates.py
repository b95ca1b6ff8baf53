"""Templates of random shape: wrong types anywhere, circles, intrinsics in strange places. Nothing may break."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ultracluster.policy.check import Options, check_loaded
from ultracluster.policy.document import Document, read_document
from ultracluster.policy.load import Loaded, assembly_of
from ultracluster.policy.registry import rules

TYPES = sorted({kind for rule in rules() for kind in rule.on if "::" in kind})
IDS = ["A", "B", "C", "D"]
PARAMETERS = ["P", "Q", "R"]
CONDITIONS = ["IsP", "IsQ", "Both"]
# Words that rules look for, so that random objects get past their first question.
WORDS = re.findall(
    r"\S+",
    """
Groups NetworkInterfaces InstanceType LaunchTemplateData LaunchTemplate LaunchTemplateId Version DeviceIndex
NetworkCardIndex InterfaceType UserData BlockDeviceMappings Ebs Encrypted Overrides MixedInstancesPolicy
InstancesDistribution LaunchTemplateSpecification SecurityGroupIds IpProtocol LustreConfiguration DeploymentType
StorageCapacity PerUnitStorageThroughput FileSystemType InstanceMarketOptions MarketType Placement GroupName SubnetIds
CapacityReservationSpecification CapacityReservationTarget Subnets ComputeResources InstanceTypes Tags Policies
PolicyDocument Statement Action Resource Effect Condition Dimensions MetricName Namespace EventPattern Targets Arn
FileSystemId FileSystemPath SecurityGroupIngress SourceSecurityGroupId CidrIp
""",
)
TEXTS = re.findall(
    r"\S+",
    """
p5.48xlarge p4d.24xlarge efa efa-only interface spot capacity-block LUSTRE PERSISTENT_2 -1 tcp 0.0.0.0/0 true 1200
s3://b/p /data $Latest * Allow #!/bin/bash {}
""",
)

names = st.sampled_from([*IDS, *PARAMETERS, "AWS::Region", "AWS::NoValue", "Missing"])
scalars = st.one_of(st.none(), st.booleans(), st.integers(-5, 50_000), st.sampled_from(TEXTS), st.text(max_size=6))


def _intrinsics(inner: st.SearchStrategy) -> st.SearchStrategy:
    conditions = st.sampled_from([*CONDITIONS, "Nowhere"])
    return st.one_of(
        st.builds(lambda name: {"Ref": name}, names),
        st.builds(lambda name: {"Fn::GetAtt": [name, "Arn"]}, names),
        st.builds(lambda name, one, other: {"Fn::If": [name, one, other]}, conditions, inner, inner),
        st.builds(lambda name: {"Fn::Sub": f"a-${{{name}}}-${{!x}}"}, names),
        st.builds(lambda parts: {"Fn::Join": [",", parts]}, inner),
        st.builds(lambda parts: {"Fn::Select": [0, parts]}, inner),
        st.builds(lambda text: {"Fn::Split": [",", text]}, inner),
        st.builds(lambda text: {"Fn::Base64": text}, inner),
        st.builds(lambda text: {"Fn::ImportValue": text}, inner),
        st.builds(lambda key: {"Fn::FindInMap": ["M", key, "k"]}, inner),
        st.builds(lambda value: {"Fn::ToJsonString": value}, inner),
        st.builds(
            lambda kind, value: {kind: value}, st.sampled_from(["Fn::Length", "Fn::Cidr", "Fn::Odd", "Ref"]), inner
        ),
    )


values = st.recursive(
    scalars | _intrinsics(scalars),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5) | _intrinsics(inner)
    ),
    max_leaves=25,
)
resources = st.fixed_dictionaries(
    {"Type": st.sampled_from(TYPES)},
    optional={
        "Properties": st.dictionaries(st.sampled_from(WORDS), values, max_size=6) | values,
        "Condition": st.sampled_from([*CONDITIONS, "Nowhere"]) | scalars,
        "DependsOn": values,
        "Metadata": values | st.just({"ultracluster": {"acknowledge": [{"id": "UC-LUS-001", "reason": "r"}, 5]}}),
        "DeletionPolicy": values,
        "UpdatePolicy": values,
    },
)
conditions = st.recursive(
    st.builds(lambda name, text: {"Fn::Equals": [{"Ref": name}, text]}, names, scalars)
    | st.builds(lambda name: {"Condition": name}, st.sampled_from(CONDITIONS)),
    lambda inner: (
        st.builds(lambda parts: {"Fn::And": parts}, st.lists(inner, max_size=3))
        | st.builds(lambda part: {"Fn::Not": [part]}, inner)
        | scalars
    ),
    max_leaves=4,
)
parameters = st.fixed_dictionaries(
    {
        "Type": st.sampled_from(["String", "Number", "CommaDelimitedList", "AWS::SSM::Parameter::Value<String>"])
        | scalars
    },
    optional={"Default": scalars, "AllowedValues": st.lists(scalars, max_size=3) | scalars},
)
templates = st.fixed_dictionaries(
    {"Resources": st.dictionaries(st.sampled_from(IDS), resources | scalars, max_size=4)},
    optional={
        "Parameters": st.dictionaries(st.sampled_from(PARAMETERS), parameters | scalars, max_size=3) | scalars,
        "Conditions": st.dictionaries(st.sampled_from(CONDITIONS), conditions, max_size=3) | scalars,
        "Mappings": st.just({"M": {"a": {"k": "v"}, "b": {"k": 5}}}) | values,
        "Outputs": st.dictionaries(st.sampled_from("OP"), values, max_size=2) | scalars,
        "Rules": values,
        "Metadata": values,
        "Transform": scalars,
    },
)


def _judge(*given_templates: dict) -> None:
    documents = [
        Document(f"t{at}.json", json.dumps(each), each, is_json=True) for at, each in enumerate(given_templates)
    ]
    report = check_loaded(Loaded([assembly_of(documents, is_app=True)]), Options())
    assert report.failures == ()
    assert all(found.line >= 0 for found in report.findings)


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(max_examples=5000, suppress_health_check=list(HealthCheck))
@given(templates)
def test_a_random_template_breaks_no_rule(template: dict) -> None:
    _judge(template)


RICH = Path(__file__).with_name("rich_template.yaml")


def _paths(value: object, path: tuple = ()):
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*path, key)
        yield from _paths(inner, (*path, key))


RICH_VALUE = read_document(RICH.name, RICH.read_bytes()).value
# Types that the file does not show are there all the same, with something in every place that rules look at.
RICH_VALUE["Resources"] |= {
    f"Extra{at}": {"Type": kind, "Properties": {word: {"Ref": "Group"} for word in WORDS}}
    for at, kind in enumerate(sorted(set(TYPES) - {body["Type"] for body in RICH_VALUE["Resources"].values()}))
}
RICH_PATHS = list(_paths(RICH_VALUE))


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(max_examples=250, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(RICH_PATHS), values), min_size=1, max_size=3))
def test_a_rich_template_with_odd_values_at_any_place_breaks_no_rule(changes: list[tuple[tuple, object]]) -> None:
    template = copy.deepcopy(RICH_VALUE)
    for path, value in changes:
        holder = template
        try:
            for key in path[:-1]:
                holder = holder[key]
            if isinstance(holder, list) is isinstance(path[-1], int):  # keys of a document are texts
                holder[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    _judge(template)


def test_the_rich_template_itself_breaks_no_rule() -> None:
    _judge(RICH_VALUE)


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(templates, templates)
def test_two_random_templates_of_one_app_break_no_rule(one: dict, other: dict) -> None:
    _judge(one, other)


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(values)
def test_any_value_in_the_place_of_a_template_breaks_nothing(value: object) -> None:
    for section in ("Resources", "Parameters", "Conditions", "Outputs", "Rules", "Mappings", "Metadata"):
        _judge({"Resources": {"A": {"Type": "AWS::EC2::LaunchTemplate", "Properties": value}}, section: value})
