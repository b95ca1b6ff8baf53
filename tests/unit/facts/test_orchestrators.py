"""The tables of EKS, Batch, PCS and HyperPod against the service models and registry schemas."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest
from botocore.loaders import Loader
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

from ultracluster.facts import batch, eks, hyperpod, pcs
from ultracluster.facts.batch import batch_facts
from ultracluster.facts.eks import eks_facts
from ultracluster.facts.hyperpod import hyperpod_facts
from ultracluster.facts.instances import catalog
from ultracluster.facts.pcs import pcs_facts


@cache
def shapes(service: str) -> dict[str, Any]:
    model: dict[str, Any] = Loader().load_service_model(service, "service-2")
    found: dict[str, Any] = model["shapes"]
    return found


def schema(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", kind).schema
    return found


@pytest.mark.parametrize("module", [batch, eks, hyperpod, pcs])
def test_every_value_has_a_source(module):
    document = json.loads(module.DATA_FILE.read_text(encoding="utf-8"))
    for name, row in document.items():
        if isinstance(row, dict) and name != "sources":
            assert set(re.split(r",\s*", row["source"])) <= set(document["sources"]), name
    for source in document["sources"].values():
        assert source["url"].startswith("https://")
        assert source["as_of"] >= "2026"


def test_all_ami_types_are_on_record():
    known = set(eks_facts().ami_types) | {eks_facts().own_image_ami_type}
    assert known == set(shapes("eks")["AMITypes"]["enum"])


@pytest.mark.parametrize(("name", "image"), eks_facts().ami_types.items())
def test_an_ami_type_is_what_its_name_says(name, image):
    assert image.architecture == ("arm64" if "ARM_64" in name else "x86_64")
    assert image.accelerated == bool(re.search(r"NVIDIA|NEURON|GPU", name))
    assert ("nvidia" in image.vendors) == bool(re.search(r"NVIDIA|GPU", name))
    assert image.wrapping == {"A": "mime", "B": "toml", "W": "powershell"}[name[0]]


def test_create_only_properties_of_a_node_group():
    named = {path.removeprefix("/properties/") for path in schema("AWS::EKS::Nodegroup")["createOnlyProperties"]}
    # The names and the key of remote access are no matter of compute.
    assert set(eks_facts().create_only) == named - {"ClusterName", "NodegroupName", "RemoteAccess"}


def test_preferred_images_serve_every_catalogued_type():
    for facts in catalog().values():
        image = eks_facts().ami_types[eks_facts().preferred_ami_types[f"{facts.vendor} {facts.architecture}"]]
        assert facts.vendor in image.vendors
        assert re.split(r"[^a-z]", facts.family)[0] in eks_facts().accelerated_families


def test_allocation_strategies_exist():
    known = set(shapes("batch")["CRAllocationStrategy"]["enum"])
    facts = batch_facts()
    named = {*facts.spot_strategies, *facts.on_demand_strategies, facts.fixed_strategy}
    assert named < known
    assert {name for name in known if name.startswith("SPOT")} == set(facts.spot_strategies)
    assert set(facts.device_permissions) == set(shapes("batch")["DeviceCgroupPermission"]["enum"])


def test_slurm_versions_and_names_are_those_of_the_api():
    facts = pcs_facts()
    said = re.sub("<[^>]+>", "", shapes("pcs")["SchedulerRequest"]["members"]["version"]["documentation"])
    assert tuple(re.findall(r"\d\d\.\d\d", said)) == facts.slurm_versions
    assert set(facts.cluster_nodes) == set(shapes("pcs")["Size"]["enum"])
    lengths = {name: (shapes("pcs")[name]["min"], shapes("pcs")[name]["max"]) for name in ("ClusterName", "QueueName")}
    assert lengths == {"ClusterName": facts.cluster_name_length, "QueueName": facts.group_name_length}
    assert set(facts.feature_versions.values()) <= set(facts.slurm_versions)


def test_limits_of_hyperpod_are_those_of_the_api():
    facts, known = hyperpod_facts(), shapes("sagemaker")
    assert facts.most_subnets == known["Subnets"]["max"]
    assert facts.most_groups == known["VpcSecurityGroupIds"]["max"]
    assert facts.most_storage_configs == known["ClusterInstanceStorageConfigs"]["max"]
    assert facts.mount_name_length == known["ClusterMountName"]["max"]
    offered = set(known["ClusterInstanceType"]["enum"])
    for name, row in catalog().items():
        assert row.sagemaker_hyperpod == (f"{facts.type_prefix}{name}" in offered), name


def test_policies_hold_actions_that_a_cluster_needs():
    facts = hyperpod_facts()
    for actions in facts.policy_actions.values():
        assert set(actions) <= {"*", *facts.interface_actions}
