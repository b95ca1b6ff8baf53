"""Tables behind the rules on nodes, alarms and templates: complete, sourced, and of one mind with each other."""

from __future__ import annotations

import json
import re

import pytest

from ultracluster.facts.agent_metrics import agent_facts
from ultracluster.facts.agent_sections import agent_sections, container_insights_metrics, nitro_of_metric
from ultracluster.facts.create_only import create_only
from ultracluster.facts.dcgm import first_release
from ultracluster.facts.event_names import known_events, pattern_keys, watched_events
from ultracluster.facts.instances import catalog
from ultracluster.facts.node_environment import forbidden_variables, locked_memory_floor, restarting_units, time_sources

FILES = ["agent_sections", "create_only", "dcgm", "event_names", "image_versions", "node_tuning"]


@pytest.mark.parametrize("name", FILES)
def test_every_source_has_an_address_and_a_date(root, name):
    document = json.loads((root / f"constructs/ultracluster/facts/data/{name}.json").read_text())
    text = json.dumps({key: value for key, value in document.items() if key != "sources"})
    assert document["as_of"]
    for key, source in document["sources"].items():
        assert source["url"].startswith("https://")
        assert source["title"]
        assert source["as_of"]
        assert f'"{key}"' in text or key in {"patterns"}, f"nothing comes from {key}"


def test_what_our_nodes_publish_is_what_the_agent_can():
    sections = agent_sections()
    rows = [metric for metric in agent_facts().metrics if metric.measurement is not None]
    assert rows
    for metric in rows:
        section = sections[metric.section]
        bare = str(metric.measurement).removeprefix(section.prefix)
        assert bare in section.measurements
        assert metric.name == section.prefix + bare
        assert metric.nitro_version == nitro_of_metric(metric.name)


def test_container_insights_has_names_of_accelerators_and_fabric():
    namespace, names = container_insights_metrics()
    assert namespace == "ContainerInsights"
    assert {"node_gpu_utilization", "pod_neuroncore_utilization", "node_efa_rx_dropped"} <= names
    assert all(re.fullmatch(r"(node|pod|container|cluster)_(gpu|neuron\w*|efa)_\w+", name) for name in names)


def test_events_are_called_by_one_name():
    for source in ("aws.ec2", "aws.autoscaling", "aws.sagemaker", "aws.batch", "aws.health"):
        assert set(watched_events(source)) <= known_events(source)
    assert watched_events("own.source") == ()
    assert "AWS API Call via CloudTrail" in known_events("own.source")
    assert {"source", "detail-type", "detail"} <= pattern_keys()
    assert "detail_type" not in pattern_keys()


def test_stateful_types_have_properties_that_replace_them():
    types = create_only()
    assert ("LustreConfiguration", "DeploymentType") in types["AWS::FSx::FileSystem"]
    assert ("Orchestrator", "Eks") in types["AWS::SageMaker::Cluster"]
    assert types["AWS::KMS::Key"] == ()
    assert all(all(path) for paths in types.values() for path in paths)


def test_releases_are_those_of_families_in_the_catalogue():
    families = {facts.family for facts in catalog().values()}
    named = [family for family in families if first_release(family)]
    assert {"p6-b300", "p6-b200"} <= set(named)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", found[0]) for family in named if (found := first_release(family)))
    assert first_release("p5") is None


def test_variables_units_and_clocks():
    assert len({row.name for row in forbidden_variables()}) == len(forbidden_variables())
    assert all(row.reason and row.source for row in forbidden_variables())
    assert {row.name for row in forbidden_variables() if row.breaks} >= {"RDMAV_*", "NCCL_BUFFERSIZE"}
    assert locked_memory_floor() == 16 * 2**30
    assert "169.254.169.123" in time_sources()
    assert "unattended-upgrades" in restarting_units()
