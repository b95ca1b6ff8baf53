"""Whatever stands in a cluster file, there is a plan or there are findings; never anything else."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from ultracluster.facts.instances import catalog
from ultracluster.facts.rules import rule_registry
from ultracluster.findings import Finding, FindingsError
from ultracluster.plan.cluster_file import plan_file, read_and_plan
from ultracluster.plan.cluster_steps import draft_cluster
from ultracluster.spec.cluster import ClusterSpec
from ultracluster.spec.parts import readable_parts

ROOT = Path(__file__).parents[3]
VALID = [yaml.safe_load(path.read_text()) for path in sorted(ROOT.glob("apps/*/cluster*.yaml"))]
for document in VALID:
    for fleet in document["fleets"]:
        if "end" in fleet.get("capacity", {}):
            fleet["capacity"]["end"] = fleet["capacity"]["end"].isoformat()

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**70),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(
        ["us-east-1a", "p5.48xlarge", "spot", "10.0.0.0/8", "2027-01-01T00:00:00Z", "automatic", "train", "/fsx"]
    ),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def everything(data) -> list[Finding]:
    """All findings for plain data, as `read_and_plan` collects them."""
    parts, _, faults = readable_parts(data)
    return [*faults, *draft_cluster(parts, base_dir=ROOT).findings]


def in_order(findings: list[Finding]) -> None:
    for found in findings:
        assert found.rule_id in rule_registry()
        assert str(found).count("\n") == 0


def places(value, place=()):
    yield place
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*place, index))


def put(data, place, value):
    target = data
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value


@given(st.dictionaries(st.text(max_size=10) | st.sampled_from(list(ClusterSpec.model_fields)), values, max_size=6))
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_any_mapping_gives_findings(data):
    findings = everything(data)
    in_order(findings)
    assert any(found.severity.stops for found in findings), "no mapping this small is a cluster"


@given(st.data())
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
def test_any_change_of_a_valid_file_gives_findings_or_a_plan(data):
    document = copy.deepcopy(data.draw(st.sampled_from(VALID)))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from([place for place in places(document) if place]))
        put(document, place, data.draw(values))
    findings = everything(document)
    in_order(findings)
    try:
        ClusterSpec.model_validate(document)
    except ValidationError:
        assert any(found.severity.stops for found in findings)


@given(st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_a_missing_or_unknown_key_is_always_told(data):
    document = copy.deepcopy(data.draw(st.sampled_from(VALID)))
    mappings = [place for place in places(document) if isinstance(get(document, place), dict)]
    place = data.draw(st.sampled_from([place for place in mappings if not place or place[-1] != "tags"]))
    get(document, place)["no_such_key_anywhere"] = 1
    assert [found.rule_id for found in everything(document) if found.severity.stops] == ["UC-SPC-003"]


def get(data, place):
    for step in place:
        data = data[step]
    return data


fleets = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["train", "eval", "a1"]),
        "instance_type": st.sampled_from(sorted(catalog())),
        "capacity": st.sampled_from(
            [
                {"kind": "on-demand"},
                {"kind": "spot"},
                {"kind": "spot", "on_demand_base_count": 1, "on_demand_percentage_above_base": 50},
                {"kind": "reservation", "reservation_id": "cr-0a1b2c3d4e5f60718", "size": 4},
                {"kind": "capacity-block", "reservation_id": "cr-1a1b2c3d4e5f60718", "end": "2031-01-01T11:30:00Z"},
            ]
        ),
        "count": st.integers(1, 70),
    },
    optional={
        "efa": st.sampled_from([True, False, 0, 1, 16, 64]),
        "interface_layout": st.sampled_from(["min-ip", "max-bandwidth", "all-efa"]),
        "placement_group": st.sampled_from(["auto", "none", {"name": "mine"}]),
        "image": st.sampled_from([{"kind": "al2023"}, {"kind": "dlami", "os": "al2023"}, {"kind": "ubuntu"}]),
        "availability_zone": st.sampled_from(["us-east-1a", "us-east-1b", "us-west-2a"]),
    },
)
lustres = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["scratch", "data"]),
        "deployment_type": st.sampled_from(
            ["SCRATCH_1", "SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2", "INTELLIGENT_TIERING"]
        ),
    },
    optional={
        "capacity_gib": st.sampled_from([0, -1200, 1200, 2400, 3600, 6000, 9600, 19200, 38400, 10**12]),
        "throughput_mbps_per_tib": st.sampled_from([12, 40, 50, 125, 200, 250, 1000, 7]),
        "throughput_capacity_mbps": st.sampled_from([1000, 4000, 5000]),
        "storage_type": st.sampled_from(["SSD", "HDD"]),
        "efa": st.booleans(),
        "metadata_iops": st.sampled_from(["automatic", 1500, 12000, 1]),
        "file_system_type_version": st.sampled_from(["2.10", "2.12", "2.15"]),
        "availability_zone": st.sampled_from(["us-east-1a", "us-east-1b"]),
        "root_squash": st.sampled_from(["0:0", "65534:65534", "root"]),
        "backup_retention_days": st.sampled_from([0, 7, 91]),
        "data_repositories": st.just([{"file_system_path": "/data", "bucket": "datasets"}]),
    },
)


@given(
    st.lists(fleets, min_size=1, max_size=3), st.lists(lustres, max_size=2), st.lists(st.sampled_from("ab"), max_size=2)
)
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_any_well_formed_cluster_has_a_plan_or_errors(fleet_list, lustre_list, zones):
    document = {
        "name": "demo",
        "region": "us-east-1",
        "network": {"availability_zones": ["us-east-1a", *(f"us-east-1{zone}" for zone in set(zones) - {"a"})]},
        "fleets": fleet_list,
        "storage": {"lustre": lustre_list, "buckets": [{"name": "datasets", "purpose": "data"}]},
    }
    spec = ClusterSpec.model_validate(document)
    findings = everything(document)
    in_order(findings)
    from ultracluster.plan.cluster import plan_cluster

    if any(found.severity.stops for found in findings):
        with pytest.raises(FindingsError):
            plan_cluster(spec, base_dir=ROOT)
        return
    plan = plan_cluster(spec, base_dir=ROOT)
    assert len(plan.fleets) == len(fleet_list)
    assert len(plan.lustre) == len(lustre_list)
    assert all(joined.user_data_bytes <= 16384 for joined in plan.attachments)
    names = {zone.name for zone in plan.network.zones}
    assert all(set(fleet.availability_zones) <= names for fleet in plan.fleets)


@given(st.text(max_size=300))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_of_a_file_gives_findings(tmp_path, text):
    path = tmp_path / "cluster.yaml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        findings = read_and_plan(path).findings
    except FindingsError as error:
        findings = error.findings
    assert any(found.severity.stops for found in findings)
    with pytest.raises(FindingsError):
        plan_file(path)
